"""One read of a dataset, with the methods of a ``pyarrow.dataset.Scanner``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ._plan import Columns, Plan, Source

BATCH_ROWS = 131_072
"""The most rows of a batch, unless ``batch_size`` says another number. Stored batches have no more."""


class TaggedRecordBatch(NamedTuple):
    """A batch and the fragment that it comes from."""

    record_batch: pa.RecordBatch
    fragment: Any


def sliced(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The batches, those of more than ``rows`` rows cut."""
    for batch in batches:
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)


class Scanner:
    """A read that begins when its batches are asked for, and can be done again.

    It has what readers use of a ``pyarrow.dataset.Scanner``, and ``__arrow_c_stream__``, so that DuckDB, polars and
    pyarrow take it as a source of batches. Batches are read when they are asked for; a reader that is closed or
    forgotten ends the call.
    """

    def __init__(
        self,
        source: Source,
        columns: Columns = None,
        filter: pc.Expression | list[Any] | None = None,
        batch_size: int = BATCH_ROWS,
        limit: int | None = None,
        fragment: Any = None,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}; it must be 1 or more")
        self._source, self._columns, self._filter, self._limit = source, columns, filter, limit
        self._batch_size, self._fragment = batch_size, fragment
        self._plan = self._planned(columns, limit)

    def _planned(self, columns: Columns, limit: int | None) -> Plan:
        return Plan(self._source, columns, self._filter, limit)

    @property
    def dataset_schema(self) -> pa.Schema:
        """The schema of the dataset."""
        return self._source.schema

    @property
    def projected_schema(self) -> pa.Schema:
        """The schema of the batches."""
        return self._plan.output

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The batches, one by one, each read when it is asked for."""
        return sliced(self._plan.batches(), self._batch_size)

    def scan_batches(self) -> Iterator[TaggedRecordBatch]:
        """The batches with their fragment."""
        return (TaggedRecordBatch(batch, self._fragment) for batch in self.to_batches())

    def to_reader(self) -> pa.RecordBatchReader:
        """The batches as a reader, which other libraries take as an Arrow stream."""
        return pa.RecordBatchReader.from_batches(self.projected_schema, self.to_batches())

    def to_table(self) -> pa.Table:
        """All batches as a table."""
        return pa.Table.from_batches(self._plan.batches(), self.projected_schema)

    def count_rows(self) -> int:
        """How many rows there are: told by the server, without reading any, where it can tell."""
        return self._planned([], self._limit).count()

    def head(self, num_rows: int) -> pa.Table:
        """The first rows. No more are read than are needed."""
        most = num_rows if self._limit is None else min(num_rows, self._limit)
        return pa.Table.from_batches(self._planned(self._columns, most).batches(), self.projected_schema)

    def take(self, indices: Any) -> pa.Table:
        """The rows at these places. Everything before the last of them is read."""
        places = pa.array(indices, pa.int64()) if not isinstance(indices, (pa.Array, pa.ChunkedArray)) else indices
        last = pc.max(places).as_py()
        return (self.head(0) if last is None else self.head(last + 1)).take(places)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)
