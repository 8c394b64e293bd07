"""What lies in memory is what was kept, no more: whatever it was cut from, and whatever has moved to files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.flight as fl
import pytest

import tables
from compare import assert_same
from service import Client, Server

MIB = 1 << 20
FACTS = 4000
"""Bytes that a stored batch of ten fields may take beside its body: layout, statistics, its place in a file."""
ITSELF = 8000
"""Bytes that a dataset may take beside its batches: its schema, and its facts as JSON."""


def _settled(read: Callable[[], float], most: float, seconds: float = 60) -> float:
    """What ``read`` gives once it is at most ``most``, or the time is over."""
    deadline = time.monotonic() + seconds
    while (now := read()) > most and time.monotonic() < deadline:
        time.sleep(0.1)
    return now


def _promised(client: Client) -> float:
    """The most MiB of memory that the process may have by its own figures."""
    stats = client.stats()
    return (1.15 * stats["budget_bytes"] + stats["transport_bytes"]) / MIB + 96


def test_one_of_200_columns_keeps_nothing_of_the_others() -> None:
    """A client keeps one column of what it read, and drops the rest: what is told and what is there is that column."""
    rows = 150_000
    with Server() as server, server.client() as client:
        column = tables.table("wide", rows, columns=1)
        alone = client.put("one", column, codec="none")
        charge = client.charged()
        client.drop("one")
        assert client.settled_charge(0) == 0
        before = server.rss_mib()

        wide = tables.table("wide", rows, batch_rows=5000, columns=200)
        facts = client.put("wide", wide, codec="none")
        assert facts["stored_bytes"] >= 200 * 8 * rows
        for c in facts["columns"]:
            assert (c["decoded_bytes"], c["stored_bytes"]) == (8 * rows, 8 * rows)
        info = client.info("wide", columns=["c0"])
        assert info.total_bytes == 8 * rows
        client.cancel(info)  # its lease
        del wide
        kept = client.get("wide", columns=["c0"])
        one = client.put("one", kept, codec="none")
        assert server.rss_mib() > before + 200
        client.drop("wide")
        assert (one["decoded_bytes"], one["stored_bytes"]) == (alone["decoded_bytes"], alone["stored_bytes"])
        assert client.settled_charge(charge) == charge
        most = before + client.stats()["warm_bytes"] / MIB + 64
        assert _settled(server.rss_mib, most) <= most
        assert client.get("one").equals(kept)


SIZE = 100_000
SLICED = {
    "texts": pa.array([f"{i:05}" * (SIZE // 5) for i in range(60)]),
    "views": pa.array([f"{i:05}" * (SIZE // 5) for i in range(60)], pa.string_view()),
    "lists": pa.array([[i] * (SIZE // 8) for i in range(60)], pa.list_(pa.int64())),
    "dictionary": pa.array([f"{i:05}" * (SIZE // 5) for i in range(60)]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", SLICED)
def test_a_slice_is_as_large_as_its_rows(client: Client, name: str, kind: str) -> None:
    """Producers send slices with the buffers that they are slices of; kept, told and charged are the rows."""
    column = SLICED[kind].slice(20, 2)
    assert client.settled_charge(0) == 0
    facts = client.put(name, pa.table({"it": column}), codec="none")
    assert 2 * SIZE <= facts["decoded_bytes"] <= 2 * SIZE + 1000
    assert 2 * SIZE <= facts["stored_bytes"] <= 2 * SIZE + 1000
    assert client.charged() <= 2 * SIZE + 2 * 256 * 1024  # two slabs
    assert client.get(name)["it"].to_pylist() == column.to_pylist()
    client.drop(name)


def test_views_that_share_their_text_are_counted_once(client: Client, name: str) -> None:
    """Ten thousand rows of one text of 1 MB: not ten thousand times the text, and not only the rows either."""
    text = b"x" * MIB
    views = np.zeros((10_000, 4), np.int32)
    views[:, 0] = MIB
    views[:, 1] = np.frombuffer(b"xxxx", np.int32)
    buffers = [None, pa.py_buffer(views.tobytes()), pa.py_buffer(text)]
    column = pa.Array.from_buffers(pa.string_view(), 10_000, buffers)
    facts = client.put(name, pa.table({"v": column}), codec="none")
    assert 16 * 10_000 + MIB <= facts["decoded_bytes"] <= 16 * 10_000 + MIB + 64
    assert facts["stored_bytes"] <= 16 * 10_000 + MIB + 64
    assert client.info(name).total_bytes == facts["decoded_bytes"]
    client.drop(name)


def _wide(columns: int) -> Iterator[pa.RecordBatch]:
    batch = next(tables.batches("wide", 2, columns=columns))
    while True:
        yield batch


@pytest.mark.parametrize("eviction", ["reject", "spill"])
def test_statistics_of_wide_batches_are_within_the_budget(tmp_path: Path, eviction: str) -> None:
    """5,000 columns by any number of batches: what is known of them counts, and stays; so the put ends."""
    flags = ["--data-dir", str(tmp_path)] if eviction == "spill" else []
    with (
        Server("--memory", "64MiB", "--put-wait", "200ms", "--eviction", eviction, *flags) as server,
        server.client() as client,
    ):
        batches = _wide(5000)
        first = [next(batches) for _ in range(20)]
        facts = client.put_batches("some", first[0].schema, first, batching="keep")
        assert facts["batches"] == 20
        if eviction == "spill":
            client.action("evict", dataset="some")
        charge = client.charged()
        # 96 bytes and more for each column of each batch, wherever its body lies.
        assert charge > 20 * 5000 * 96
        with pytest.raises(pa.ArrowInvalid, match="memory budget"):
            client.put_batches("all", first[0].schema, batches, batching="keep")
        assert server.rss_mib() <= _promised(client)
        assert client.settled_charge(charge, 60) == charge
        assert client.get("some", columns=["c4999"])["c4999"].to_pylist() == [0, 5000] * 20
        client.drop("some")
        assert client.settled_charge(0, 60) == 0


def _bytes_of(folder: Path) -> int:
    return sum(f.stat().st_size for f in (folder / "segments").iterdir())


def test_all_is_in_files(tmp_path: Path) -> None:
    """In memory are facts only, whoever has read the rows once; the disk has the rest."""
    with Server("--data-dir", str(tmp_path), "--memory", "256MiB") as server, server.client() as client:
        data = {codec: tables.table("nested", 100_000) for codec in ("none", "lz4", "zstd")}
        facts = {codec: client.put(codec, table, codec=codec) for codec, table in data.items()}
        stored, batches = (sum(f[key] for f in facts.values()) for key in ("stored_bytes", "batches"))
        assert client.charged() > stored
        freed = sum(client.action("evict", dataset=codec)["freed_bytes"] for codec in data)
        assert freed == stored

        most = batches * FACTS + len(data) * ITSELF

        def only_facts() -> None:
            stats = client.stats()
            assert 0 < stats["charged_bytes"] < most
            assert stats["spilled_bytes"] == stored
            assert stats["disk_bytes"] == _bytes_of(tmp_path) > stored
            assert stats["files"] == len(list((tmp_path / "segments").iterdir()))
            assert stats["staged_bytes"] == stats["in_flight_bytes"] == stats["pinned_bytes"] == 0

        only_facts()
        for codec, table in data.items():
            info = client.info(codec)
            assert info.total_records == table.num_rows
            client.cancel(info)
            for _ in range(3):
                assert client.get(codec, columns=[]).num_rows == table.num_rows
            assert client.get(codec, columns=["tail", "deep.n.v"]).num_rows == table.num_rows
            assert _settled(client.charged, most) < most
        only_facts()
        for codec, table in data.items():
            assert_same(client.get(codec), table)
            client.drop(codec)
        assert client.settled_charge(0) == 0
        assert _settled(lambda: len(list((tmp_path / "segments").iterdir())), 0) == 0


def test_what_a_killed_server_had_moved_to_files_is_swept(tmp_path: Path) -> None:
    """Half a put that was larger than the memory, and a dataset that was not durable: the next server has neither, and
    no file that nobody counts."""
    data = tables.table("flat", 400_000)
    with Server("--data-dir", str(tmp_path), "--memory", "16MiB") as server, server.client() as client:
        client.put("whole", data, codec="none")
        writer, _ = client.flight.do_put(fl.FlightDescriptor.for_path("half"), data.schema)
        writer.write_table(data)
        assert _settled(lambda: -client.stats()["files"], -3) <= -3
        server.kill()
        with pytest.raises((pa.ArrowException, fl.FlightError)):
            writer.close()
    assert _bytes_of(tmp_path) > MIB
    with Server("--data-dir", str(tmp_path), "--memory", "16MiB") as server, server.client() as client:
        assert client.names() == []
        stats = client.stats()
        assert (stats["files"], stats["disk_bytes"], stats["charged_bytes"]) == (0, 0, 0)
        assert _bytes_of(tmp_path) == 0
        client.put("whole", data, codec="none")
        assert client.get("whole").equals(data)


def test_a_large_batch_and_a_large_row_are_read_from_files(tmp_path: Path) -> None:
    """300 MiB each, over the limits of Arrow's own readers, and no part of either is left in memory before."""
    size = 300 * MIB
    batch = pa.table({"n": pa.array(np.arange(size // 8))})
    row = pa.table({"b": pa.array([os.urandom(MIB) * 300], pa.large_binary())})
    flags = ["--memory", "1536MiB", "--max-message", "320MiB"]
    with Server("--data-dir", str(tmp_path), *flags) as server, server.client() as client:
        for data, codec in ((batch, "zstd"), (row, "none")):
            facts = client.put("large", data, codec=codec)
            assert client.action("evict", dataset="large")["freed_bytes"] == facts["stored_bytes"]
            stats = client.stats()
            assert stats["spilled_bytes"] == facts["stored_bytes"]
            assert stats["charged_bytes"] < facts["batches"] * FACTS
            assert client.get("large").equals(data)
            client.drop("large")
            assert client.settled_charge(0) == 0
