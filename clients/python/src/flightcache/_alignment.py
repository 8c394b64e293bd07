"""Batches whose buffers begin where pyarrow's kernels want them.

gRPC hands out a message wherever it lies in what the socket gave, so that plain buffers may begin at any byte. Acero
warns of that on the standard error at each use, and kernels are slower. What was compressed is aligned when it is
decoded.
"""

from __future__ import annotations

import pyarrow as pa

_BYTES = 8


def _is_aligned(array: pa.Array) -> bool:
    return all(b is None or not b.size or b.address % _BYTES == 0 for b in array.buffers())


def _array(array: pa.Array) -> pa.Array:
    if isinstance(array, pa.DictionaryArray):
        indices, values = _array(array.indices), _array(array.dictionary)
        if indices is array.indices and values is array.dictionary:
            return array
        return pa.DictionaryArray.from_arrays(indices, values, ordered=array.type.ordered, safe=False)
    if _is_aligned(array):
        return array
    try:
        return pa.concat_arrays([array, array.slice(0, 0)])
    except pa.ArrowNotImplementedError:
        return array


def aligned(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch itself, or with copies of the columns that begin at odd places."""
    columns = batch.columns
    moved = [_array(column) for column in columns]
    if all(a is b for a, b in zip(columns, moved, strict=True)):
        return batch
    return pa.RecordBatch.from_arrays(moved, schema=batch.schema)
