"""What can be put: anything that has record batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

MESSAGE_BYTES = 16 << 20
"""About how large a message of a put is at most. The server takes 256 MiB, and cuts them for its readers by itself."""


def reader(data: Any) -> pa.RecordBatchReader:
    """The batches of ``data``, as they are asked for. What is not in memory is not collected."""
    if isinstance(data, pa.RecordBatchReader):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(data.schema, [data])
    if isinstance(data, pa.Table):
        return data.to_reader()
    if isinstance(data, ds.Dataset):
        return data.scanner().to_reader()
    if isinstance(data, ds.Scanner):
        return data.to_reader()
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data)
    raise TypeError(
        f"{type(data).__module__}.{type(data).__qualname__} has no record batches: give a pyarrow Table, "
        "RecordBatch, RecordBatchReader, Dataset or Scanner, or anything with __arrow_c_stream__, such as a pandas "
        "or polars frame or a DuckDB relation"
    )


def rows(data: Any) -> int | None:
    """How many rows there will be, where that is known without reading."""
    return int(data.num_rows) if isinstance(data, (pa.Table, pa.RecordBatch)) else None


def repeatable(data: Any) -> bool:
    """Whether the batches can be read a second time. Streams cannot; what has a length, such as a frame, can."""
    return isinstance(data, (pa.Table, pa.RecordBatch, ds.Dataset)) or (
        hasattr(data, "__len__") and not isinstance(data, pa.RecordBatchReader)
    )


def size(batch: pa.RecordBatch) -> int:
    """The bytes of a batch."""
    try:
        return int(batch.nbytes)
    except pa.ArrowException:
        # Older ones cannot tell what a slice of views takes.
        return int(batch.get_total_buffer_size())


def pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch in parts of about ``MESSAGE_BYTES`` at most."""
    parts = max(1, -(-size(batch) // MESSAGE_BYTES))
    step = max(1, -(-batch.num_rows // parts))
    for start in range(0, max(batch.num_rows, 1), step):
        yield batch.slice(start, step)
