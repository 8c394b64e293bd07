"""How buffers are compressed: each by itself, raw where nothing is gained, and with no memory left behind."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.flight as fl
import pytest

import tables
import wiretool
from service import Client, Server, command_of

LZ4_FRAME = bytes.fromhex("04224d18")
ZSTD_FRAME = bytes.fromhex("28b52ffd")


@pytest.mark.parametrize(("codec", "magic"), [("lz4", LZ4_FRAME), ("zstd", ZSTD_FRAME)])
def test_each_buffer_is_one_frame(
    server: Server, client: Client, name: str, codec: str, magic: bytes, tmp_path: Path
) -> None:
    """Buffers of more than one block: a reader that takes one frame of each must get them whole."""
    data = pa.table({f"c{i}": np.arange(25_000) * (i + 1) for i in range(4)})
    client.put(name, data, codec=codec, batching="keep")
    wiretool.get(server.address, command_of(name, wire="stored"), tmp_path / "out")
    assert (tmp_path / "out").read_bytes().count(magic) == 4
    with pa.OSFile(str(tmp_path / "out"), "rb") as source:
        assert pa.ipc.open_stream(source).read_all().equals(data)
    assert pl.read_ipc_stream(tmp_path / "out", use_pyarrow=False).to_dict(as_series=False) == data.to_pydict()


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_what_does_not_shrink_is_stored_raw(
    server: Server, client: Client, name: str, codec: str, tmp_path: Path
) -> None:
    noise = os.urandom(800_000)
    data = pa.table({"noise": np.frombuffer(noise, np.int64), "even": np.zeros(100_000, np.int64)})
    facts = client.put(name, data, codec=codec, batching="keep")
    stored = {c["name"]: c["stored_bytes"] for c in facts["columns"]}
    assert 800_000 <= stored["noise"] <= 800_064
    assert stored["even"] < 8000
    wiretool.get(server.address, command_of(name, wire="stored"), tmp_path / "out")
    # A length of -1 says that the buffer follows as it is.
    assert b"\xff" * 8 + noise in (tmp_path / "out").read_bytes()
    assert client.get(name).equals(data)


@pytest.mark.parametrize("sent", ["lz4", "zstd"])
def test_what_arrives_compressed_is_read_plain_too(client: Client, name: str, sent: str) -> None:
    data = tables.table("nested", 5000)
    options = fl.FlightCallOptions(write_options=pa.ipc.IpcWriteOptions(compression=sent))
    client.put(name, data, options, codec=sent)
    for wire in ("stored", "none", "lz4", "zstd"):
        assert client.get(name, wire=wire).equals(data)
        assert client.get(name, wire=wire, columns=["deep.n.w"]).num_rows == 5000


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_puts_and_reads_in_turn_leave_no_memory_behind(codec: str) -> None:
    data = tables.table("flat", 50_000)
    with Server() as server, server.client() as client:

        def cycle() -> None:
            client.put("soak", data, codec=codec)
            assert client.get("soak", wire="none").num_rows == 50_000
            client.drop("soak")

        empty = client.charged()
        for _ in range(20):
            cycle()
        warm = server.rss_mib()
        for _ in range(100):
            cycle()
        assert client.settled_charge(empty) == empty
        # 100 rounds decode 330 MiB: a leak of a tenth of that would show.
        assert server.rss_mib() - warm < 32


def test_100_small_puts_at_once_share_their_contexts() -> None:
    data = tables.table("flat", 1000)
    with Server() as server, server.client() as client:
        client.put("first", data)
        before = server.rss_mib()

        def put(number: int) -> int:
            with server.client() as own:
                return own.put(f"many/{number}", data, codec="zstd")["rows"]

        with ThreadPoolExecutor(100) as pool:
            assert list(pool.map(put, range(100))) == [1000] * 100
        assert client.get("many/99").equals(data)
        # A compressor for each put would be some 2 MiB each, and 500 MiB with a careless one.
        assert server.rss_mib() - before < 150
