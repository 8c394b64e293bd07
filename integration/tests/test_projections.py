"""Every choice of columns gives those columns, in that order, with all rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pyarrow as pa
import pytest

import compare
import tables
from service import Client, Server

ROWS = 3000
PATHS = {
    "flat": ["id", "k", "v", "s1", "s2", "s3"],
    "nested": ["id", "sc", "sc.b", "deep", "deep.n", "deep.n.v", "deep.n.w", "wide.q", "wide.r", "tail", "d"],
}
DATA = {kind: tables.table(kind, ROWS, batch_rows=700) for kind in PATHS}


@pytest.fixture(scope="module", params=[(kind, codec) for kind in PATHS for codec in ("none", "lz4", "zstd")])
def stored(request: pytest.FixtureRequest, server: Server) -> Iterator[tuple[Client, str, str]]:
    kind, codec = request.param
    dataset = f"projections/{kind}/{codec}"
    with server.client() as client:
        client.put(dataset, DATA[kind], codec=codec, batching="keep")
        yield client, dataset, kind
        client.drop(dataset)


def _check(client: Client, dataset: str, kind: str, columns: list[str]) -> None:
    for wire in ("stored", "none"):
        compare.assert_same(client.get(dataset, columns=columns, wire=wire), compare.expected(DATA[kind], columns))


def test_each_column_alone(stored: tuple[Client, str, str]) -> None:
    for path in PATHS[stored[2]]:
        _check(*stored, [path])


def test_every_pair_in_both_orders(stored: tuple[Client, str, str]) -> None:
    for pair in itertools.permutations(PATHS[stored[2]], 2):
        _check(*stored, list(pair))


def test_all_columns_in_every_rotation_and_reversed(stored: tuple[Client, str, str]) -> None:
    names = DATA[stored[2]].column_names
    for turn in range(len(names)):
        _check(*stored, names[turn:] + names[:turn])
    _check(*stored, names[::-1])


def test_repeated_columns_repeat(stored: tuple[Client, str, str]) -> None:
    client, dataset, kind = stored
    names = DATA[kind].column_names
    for columns in ([names[0]] * 3, names + names, [names[1], names[0], names[1]]):
        compare.assert_same(client.get(dataset, columns=columns), DATA[kind].select(columns))


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
def test_a_null_only_column_alone_and_beside_others(client: Client, name: str, codec: str) -> None:
    data = pa.table({"a": [1, 2, 3], "nothing": pa.nulls(3), "b": ["x", None, "z"], "void": pa.nulls(3)})
    client.put(name, data, codec=codec)
    for size in range(1, 4):
        for columns in itertools.permutations(data.column_names, size):
            compare.assert_same(client.get(name, columns=list(columns)), data.select(columns))


@pytest.mark.parametrize("columns", [100, 200, 1500])
@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
def test_wide_tables(client: Client, name: str, columns: int, codec: str) -> None:
    data = tables.table("wide", 3000, batch_rows=1000, columns=columns)
    client.put(name, data, codec=codec)
    compare.assert_same(client.get(name), data)
    some = [f"c{columns - 1}", "c0", f"c{columns // 2}"]
    compare.assert_same(client.get(name, columns=some), data.select(some))
    assert client.info(name, columns=some).total_bytes == tables.plain_bytes(data.select(some))
    client.drop(name)
