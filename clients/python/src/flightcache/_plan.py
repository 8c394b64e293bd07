"""How a read is shared between the server and this process.

The server sends the columns and leaves out the rows that it can; what it cannot do is done here, batch by batch, so
that the result is what pyarrow makes of a local table.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from . import _binding, _columns, _streams, _substrait
from .connection import Connection
from .errors import BadRequest, NotSupported

Columns = Sequence[str | int] | Mapping[str, pc.Expression] | None
"""Names, dotted paths into structs or places; or new names with what they are computed from; None for all columns."""


@dataclass(frozen=True)
class Source:
    """A dataset on a server, as it was when its schema was asked for."""

    connection: Connection
    dataset: str
    schema: pa.Schema
    keys: Mapping[str, Any] = field(default_factory=dict)
    """What every read command has, such as the generation."""
    streams: int = 1
    """How many streams are read at once; with more than one the order of batches is left open."""


class Plan:
    """One read: what is asked of the server, and what is left."""

    def __init__(
        self,
        source: Source,
        columns: Columns = None,
        condition: pc.Expression | list[Any] | None = None,
        limit: int | None = None,
        push: bool = True,
    ) -> None:
        """``condition`` is an expression, or a filter as the server takes it, in lists.

        Raises ``BadRequest`` for columns that are not there, and pyarrow's error for what cannot be computed.
        """
        self._asked = (columns, condition, limit)
        self._source = source
        self._columns = columns
        self._limit = limit
        schema = source.schema
        listed, condition = (condition, None) if isinstance(condition, list) else (None, condition)
        self._rest, self._pushed = condition, None
        mask = {"chosen": condition} if condition is not None else {}
        if condition is not None:
            # Bound to fewer columns the message is short, and columns of types that Substrait lacks are no hindrance.
            self._mask_from = used = _binding.needed(mask, _binding.bindable(mask, schema))
            (kind,) = _binding.projected(mask, used).types
            if not pa.types.is_boolean(kind):
                raise BadRequest(f"the filter {condition} gives {kind}; it must be true or false")
            if push:
                self._pushed = _substrait.push(condition, used if len(used) else schema)
            if self._pushed is not None and self._pushed.exact:
                self._rest = None
        self.sent, self._keys = self._to_send({} if self._rest is None else mask)
        if self._pushed is not None:
            self._keys["substrait"] = base64.b64encode(self._pushed.message).decode()
        if listed is not None:
            self._keys["filters"] = listed
        if limit is not None and self._rest is None:
            self._keys["limit"] = limit
        if isinstance(columns, Mapping):
            self._columns_from = _binding.needed(columns, _binding.bindable(columns, schema))
            self.output = _binding.projected(columns, self._columns_from)
        elif columns is None:
            self.output = schema
        else:
            self._parts = _columns.chosen(columns, schema)
            self.output = pa.schema([part.field for part in self._parts], schema.metadata)

    def _to_send(self, mask: Mapping[str, pc.Expression]) -> tuple[pa.Schema, dict[str, Any]]:
        """The columns that the server must send, as a schema and as the command has them."""
        schema, columns = self._source.schema, self._columns
        if columns is None:
            return schema, {}
        if isinstance(columns, Mapping):
            both = {**columns, **{f"filter {number}": e for number, e in enumerate(mask.values())}}
            parts = [_columns.like(f, schema) for f in _binding.needed(both, _binding.bindable(both, schema))]
        else:
            parts = _columns.chosen(columns, schema)
            if mask:
                parts = self._with_masks(parts)
        written = [_columns.written(part, schema) for part in parts]
        # Where a column lies in what is sent, for reads that are put together here.
        self._sent_at = {part.at: number for number, (_, part) in enumerate(written)}
        keys = {"columns": [name for names, _ in written for name in names]}
        return pa.schema([part.field for _, part in written], schema.metadata), keys

    def _with_masks(self, parts: list[_columns.Part]) -> list[_columns.Part]:
        """Each column once, with what the filter here needs."""
        by_place: dict[int, pa.Field] = {}
        for at, field_ in [*parts, *(_columns.like(f, self._source.schema) for f in self._mask_from)]:
            mine, whole = by_place.get(at, field_), self._source.schema.field(at)
            by_place[at] = whole.with_type(_columns.merged(mine.type, field_.type, whole.type))
        return [_columns.Part(at, field_) for at, field_ in by_place.items()]

    @property
    def command(self) -> dict[str, Any]:
        """The read command."""
        return {"dataset": self._source.dataset, **self._source.keys, **self._keys}

    @property
    def exact(self) -> bool:
        """The server does all of the filtering."""
        return self._rest is None

    @property
    def filtered(self) -> bool:
        """The server does some of the filtering."""
        return self._pushed is not None

    def unpushed(self) -> Plan:
        """The same read with all of its filter applied here, for a server that refuses it."""
        return Plan(self._source, *self._asked, push=False)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The batches of the result, none of them empty. No call is made before the first is asked for."""
        arriving = self._arriving()
        try:
            try:
                came = next(arriving, None)
            except (NotSupported, BadRequest):
                self._check_schema()
                if not self.filtered:
                    raise
                yield from self.unpushed().batches()
                return
            left = self._limit
            while came is not None and left != 0:
                batch = self.finish(came)
                if left is not None:
                    batch = batch.slice(0, left)
                    left -= batch.num_rows
                if batch.num_rows:
                    yield batch
                came = next(arriving, None) if left != 0 else None
        finally:
            arriving.close()

    def _check_schema(self) -> None:
        """Raises ``DatasetChanged`` if that is why the server refuses the read."""
        now = self._source.connection.schema({"dataset": self._source.dataset, **self._source.keys})
        _streams.check_schema(now, self._source.schema)

    def _arriving(self) -> Generator[pa.RecordBatch, None, None]:
        connection, streams = self._source.connection, self._source.streams
        if streams == 1 or "limit" in self._keys:
            yield from _streams.batches(connection, json.dumps(self.command).encode(), self.sent)
        else:
            info = connection.info({**self.command, "partitions": streams})
            yield from _streams.unordered(connection, info, self.sent)

    def finish(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch of the server's, with what is left to do done."""
        if self._rest is not None:
            chosen = _binding.compute(batch, {"chosen": self._rest}, self._mask_from).column(0)
            batch = _binding.take_rows(batch, chosen)
        if isinstance(self._columns, Mapping):
            return _binding.compute(batch, self._columns, self._columns_from) if self._columns else batch.select([])
        if self._columns is None or self._rest is None:
            return batch
        if not self._parts:
            return batch.select([])
        arrays = [_binding.shaped(batch.column(self._sent_at[at]), f.type) for at, f in self._parts]
        return pa.RecordBatch.from_arrays(arrays, schema=self.output)

    def count(self) -> int:
        """How many rows there are. What the server cannot tell is read and counted."""
        connection = self._source.connection
        if not self.exact:
            return sum(batch.num_rows for batch in self.batches())
        try:
            info = connection.info({**self.command, "count": "exact"})
        except (NotSupported, BadRequest):
            if not self.filtered:
                raise
            return self.unpushed().count()
        connection.let_go(info)
        return int(info.total_records)
