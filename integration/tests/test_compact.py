"""Small appends are joined, by themselves or when asked for, and nobody sees more of it than fewer batches."""

from __future__ import annotations

import concurrent.futures
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import compare
import zoo
from service import Client, Server

APPENDS, ROWS = 10_000, 10
CROWD = 64  # small batches after which the server looks for some to join


def _rows(first: int, count: int) -> pa.Table:
    """Rows that tell their own numbers."""
    numbers = range(first, first + count)
    return pa.table(
        {
            "n": pa.array(numbers, pa.int64()),
            "text": pa.array([None if n % 11 == 0 else f"row {n % 1000}" for n in numbers], pa.string()),
            "list": pa.array([[n] * (n % 3) for n in numbers], pa.list_(pa.int32())),
        }
    )


def _grow(client: Client, name: str, table: pa.Table, rows: int, **keys: object) -> None:
    for first in range(0, table.num_rows, rows):
        client.put(name, table.slice(first, rows), mode="append", **keys)


def _wait(done: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def quiet() -> Iterator[Client]:
    """A client of a server that compacts only when it is asked to."""
    with Server("--compact", "off") as server, server.client() as connected:
        yield connected
        assert server.stop() == 0, server.log()


def test_many_small_appends_become_few_batches(server: Server, client: Client, name: str) -> None:
    want = _rows(0, APPENDS * ROWS)
    before = client.stats()
    over = threading.Event()

    def read() -> int:
        """Reads again and again: each time just the rows that were counted, from the first on."""
        reads = 0
        with server.client() as own:
            while not over.is_set():
                info = own.info(name, columns=["n"], partitions=4)
                parts = [own.flight.do_get(e.ticket).read_all() for e in info.endpoints]
                got = pa.concat_tables(parts)["n"]
                assert len(got) == info.total_records
                assert got.combine_chunks().equals(want["n"].slice(0, len(got)).combine_chunks())
                reads += 1
        return reads

    client.put(name, want.slice(0, ROWS))
    with concurrent.futures.ThreadPoolExecutor() as pool:
        readers = [pool.submit(read) for _ in range(2)]
        try:
            _grow(client, name, want.slice(ROWS), ROWS)
        finally:
            over.set()
        assert all(r.result() > 0 for r in readers)
    _wait(lambda: client.describe(name)["batches"] < 2 * CROWD)
    facts = client.describe(name)
    assert facts["rows"] == APPENDS * ROWS
    assert client.get(name).equals(want)
    after = client.stats()
    assert after["batches_compacted"] - before["batches_compacted"] > APPENDS - 2 * CROWD
    # Each row was written again a few times, and no more.
    assert after["bytes_compacted"] - before["bytes_compacted"] < 12 * facts["decoded_bytes"]
    client.drop(name)


def test_asked_for(quiet: Client, name: str) -> None:
    want = _rows(0, 2_000)
    _grow(quiet, name, want, 20)
    before = quiet.describe(name)
    assert before["batches"] == 100
    result = quiet.action("compact", dataset=name)
    after = quiet.describe(name)
    assert result == {
        "dataset": name,
        "generation": before["generation"],
        "batches_before": 100,
        "batches": 1,
        "stored_bytes_before": before["stored_bytes"],
        "stored_bytes": after["stored_bytes"],
    }
    same = ("generation", "created", "rows", "codec")
    assert {k: after[k] for k in same} == {k: before[k] for k in same}
    bounds = ("name", "type", "null_count", "min", "max", "exact")
    assert [[c.get(k) for k in bounds] for c in after["columns"]] == [
        [c.get(k) for k in bounds] for c in before["columns"]
    ]
    assert after["stored_bytes"] < before["stored_bytes"]
    assert quiet.stats(dataset=name)["charged_bytes"] == after["stored_bytes"]
    assert quiet.get(name).equals(want)
    assert quiet.info(name).total_records == 2_000
    # A filter finds its rows in the new batch, by its statistics and by looking at it.
    assert quiet.get(name, filters=[["n", ">=", 1_990]])["n"].to_pylist() == list(range(1_990, 2_000))
    assert quiet.info(name, filters=[["n", ">", 2_000]]).total_records == 0
    again = quiet.action("compact", dataset=name)
    assert (again["batches_before"], again["batches"]) == (1, 1)


def test_leases_keep_the_old_batches(quiet: Client, name: str) -> None:
    charge = quiet.charged()
    want = _rows(0, 600)
    _grow(quiet, name, want, 10)
    old = quiet.info(name, partitions=7)
    assert len(old.endpoints) == 7
    quiet.action("compact", dataset=name)
    facts = quiet.describe(name)
    assert facts["batches"] == 1
    assert facts["leases"] == 1
    assert facts["leased_bytes"] > facts["stored_bytes"]
    _grow(quiet, name, _rows(600, 10), 10)
    assert pa.concat_tables([quiet.flight.do_get(e.ticket).read_all() for e in old.endpoints]).equals(want)
    quiet.drop(name)
    assert pa.concat_tables([quiet.flight.do_get(e.ticket).read_all() for e in old.endpoints]).equals(want)
    assert quiet.charged() > charge


def test_tickets_without_a_lease_are_refused_where_they_count_batches(name: str) -> None:
    with Server("--lease", "0", "--compact", "off") as server, server.client() as client:
        want = _rows(0, 300)
        _grow(client, name, want, 10)
        whole, parts = client.info(name), client.info(name, partitions=5)
        client.action("compact", dataset=name)
        assert client.flight.do_get(whole.endpoints[0].ticket).read_all().equals(want)
        for endpoint in parts.endpoints:
            with pytest.raises(KeyError, match="ask GetFlightInfo again") as caught:
                client.flight.do_get(endpoint.ticket).read_all()
            assert name in str(caught.value)
        fresh = client.info(name, partitions=5)
        assert pa.concat_tables([client.flight.do_get(e.ticket).read_all() for e in fresh.endpoints]).equals(want)


def test_kept_batches_stay(client: Client, name: str) -> None:
    want = _rows(0, 3 * CROWD)
    for first in range(want.num_rows):
        client.put(name, want.slice(first, 1), mode="append", batching="keep")
    assert client.action("compact", dataset=name)["batches"] == 3 * CROWD
    _grow(client, name, _rows(3 * CROWD, CROWD), 1)
    assert client.action("compact", dataset=name)["batches"] == 3 * CROWD + 1
    assert client.get(name).equals(_rows(0, 4 * CROWD))


def test_a_killed_server_comes_back_with_what_was_joined(tmp_path: Path, name: str) -> None:
    flags = ["--data-dir", str(tmp_path / "data"), "--durable"]
    want = _rows(0, 0)
    for part in range(3):
        server = Server(*flags)
        try:
            with server.client() as client:
                if part:
                    assert client.get(name).equals(want)
                    assert client.describe(f"{name}/kept")["batches"] == part
                more = _rows(want.num_rows, 300)
                _grow(client, name, more, 3)
                client.put(f"{name}/kept", more.slice(0, 1), mode="append", batching="keep")
                want = pa.concat_tables([want, more]).combine_chunks()
                _wait(lambda: client.describe(name)["batches"] < 2 * CROWD)
                if part:
                    assert client.action("compact", dataset=name)["batches"] == 1
                    assert client.action("compact", dataset=f"{name}/kept")["batches"] == part + 1
                assert client.get(name).equals(want)
        finally:
            server.kill()


def test_dictionaries(quiet: Client, name: str) -> None:
    schema = pa.schema([("d", pa.dictionary(pa.int8(), pa.string())), ("n", pa.int32())])

    def part(values: list[str], indices: list[int | None]) -> pa.Table:
        column = pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), pa.array(values))
        return pa.table([column, pa.array(range(len(indices)), pa.int32())], schema=schema)

    first = [part(["Oslo", "Rome"], [0, 1, None, i % 2]) for i in range(20)]
    second = [part(["Lima"], [0, 0, None]) for _ in range(20)]
    for p in first + second + first:
        quiet.put(name, p, mode="append")
    assert quiet.action("compact", dataset=name)["batches"] == 1
    got = quiet.get(name)
    assert got.schema.equals(schema)
    want = [v for p in first + second + first for v in p["d"].to_pylist()]
    assert got["d"].to_pylist() == want
    assert quiet.get(name, dictionaries="decode")["d"].to_pylist() == want
    assert got["d"].num_chunks == 1
    assert sorted(got["d"].chunk(0).dictionary.to_pylist()) == ["Lima", "Oslo", "Rome"]
    assert [c.get("max") for c in quiet.describe(name)["columns"]] == ["Rome", 3]


def test_dictionaries_that_do_not_become_one(quiet: Client, name: str) -> None:
    kind = pa.dictionary(pa.int8(), pa.string(), ordered=True)
    low = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["low", "high"]), ordered=True)
    mid = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["mid", "low"]), ordered=True)
    for column in [low, low, mid, mid, low]:
        quiet.put(name, pa.table([column], schema=pa.schema([("d", kind)])), mode="append")
    assert quiet.action("compact", dataset=name)["batches"] == 3
    assert quiet.get(name)["d"].to_pylist() == [
        *low.to_pylist() * 2,
        *mid.to_pylist() * 2,
        *low.to_pylist(),
    ]


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
@pytest.mark.parametrize("group", zoo.GROUPS)
def test_every_type(quiet: Client, name: str, group: str, codec: str) -> None:
    want = zoo.table(zoo.GROUPS[group], 250)
    _grow(quiet, name, want.combine_chunks(), 7, codec=codec)
    before = quiet.describe(name)["batches"]
    assert quiet.action("compact", dataset=name)["batches"] < before
    compare.assert_same(quiet.get(name), want)
    compare.assert_same(quiet.get(name, wire="none"), want)
    quiet.drop(name)
