"""The parts of a dataset that an engine reads in parallel, each by itself.

A part is one endpoint of ``GetFlightInfo``. Which rows it has depends on the columns and the filter, which an engine
tells when it scans; so the parts of a dataset share the answer that the first of them gets, and with it one generation.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.flight as fl

from . import _streams
from ._plan import Columns, Plan, Source
from .scanner import BATCH_ROWS, Scanner, sliced

_ENGINE_ROWS = 8192
"""What reads fragments is DataFusion. It cuts larger batches, and fails where it cuts a struct within a struct."""

Key = tuple[str, int]
"""A read command, and the how manieth time one part is read by it."""


@dataclass
class _Round:
    """One answer of the server for all parts."""

    info: fl.FlightInfo
    left: int
    """Parts whose read has not begun."""


class Group:
    """What the fragments of one call of ``get_fragments`` share."""

    def __init__(self, source: Source, parts: int, filter: pc.Expression | None) -> None:
        self.source = source
        self.filter = filter
        self.parts = parts
        self._guard = threading.Lock()
        self._rounds: dict[Key, _Round] = {}
        self._times: dict[tuple[str, int], int] = {}

    def begin(self, plan: Plan, part: int) -> tuple[Key, bytes | None]:
        """The ticket of one part; None for a part that has no rows. When its read has begun, ``end`` must be called."""
        command = {**plan.command, "partitions": self.parts}
        text = repr(command)
        with self._guard:
            times = self._times.get((text, part), 0)
            key = (text, times)
            found = self._rounds.get(key)
            if found is None:
                found = self._rounds[key] = _Round(self.source.connection.info(command), self.parts)
            self._times[text, part] = times + 1
        endpoints = found.info.endpoints
        return key, endpoints[part].ticket.ticket if part < len(endpoints) else None

    def __del__(self) -> None:
        """An engine that has enough forgets the parts that it did not read."""
        rounds = getattr(self, "_rounds", {})
        if not sys.is_finalizing():
            for found in rounds.values():
                self.source.connection.let_go(found.info)

    def end(self, key: Key) -> None:
        """Ends what ``begin`` began. A read that has begun ends well without the lease, which goes with the last."""
        with self._guard:
            found = self._rounds[key]
            found.left -= 1
            if found.left:
                return
            del self._rounds[key]
        self.source.connection.let_go(found.info)


class _PartOf(Plan):
    """A read of one part."""

    def __init__(
        self, group: Group, part: int, columns: Columns, condition: Any, limit: int | None, push: bool = True
    ) -> None:
        super().__init__(group.source, columns, condition, limit, push)
        self._group, self._part = group, part
        # The server has no parts of a limited read. The limit is kept here.
        self._keys.pop("limit", None)

    def unpushed(self) -> Plan:
        return _PartOf(self._group, self._part, *self._asked, push=False)

    def _arriving(self) -> Generator[pa.RecordBatch, None, None]:
        key, ticket = self._group.begin(self, self._part)
        try:
            arriving = _streams.batches(self._group.source.connection, ticket, self.sent) if ticket else iter(())
            came = next(arriving, None)
        finally:
            self._group.end(key)
        while came is not None:
            yield came
            came = next(arriving, None)


class Fragment:
    """A part of a dataset, with what engines use of a ``pyarrow.dataset.Fragment``."""

    def __init__(self, group: Group, part: int) -> None:
        self._group, self._part = group, part

    @property
    def physical_schema(self) -> pa.Schema:
        """The schema of the dataset."""
        return self._group.source.schema

    @property
    def partition_expression(self) -> pc.Expression:
        """What holds for all rows: nothing is known."""
        return pc.scalar(True)

    def scanner(
        self,
        schema: pa.Schema | None = None,
        columns: Columns = None,
        filter: pc.Expression | None = None,
        batch_size: int = BATCH_ROWS,
        **options: object,
    ) -> Scanner:
        """A read of this part. ``schema`` and further options of pyarrow's have no meaning here."""
        own = self._group.filter
        both = own if filter is None else filter if own is None else own & filter
        return PartScanner(self, columns, both, batch_size)

    def to_batches(self, schema: pa.Schema | None = None, **options: Any) -> Iterator[pa.RecordBatch]:
        """The batches of this part, as :meth:`scanner` reads them."""
        return self.scanner(schema, **options).to_batches()

    def to_table(self, schema: pa.Schema | None = None, **options: Any) -> pa.Table:
        """This part as a table, as :meth:`scanner` reads it."""
        return self.scanner(schema, **options).to_table()

    def head(self, num_rows: int, **options: Any) -> pa.Table:
        """The first rows of this part."""
        return self.scanner(**options).head(num_rows)

    def count_rows(self, **options: Any) -> int:
        """How many rows this part has. They are read, without columns."""
        return self.scanner(**options).count_rows()

    def take(self, indices: Any, **options: Any) -> pa.Table:
        """The rows of this part at these places."""
        return self.scanner(**options).take(indices)


def _unsliced(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with copies of structs within structs, of which DataFusion cannot take a slice either."""
    columns = [
        pa.concat_arrays([column, column.slice(0, 0)]) if _is_deep(column.type) else column for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema) if columns else batch


def _is_deep(kind: pa.DataType, within: bool = False) -> bool:
    deeper = within or pa.types.is_struct(kind)
    fields = [kind.field(number).type for number in range(kind.num_fields)]
    return (within and pa.types.is_struct(kind)) or any(_is_deep(one, deeper) for one in fields)


class PartScanner(Scanner):
    """A read of one part."""

    def __init__(self, fragment: Fragment, columns: Columns, filter: pc.Expression | None, batch_size: int) -> None:
        self._part = fragment
        super().__init__(fragment._group.source, columns, filter, batch_size, fragment=fragment)

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        rows = min(self._batch_size, _ENGINE_ROWS)
        return (_unsliced(batch) for batch in sliced(self._plan.batches(), rows))

    def _planned(self, columns: Columns, limit: int | None) -> Plan:
        return _PartOf(self._part._group, self._part._part, columns, self._filter, limit)

    def count_rows(self) -> int:
        return sum(batch.num_rows for batch in self._planned([], None).batches())
