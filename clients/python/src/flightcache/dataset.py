"""A dataset on a server as a ``pyarrow.dataset.Dataset``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs as fs

from ._fragments import Fragment, Group
from ._plan import Columns, Source
from .errors import NotSupported
from .scanner import BATCH_ROWS, Scanner

MOST_STREAMS = 8


def streams() -> int:
    """How many streams a parallel read has: one for each processor, and 2 to 8."""
    return max(2, min(os.cpu_count() or 2, MOST_STREAMS))


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise NotSupported(
        "pyarrow's C++ code cannot read a flightcache dataset by itself; give it its to_reader() or to_table()"
    )


_handler_class: Any = type(
    "_Refusing",
    (fs.FileSystemHandler,),
    {name: _refuse for name in fs.FileSystemHandler.__abstractmethods__}
    | {
        "get_type_name": lambda self: "flightcache",
        "__eq__": lambda self, other: self is other,
        "__ne__": lambda self, other: self is not other,
    },
)


def _unreadable(schema: pa.Schema) -> ds.Dataset:
    """A dataset for C++ code that takes the object for one of its own: reading it is an error, rather than a crash."""
    filesystem, form = fs.PyFileSystem(_handler_class()), ds.IpcFileFormat()
    return ds.FileSystemDataset([form.make_fragment("flightcache", filesystem)], schema, form, filesystem)


class Dataset(ds.UnionDataset):  # type: ignore[misc]  # pyarrow has no types
    """A dataset that DuckDB, polars, DataFusion and pyarrow scan: columns and filters go to the server, rows come
    lazily.

    Made by :meth:`flightcache.Client.dataset`. Filters are exact: what the server cannot apply is applied here. Each
    scan reads the generation that is the newest then. Any number of threads may use one dataset.
    """

    def __init__(self, source: Source, filter: pc.Expression | None = None) -> None:
        super().__init__(source.schema, [_unreadable(source.schema)])
        self._source = source
        self._filter = filter

    @property
    def name(self) -> str:
        """The dataset's name on the server."""
        return self._source.dataset

    @property
    def children(self) -> list[ds.Dataset]:
        """None: the dataset is not made of others."""
        return []

    def _with_own(self, filter: pc.Expression | None) -> pc.Expression | None:
        if self._filter is None or filter is None:
            return self._filter if filter is None else filter
        return self._filter & filter

    def scanner(
        self,
        columns: Columns = None,
        filter: pc.Expression | None = None,
        batch_size: int = BATCH_ROWS,
        batch_readahead: object = None,
        fragment_readahead: object = None,
        fragment_scan_options: object = None,
        use_threads: object = None,
        cache_metadata: object = None,
        memory_pool: object = None,
    ) -> Scanner:
        """A read of some columns and rows. Nothing is sent before its batches are asked for.

        The options after ``batch_size`` are pyarrow's for files, and have no meaning here.
        """
        return Scanner(self._source, columns, self._with_own(filter), batch_size)

    def to_reader(self, columns: Columns = None, filter: pc.Expression | None = None) -> pa.RecordBatchReader:
        """Some columns and rows as a reader, which asks for batches as it is read."""
        return self.scanner(columns, filter).to_reader()

    def filter(self, expression: pc.Expression) -> Dataset:
        """The same dataset with those rows only for which the expression holds, besides the filters that it has."""
        return Dataset(self._source, self._with_own(expression))

    def get_fragments(self, filter: pc.Expression | None = None) -> Iterator[Fragment]:
        """Parts that an engine may read in parallel. Together, in their order, they are the dataset.

        A part has no rows that ``filter`` leaves out whole; the rows of the others are filtered by
        ``Fragment.scanner``.
        """
        group = Group(replace(self._source, streams=1), streams(), self._filter)
        return iter([Fragment(group, part) for part in range(group.parts)])

    def replace_schema(self, schema: pa.Schema) -> NoReturn:
        """Not supported: raises ``NotSupported``. Compute columns by a dict of expressions instead."""
        raise NotSupported(
            "a flightcache dataset has the schema of its server; give columns={name: expression} instead"
        )

    def sort_by(self, sorting: Any, **options: Any) -> ds.InMemoryDataset:
        """The dataset read whole and sorted, in memory."""
        return ds.InMemoryDataset(self.to_table().sort_by(sorting, **options))

    def join(self, right_dataset: ds.Dataset, *arguments: Any, **options: Any) -> ds.InMemoryDataset:
        """Both datasets read whole and joined, in memory. Arguments are those of ``pyarrow.Table.join``."""
        return ds.InMemoryDataset(self.to_table().join(right_dataset.to_table(), *arguments, **options))

    def join_asof(self, right_dataset: ds.Dataset, *arguments: Any, **options: Any) -> ds.InMemoryDataset:
        """Both datasets read whole and joined, in memory. Arguments are those of ``pyarrow.Table.join_asof``."""
        return ds.InMemoryDataset(self.to_table().join_asof(right_dataset.to_table(), *arguments, **options))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.scanner().__arrow_c_stream__(requested_schema)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a flightcache dataset has a connection and cannot be pickled; send its address and name instead"
        )

    def __repr__(self) -> str:
        return f"<flightcache.Dataset {self.name!r} at {self._source.connection.address}>"
