"""Every Arrow type that pyarrow can make goes in and comes out the same, under every codec."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable

import pyarrow as pa
import pytest

from service import Client

ROWS = 3000
D = decimal.Decimal


def _every_third_null(make: Callable[[int], object]) -> list[object]:
    return [None if i % 3 == 2 else make(i) for i in range(ROWS)]


def _of(kind: pa.DataType, make: Callable[[int], object]) -> pa.Array:
    return pa.array(_every_third_null(make), kind)


def _union(mode: str) -> pa.Array:
    codes = pa.array([i % 2 for i in range(ROWS)], pa.int8())
    if mode == "sparse":
        children = [pa.array(range(ROWS)), pa.array([f"u{i}" for i in range(ROWS)])]
        return pa.UnionArray.from_sparse(codes, children, ["n", "s"])
    half = ROWS // 2
    offsets = pa.array([i // 2 for i in range(ROWS)], pa.int32())
    children = [pa.array(range(half)), pa.array([f"u{i}" for i in range(half)])]
    return pa.UnionArray.from_dense(codes, offsets, children, ["n", "s"])


ARRAYS: dict[str, Callable[[], pa.Array]] = {
    "null": lambda: pa.nulls(ROWS),
    "bool": lambda: _of(pa.bool_(), lambda i: i % 7 == 0),
    "int8": lambda: _of(pa.int8(), lambda i: i % 256 - 128),
    "int16": lambda: _of(pa.int16(), lambda i: i - 1000),
    "int32": lambda: _of(pa.int32(), lambda i: -i),
    "uint8": lambda: _of(pa.uint8(), lambda i: i % 256),
    "uint64": lambda: _of(pa.uint64(), lambda i: 2**64 - 1 - i),
    "float16": lambda: _of(pa.float32(), lambda i: i / 4).cast(pa.float16()),
    "float32": lambda: _of(pa.float32(), lambda i: i / 4),
    "float64": lambda: _of(pa.float64(), lambda i: [i / 3, -0.0, float("inf")][i % 3]),
    "decimal32": lambda: _of(pa.decimal32(7, 2), lambda i: D(i) / 4),
    "decimal64": lambda: _of(pa.decimal64(15, 2), lambda i: D(-i) / 4),
    "decimal128": lambda: _of(pa.decimal128(30, 3), lambda i: D(i) * 10**20),
    "decimal256": lambda: _of(pa.decimal256(60, 3), lambda i: D(-i) * 10**40),
    "date32": lambda: _of(pa.date32(), lambda i: dt.date(1969, 1, 1) + dt.timedelta(i)),
    "date64": lambda: _of(pa.date64(), lambda i: dt.date(1969, 1, 1) + dt.timedelta(i)),
    "time32": lambda: _of(pa.time32("ms"), lambda i: dt.time(i % 24)),
    "time64": lambda: _of(pa.time64("ns"), lambda i: dt.time(i % 24)),
    "timestamp": lambda: _of(pa.timestamp("us", "Europe/Berlin"), lambda i: dt.datetime(1960, 1, 1) + dt.timedelta(i)),
    "duration": lambda: _of(pa.duration("s"), lambda i: dt.timedelta(seconds=-i)),
    "interval": lambda: _of(pa.month_day_nano_interval(), lambda i: pa.MonthDayNano([i, -i, i * 1000])),
    "binary": lambda: _of(pa.binary(), lambda i: bytes([i % 256]) * (i % 20)),
    "large_binary": lambda: _of(pa.large_binary(), lambda i: bytes([i % 256]) * (i % 20)),
    "fixed_size_binary": lambda: _of(pa.binary(5), lambda i: b"%05d" % i),
    "large_string": lambda: _of(pa.large_string(), lambda i: "ß" * (i % 9)),
    "string_view": lambda: _of(pa.string_view(), lambda i: f"a text that is long enough to be kept apart {i}"),
    "binary_view": lambda: _of(pa.binary_view(), lambda i: b"short" if i % 2 else b"not so short, number %d" % i),
    "list": lambda: _of(pa.list_(pa.int32()), lambda i: list(range(i % 5))),
    "large_list": lambda: _of(pa.large_list(pa.string()), lambda i: ["x"] * (i % 4)),
    "list_view": lambda: _of(pa.list_view(pa.int32()), lambda i: list(range(i % 5))),
    "large_list_view": lambda: _of(pa.large_list_view(pa.int32()), lambda i: list(range(i % 5))),
    "fixed_size_list": lambda: _of(pa.list_(pa.int16(), 3), lambda i: [i, None, -i]),
    "list of list of struct": lambda: _of(
        pa.list_(pa.list_(pa.struct({"a": pa.int64(), "b": pa.string()}))), lambda i: [[{"a": i, "b": None}], []]
    ),
    "map": lambda: _of(pa.map_(pa.string(), pa.int32()), lambda i: [(f"k{j}", j) for j in range(i % 4)]),
    "struct with null rows": lambda: _of(pa.struct({"a": pa.int64(), "b": pa.bool_()}), lambda i: {"a": i, "b": None}),
    "empty struct": lambda: pa.array([{}] * ROWS, pa.struct([])),
    "sparse union": lambda: _union("sparse"),
    "dense union": lambda: _union("dense"),
    "run end encoded": lambda: pa.RunEndEncodedArray.from_arrays([ROWS // 2, ROWS], ["a", None]),
    "extension": lambda: pa.ExtensionArray.from_storage(pa.uuid(), _of(pa.binary(16), lambda i: b"%016d" % i)),
}


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
@pytest.mark.parametrize("kind", ARRAYS)
def test_type(client: Client, name: str, kind: str, codec: str) -> None:
    array = ARRAYS[kind]()
    batch = pa.record_batch({"before": pa.array(range(ROWS)), "it": array, "after": [str(i) for i in range(ROWS)]})
    # Three batches, the second from the middle: offsets that start elsewhere, bitmaps that start within a byte.
    data = pa.Table.from_batches([batch, batch.slice(1001, 999), batch.slice(0, 0)])
    client.put(name, data, codec=codec)
    for columns in (["before", "it", "after"], ["it"], ["after", "it"]):
        got = client.get(name, columns=columns)
        got.validate(full=True)
        assert got.equals(data.select(columns)), columns
    assert client.get(name, columns=["after"]).equals(data.select(["after"]))
    assert client.get(name, columns=["it"], wire="none").equals(data.select(["it"]))
    client.drop(name)


def test_a_join_of_many_small_batches_of_every_type(client: Client, name: str) -> None:
    small = pa.record_batch({kind: make() for kind, make in ARRAYS.items()})
    data = pa.Table.from_batches([small.slice(i * 100 + i, 99) for i in range(29)])
    client.put(name, data)
    assert client.get(name).equals(data)
    assert client.get(name, columns=["map", "dense union", "string_view"]).num_rows == data.num_rows
    client.drop(name)


def test_two_columns_of_one_name(client: Client, name: str) -> None:
    data = pa.table([[1, 2], ["a", "b"]], names=["n", "n"])
    client.put(name, data)
    assert client.get(name).equals(data)
    assert client.get(name, columns=[1]).equals(data.select([1]))


def test_many_columns(client: Client, name: str) -> None:
    data = pa.table({f"c{i}": pa.array([i, i + 1, None]) for i in range(5000)})
    client.put(name, data)
    assert client.get(name, columns=["c4999", "c0"]).equals(data.select(["c4999", "c0"]))
    assert client.get(name).equals(data)
