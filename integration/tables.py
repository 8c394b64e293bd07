"""Tables whose every value is a function of its row number, for the tests and the benchmark.

Each function yields record batches, so that five million rows need not be held twice:

* ``flat``: ``id``, ``k``, ``v`` (int64) and ``s1``, ``s2``, ``s3`` (string). Row ``i`` is null in column ``i % 8``,
  when there is one. 5,000,000 rows are 330,427,898 bytes of plain buffers.
* ``nested``: ``id``, the structs ``sc {a, b}``, ``deep {n {v, w}}`` and ``wide {p, q, r}``, ``tail`` (string) and
  ``d`` (float64), with the same kind of nulls at the leaves.
* ``wide``: int64 columns ``c0`` to ``cN``, where ``cj`` is ``i * (j + 1)``.

``python tables.py flat OUT.arrows --rows 5000000`` writes an Arrow IPC stream.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

FLAT_BYTES = 330_427_898
"""``nbytes`` of the flat table of 5,000,000 rows."""

DEFAULT_ROWS = {"flat": 5_000_000, "nested": 1_000_000, "wide": 100_000}


class _Rows:
    """The rows ``start`` to ``stop`` and what columns are made of."""

    def __init__(self, start: int, stop: int) -> None:
        self.number = np.arange(start, stop, dtype=np.int64)
        self._slot = self.number % 8

    def null_in(self, slot: int) -> np.ndarray:
        return self._slot == slot

    def ints(self, values: np.ndarray, null_slot: int) -> pa.Array:
        return pa.array(values, mask=self.null_in(null_slot))

    def text(self, prefix: str, values: np.ndarray, null_slot: int | None = None) -> pa.Array:
        # The mask comes first: a text that is made null later may keep its bytes.
        numbers = pa.array(values, mask=None if null_slot is None else self.null_in(null_slot))
        return pc.binary_join_element_wise(prefix, numbers.cast(pa.string()), "")


def _flat(rows: _Rows) -> dict[str, pa.Array]:
    i = rows.number
    return {
        "id": rows.ints(i, 0),
        "k": rows.ints(i % 1000, 1),
        "v": rows.ints(i + 1, 2),
        "s1": rows.text("str_a_", i % 100_000, 3),
        "s2": rows.text("str_b_", i % 7919, 4),
        "s3": rows.text("str_c_", i, 5),
    }


def _struct(**children: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays(list(children.values()), list(children))


def _nested(rows: _Rows) -> dict[str, pa.Array]:
    i = rows.number
    return {
        "id": rows.ints(i, 0),
        "sc": _struct(a=rows.ints(i, 1), b=rows.text("sa_", i)),
        "deep": _struct(n=_struct(v=rows.ints(i, 2), w=rows.text("sw_", i))),
        "wide": _struct(p=rows.ints(i % 1000, 3), q=rows.ints(i + 1, 3), r=rows.text("sr_", i % 7919)),
        "tail": rows.text("t_", i, 4),
        "d": pa.array(i / 3.0, mask=rows.null_in(5)),
    }


def _wide(rows: _Rows, columns: int) -> dict[str, pa.Array]:
    return {f"c{j}": pa.array(rows.number * (j + 1)) for j in range(columns)}


def batches(
    name: str, rows: int | None = None, batch_rows: int = 10_000, columns: int = 200
) -> Iterator[pa.RecordBatch]:
    """The batches of the table ``name``, each of ``batch_rows`` rows but the last. No rows give one empty batch."""
    make = {"flat": _flat, "nested": _nested, "wide": lambda r: _wide(r, columns)}[name]
    total = DEFAULT_ROWS[name] if rows is None else rows
    for start in range(0, max(total, 1), batch_rows):
        yield pa.RecordBatch.from_pydict(make(_Rows(start, min(start + batch_rows, total))))


def table(name: str, rows: int | None = None, batch_rows: int = 10_000, columns: int = 200) -> pa.Table:
    """The whole table ``name``, in chunks of ``batch_rows`` rows."""
    return pa.Table.from_batches(batches(name, rows, batch_rows, columns))


def _array_bytes(array: pa.Array) -> int:
    rows = len(array)
    validity = (rows + 7) // 8 if array.null_count else 0
    if pa.types.is_string(array.type):
        return validity + 4 * (rows + 1) + (pc.sum(pc.binary_length(array)).as_py() or 0)
    return validity + rows * array.type.bit_width // 8


def plain_bytes(data: pa.Table) -> int:
    """Bytes of the plain buffers of ``data``, flat or wide, in its present chunks: what an IPC message counts.

    ``nbytes`` is not that number: it leaves out the last offset of every string array.
    """
    return sum(_array_bytes(chunk) for column in data.columns for chunk in column.chunks)


def main() -> None:
    """Write one table as an Arrow IPC stream."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=list(DEFAULT_ROWS))
    parser.add_argument("out")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--batch", type=int, default=10_000)
    parser.add_argument("--columns", type=int, default=200)
    arguments = parser.parse_args()
    writer = None
    with pa.OSFile(arguments.out, "wb") as sink:
        for batch in batches(arguments.table, arguments.rows, arguments.batch, arguments.columns):
            writer = writer or pa.ipc.new_stream(sink, batch.schema)
            writer.write_batch(batch)
        writer.close()


if __name__ == "__main__":
    main()
