"""What is too large for a message, an offset or a client: cut on the way, refused with the limit, or kept whole."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.flight as fl
import pytest

import tables
import wiretool
from service import Client, Server, command_of, counted

STOCK_LIMIT = 4 << 20
MIB = 1 << 20


def _texts(size: int, rows: int) -> pa.Table:
    """Rows of ``size`` bytes that begin with their number and cannot be compressed."""
    noise = os.urandom(size // 2).hex()
    return pa.table({"n": range(rows), "s": [f"{i:08d}{noise}"[:size] for i in range(rows)]})


def _read(path: Path) -> pa.Table:
    """The table of a stream, whose file goes: it may be large."""
    with pa.OSFile(str(path), "rb") as source:
        table = pa.ipc.open_stream(source).read_all()
    path.unlink()
    return table


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_long_texts_fit_a_stock_client(server: Server, client: Client, name: str, codec: str, tmp_path: Path) -> None:
    data = _texts(MIB, 100)
    client.put(name, data, codec=codec)
    for wire in ("stored", "none"):
        report = wiretool.get(server.address, command_of(name, wire=wire), tmp_path / wire)
        assert report["code"] == "OK"
        assert report["largest"] <= STOCK_LIMIT
        assert _read(tmp_path / wire).equals(data)
    client.drop(name)


def test_one_row_may_be_larger_than_a_message(client: Client, name: str) -> None:
    data = _texts(6 * MIB, 3)
    client.put(name, data)
    chunks = list(client.flight.do_get(fl.Ticket(command_of(name))))
    assert [c.data.num_rows for c in chunks] == [1, 1, 1]
    assert pa.Table.from_batches([c.data for c in chunks]).equals(data)
    client.drop(name)


def test_a_batch_of_100_mib_reaches_a_stock_client(server: Server, client: Client, name: str, tmp_path: Path) -> None:
    data = pa.table({"n": np.random.default_rng(1).integers(0, 2**62, 100 * MIB // 8)})
    facts = client.put(name, data, codec="none")
    assert facts["batches"] >= 25
    report = wiretool.get(server.address, name.encode(), tmp_path / "out")
    assert report["code"] == "OK"
    assert report["largest"] <= STOCK_LIMIT
    assert _read(tmp_path / "out").equals(data)
    client.drop(name)


@pytest.mark.parametrize(("columns", "rows"), [(300, 20_000), (5000, 400)])
def test_wide_batches_stay_under_the_stock_limit(
    server: Server, client: Client, name: str, columns: int, rows: int, tmp_path: Path
) -> None:
    """The header counts too: that of 5000 columns takes 240 kB beside the body."""
    data = tables.table("wide", rows, batch_rows=rows, columns=columns)
    client.put(name, data, codec="none")
    for wire in ("stored", "none"):
        report = wiretool.get(server.address, command_of(name, wire=wire), tmp_path / wire)
        assert report["code"] == "OK"
        assert report["largest"] <= STOCK_LIMIT
        assert report["messages"] < 30
        assert _read(tmp_path / wire).equals(data)
    client.drop(name)


def test_a_batch_of_300_mib_is_put_and_read_when_the_limit_allows() -> None:
    data = pa.table({"n": pa.array(np.arange(300 * MIB // 8))})
    with Server("--max-message", "320MiB") as server, server.client() as client:
        client.put("large", data, codec="lz4")
        assert client.get("large").equals(data)


BATCH_MIB = 64
BATCHES = 48


def test_3_gib_of_text_pass_no_offset() -> None:
    """More text than 32-bit offsets can tell, put as one column and read batch by batch."""
    rows = BATCH_MIB * MIB // 1024
    text = pa.array([f"{i:016d}" * 64 for i in range(rows)])
    batch = pa.record_batch({"s": text})
    with Server() as server, server.client() as client:
        facts = client.put_batches("texts", batch.schema, (batch for _ in range(BATCHES)))
        assert facts["rows"] == rows * BATCHES
        assert facts["decoded_bytes"] > 3 << 30
        assert facts["stored_bytes"] < 512 * MIB
        assert client.info("texts").total_bytes == facts["decoded_bytes"]
        at = 0
        for chunk in client.flight.do_get(fl.Ticket(b"texts")):
            column = chunk.data.column(0)
            assert column.nbytes <= 16 * MIB + 4096
            while len(column):
                here = at % rows
                taken = min(len(column), rows - here)
                assert column.slice(0, taken).equals(text.slice(here, taken))
                column, at = column.slice(taken), at + taken
        assert at == rows * BATCHES


def test_cutting_decodes_each_batch_once(client: Client, name: str) -> None:
    data = pa.table({"s": pc.binary_join_element_wise("text ", pa.array(range(1_000_000)).cast(pa.string()), "")})
    client.put(name, data, codec="zstd")
    with counted(client) as grown:
        assert client.get(name, max_message_bytes=65_536, wire="none").equals(data)
    assert grown["batches_sent"] > 200
    assert grown["bytes_decoded"] <= 1.05 * tables.plain_bytes(data)
    client.drop(name)


def test_one_of_10000_columns_over_many_batches(client: Client, name: str) -> None:
    """What a batch costs on the wire grows with the columns that are read, not with those that are kept."""
    batch = next(tables.batches("wide", 3, columns=10_000))
    batches = 100
    facts = client.put_batches(name, batch.schema, [batch] * batches, batching="keep", codec="none")
    assert (facts["batches"], len(facts["columns"])) == (batches, 10_000)
    with counted(client) as grown:
        got = client.get(name, columns=["c9999"])
    assert got["c9999"].to_pylist() == [0, 10_000, 20_000] * batches
    assert grown["batches_sent"] == batches
    assert grown["bytes_out"] < batches * 400 + 1000
    assert client.info(name, columns=["c9999"]).total_bytes == batches * 24
    client.drop(name)


def test_tiny_batches_are_joined(client: Client, name: str) -> None:
    data = tables.table("flat", 100_000, batch_rows=10)
    facts = client.put(name, data)
    assert facts["batches"] < 100
    with counted(client) as grown:
        assert client.get(name).equals(data)
    assert grown["batches_sent"] < 100
    client.drop(name)


def test_messages_stay_moderate_when_no_client_asks(client: Client, name: str) -> None:
    """Very large messages are slower than moderate ones, so a batch is cut even for clients that take any size."""
    client.put(name, tables.table("wide", 1_000_000, batch_rows=1_000_000, columns=10), codec="none")
    for chunk in client.flight.do_get(fl.Ticket(command_of(name))):
        assert MIB // 4 < chunk.data.nbytes <= STOCK_LIMIT
    client.drop(name)
