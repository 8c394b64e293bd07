"""Puts that are encoded after they were answered: the rows are the same at any moment, and the bytes become fewer."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc as ipc
import pytest

import compare
import tables
import zoo
from service import Client, Server, wait

FLAT = tables.table("flat", 200_000, batch_rows=20_000)


@pytest.fixture(scope="module")
def deferring() -> Iterator[Client]:
    """A client of a server that defers unless a put says otherwise."""
    with Server("--encode", "deferred") as server, server.client() as connected:
        yield connected
        assert server.stop() == 0, server.log()


def _encoded(client: Client, name: str) -> dict:
    wait(lambda: client.describe(name)["plain_bytes"] == 0)
    return client.describe(name)


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_rows_stay_and_bytes_shrink(client: Client, name: str, codec: str) -> None:
    now = client.put(f"{name}/now", FLAT, codec=codec)
    facts = client.put(name, FLAT, codec=codec, encode="deferred")
    assert facts["rows"] == FLAT.num_rows
    assert facts["codec"] == codec
    info = client.info(name, partitions=4)
    while True:
        plain = client.describe(name)["plain_bytes"]
        assert client.get(name).equals(FLAT)
        assert client.get(name, wire="none").equals(FLAT)
        if plain == 0:
            break
    after = client.describe(name)
    same = ("rows", "decoded_bytes", "codec", "generation", "created")
    assert {k: after[k] for k in same} == {k: facts[k] for k in same}
    assert after["stored_bytes"] <= 1.1 * now["stored_bytes"] < 0.9 * facts["decoded_bytes"]
    assert [c.get("min") for c in after["columns"]] == [c.get("min") for c in now["columns"]]
    # What was counted while it was plain is what its tickets still give.
    parts = [client.flight.do_get(e.ticket).read_all() for e in info.endpoints]
    assert pa.concat_tables(parts).equals(FLAT)
    assert client.stats()["plain_bytes"] == 0
    wait(lambda: client.stats()["batches_deferred"] > 0)
    client.drop(name)
    client.drop(f"{name}/now")


def test_bytes_on_the_wire_become_compressed(client: Client, name: str) -> None:
    before = client.stats()["bytes_out"]
    client.put(name, FLAT, codec="zstd", encode="deferred")
    _encoded(client, name)
    table = client.get(name, wire="stored")
    sent = client.stats()["bytes_out"] - before
    assert table.equals(FLAT)
    assert sent < 0.8 * FLAT.nbytes
    client.drop(name)


@pytest.mark.parametrize("group", [*zoo.GROUPS])
def test_all_types(deferring: Client, name: str, group: str) -> None:
    table = zoo.table(zoo.GROUPS[group], 250)
    for batches in (1, 3):
        data = pa.concat_tables([table] * batches) if batches > 1 else table
        deferring.put(name, data, batching="keep")
        compare.assert_same(deferring.get(name), data)
        _encoded(deferring, name)
        compare.assert_same(deferring.get(name), data)
        compare.assert_same(deferring.get(name, wire="none"), data)
    deferring.drop(name)


def test_strict(client: Client, name: str) -> None:
    with pytest.raises(pa.ArrowInvalid, match="encode: want one of now, deferred"):
        client.put(name, FLAT, encode="later")


def test_readers_go_on(server: Server, client: Client, name: str) -> None:
    """Readers, appends and replacements beside the encoder."""
    over = threading.Event()
    failures: list[BaseException] = []

    def read() -> None:
        try:
            with server.client() as own:
                while not over.is_set():
                    table = own.get(name)
                    assert table.num_rows % FLAT.num_rows == 0
                    assert table.slice(0, FLAT.num_rows).equals(FLAT)
        except BaseException as e:
            failures.append(e)

    client.put(name, FLAT, encode="deferred")
    threads = [threading.Thread(target=read) for _ in range(2)]
    for t in threads:
        t.start()
    for mode in ("append", "append", "replace", "append"):
        client.put(name, FLAT, encode="deferred", mode=mode)
        time.sleep(0.05)
    facts = _encoded(client, name)
    over.set()
    for t in threads:
        t.join(60)
    assert not failures
    assert facts["rows"] == 2 * FLAT.num_rows
    client.drop(name)


@pytest.mark.parametrize("eviction", ["reject", "drop", "spill"])
def test_short_memory_encodes_as_usual(tmp_path: Path, eviction: str) -> None:
    """A put that is larger than what may be left plain has its rest encoded at once, and is whole."""
    flags = ["--memory", "32MiB", "--eviction", eviction]
    if eviction == "spill":
        flags += ["--data-dir", str(tmp_path)]
    whole = pa.concat_tables([FLAT] * (4 if eviction == "spill" else 2))
    with Server(*flags) as server, server.client() as client:
        facts = client.put("d", whole, encode="deferred", codec="zstd")
        assert client.stats()["charged_bytes"] <= 32 << 20
        assert facts["stored_bytes"] < facts["decoded_bytes"]
        _encoded(client, "d")
        assert client.get("d").equals(whole)
        client.close()
        assert server.stop() == 0, server.log()


@pytest.mark.parametrize("seed", range(4))
def test_crash_in_between(tmp_path: Path, seed: int) -> None:
    """What was answered is on the disk, plain or encoded, whenever the server is killed; a start encodes the rest."""
    rng = random.Random(seed)
    flags = ["--data-dir", str(tmp_path), "--durable", "--memory", "256MiB"]
    with Server(*flags) as server:
        with server.client() as client:
            facts = client.put("d", FLAT, encode="deferred", codec="zstd", level=rng.choice((1, 9)))
        time.sleep(rng.uniform(0, 0.3))
        server.kill()
    for _ in range(2):
        with Server(*flags) as server:
            with server.client() as client:
                assert client.describe("d")["generation"] == facts["generation"]
                assert client.get("d").equals(FLAT)
            time.sleep(rng.uniform(0, 0.1))
            server.kill()
    with Server(*flags) as server, server.client() as client:
        after = _encoded(client, "d")
        assert after["generation"] == facts["generation"]
        assert after["stored_bytes"] < 0.8 * after["decoded_bytes"]
        assert client.get("d").equals(FLAT)
        rows = 0
        for path in (tmp_path / "segments").iterdir():
            with ipc.open_file(path) as file:
                rows += file.read_all().num_rows
        assert rows == FLAT.num_rows
        client.close()
        assert server.stop() == 0, server.log()
