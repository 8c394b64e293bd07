"""Which bytes are on the wire, and that every client can read those that it gets."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import tables
import wiretool as wire
from service import Client, Server, command_of, counted

ROWS = 150_000
STOCK_LIMIT = 4 << 20


@pytest.fixture(scope="module")
def data() -> pa.Table:
    return tables.table("flat", ROWS)


@pytest.fixture(scope="module", params=["none", "lz4", "zstd"])
def stored(request: pytest.FixtureRequest, server: Server, data: pa.Table) -> str:
    dataset = f"wire/{request.param}"
    with server.client() as client:
        client.put(dataset, data, codec=request.param)
    return dataset


def _read(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as source:
        return pa.ipc.open_stream(source).read_all()


def test_arrow_cpp_gets_stored_bytes(client: Client, stored: str, data: pa.Table) -> None:
    facts = client.describe(stored)
    with counted(client) as grown:
        assert client.get(stored).equals(data)
    assert (grown["bytes_decoded"], grown["bytes_encoded"]) == (0, 0)
    assert facts["stored_bytes"] <= grown["bytes_out"] < 1.05 * facts["stored_bytes"] + 65_536


def test_a_projection_sends_its_columns_only(client: Client, stored: str, data: pa.Table) -> None:
    column = client.describe(stored)["columns"][0]
    with counted(client) as grown:
        assert client.get(stored, columns=["id"]).equals(data.select(["id"]))
    assert grown["bytes_decoded"] == 0
    assert grown["bytes_out"] < 1.05 * column["stored_bytes"] + 65_536


def test_a_stock_go_client_gets_plain_bytes(
    server: Server, client: Client, stored: str, data: pa.Table, tmp_path: Path
) -> None:
    with counted(client) as grown:
        report = wire.get(server.address, stored.encode(), tmp_path / "plain")
    assert report["code"] == "OK"
    assert report["largest"] <= STOCK_LIMIT
    assert _read(tmp_path / "plain").equals(data)
    assert report["bytes"] > 0.98 * tables.plain_bytes(data)
    if stored.endswith("none"):
        assert grown["bytes_decoded"] == 0
    else:
        assert grown["bytes_decoded"] >= 0.9 * tables.plain_bytes(data)


def test_a_plain_read_decodes_only_what_it_sends(
    server: Server, client: Client, stored: str, data: pa.Table, tmp_path: Path
) -> None:
    ticket = command_of(stored, columns=["k"])
    with counted(client) as grown:
        wire.get(server.address, ticket, tmp_path / "one")
    assert _read(tmp_path / "one").equals(data.select(["k"]))
    assert grown["bytes_decoded"] <= 1.05 * tables.plain_bytes(data.select(["k"]))


@pytest.mark.parametrize("by", ["header", "command"])
def test_whoever_asks_gets_stored_bytes(
    server: Server, client: Client, stored: str, data: pa.Table, tmp_path: Path, by: str
) -> None:
    out = tmp_path / "stored"
    with counted(client) as grown:
        if by == "header":
            report = wire.get(server.address, stored.encode(), out, accept_codecs="zstd, lz4")
        else:
            report = wire.get(server.address, command_of(stored, wire="stored"), out)
    assert report["code"] == "OK"
    assert report["largest"] <= STOCK_LIMIT
    assert grown["bytes_decoded"] == 0
    # Three implementations read the very bytes that were sent: C++, Rust, and DuckDB through Arrow's C interface.
    assert _read(out).equals(data)
    frame = pl.read_ipc_stream(out, use_pyarrow=False)
    assert pa.Table.from_batches(frame.to_arrow().to_batches()).cast(data.schema).equals(data)
    sums = duckdb.from_arrow(_read(out)).aggregate("sum(id), count(k), count(distinct s1)").fetchall()[0]
    assert sums == (sum(data["id"].drop_null().to_pylist()), ROWS - ROWS // 8, len(data["s1"].drop_null().unique()))


def test_a_codec_that_is_not_listed_is_sent_plain(
    server: Server, client: Client, stored: str, data: pa.Table, tmp_path: Path
) -> None:
    other = {"none": "zstd", "lz4": "zstd", "zstd": "lz4"}[stored.split("/")[1]]
    report = wire.get(server.address, stored.encode(), tmp_path / "plain", accept_codecs=other)
    assert report["bytes"] > 0.98 * tables.plain_bytes(data)
    assert _read(tmp_path / "plain").equals(data)


def test_wire_none_is_plain_for_pyarrow_too(client: Client, stored: str, data: pa.Table) -> None:
    with counted(client) as grown:
        assert client.get(stored, wire="none").equals(data)
    assert grown["bytes_out"] > 0.98 * tables.plain_bytes(data)


def test_the_servers_default_can_be_set(data: pa.Table, tmp_path: Path) -> None:
    with Server("--wire", "stored") as server, server.client() as client:
        client.put("a", data, codec="zstd")
        with counted(client) as grown:
            wire.get(server.address, b"a", tmp_path / "stored")
        assert grown["bytes_decoded"] == 0
        assert _read(tmp_path / "stored").equals(data)
    with Server("--wire", "none", "--codec", "lz4") as server, server.client() as client:
        assert client.put("a", data)["codec"] == "lz4"
        with counted(client) as grown:
            assert client.get("a").equals(data)
        assert grown["bytes_decoded"] > 0


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
def test_nested_and_huge_batches_stay_under_the_stock_limit(
    server: Server, client: Client, name: str, codec: str, tmp_path: Path
) -> None:
    nested = tables.table("nested", 120_000, batch_rows=120_000)
    client.put(name, nested, codec=codec)
    for ticket in (name.encode(), command_of(name, wire="stored"), command_of(name, columns=["wide.r", "d"])):
        report = wire.get(server.address, ticket, tmp_path / "out")
        assert report["code"] == "OK"
        assert report["largest"] <= STOCK_LIMIT
    wire.get(server.address, command_of(name, wire="stored"), tmp_path / "out")
    assert _read(tmp_path / "out").equals(nested)
