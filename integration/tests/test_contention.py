"""Many clients at one dataset: each put lands whole and in order, each read is one state, and all end."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.flight as fl
import pytest

from service import Client, Server, command_of

CLIENTS = 16
PUTS = 15
SECONDS = 120
"""No call waits as long."""

OPTIONS = fl.FlightCallOptions(timeout=SECONDS)


def _part(mark: int) -> pa.Table:
    """The rows of one put. How many there are follows from the mark."""
    rows = 1000 + 37 * (mark % 101)
    return pa.table({"mark": np.full(rows, mark), "row": np.arange(rows), "text": pa.array([str(mark)] * rows)})


def _parts(data: pa.Table) -> list[int]:
    """The marks of the puts that ``data`` is made of, in order. Each must be there whole."""
    marks, rows = data["mark"].to_numpy(), data["row"].to_numpy()
    starts = np.flatnonzero(rows == 0)
    assert len(rows) == 0 or starts[0] == 0, "the first put lacks its first rows"
    found = []
    for at, end in zip(starts, [*starts[1:], len(rows)], strict=True):
        mark = int(marks[at])
        assert data.slice(at, end - at).equals(_part(mark)), f"the rows of put {mark} are not those that were put"
        found.append(mark)
    return found


@pytest.fixture(params=["in memory", "in files"])
def contended(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    """A server of which the dataset lies in memory, or moves to files again and again."""
    if request.param == "in memory":
        with Server() as server:
            yield server
        return
    with Server("--data-dir", str(tmp_path), "--memory", "256MiB") as server:
        over = threading.Event()

        def evict() -> None:
            with server.client() as client:
                while not over.wait(0.03):
                    with contextlib.suppress(KeyError):  # not yet there, or no longer
                        client.action("evict", dataset="d")

        evicting = threading.Thread(target=evict)
        evicting.start()
        yield server
        over.set()
        evicting.join()


def _contend(server: Server, put: Callable[[Client, int, int], None], check: Callable[[list[int]], None]) -> int:
    """Lets 16 writers put and 16 readers read until the writers are done; gives the number of different states seen."""
    writing = threading.Event()
    writing.set()

    def write(worker: int) -> None:
        with server.client() as own:
            for n in range(PUTS):
                put(own, worker, n)

    def read(worker: int) -> set[tuple[int, ...]]:
        seen = set()
        with server.client() as own:
            while writing.is_set() or not seen:
                if worker % 2:
                    parts = _parts(own.get("d", OPTIONS))
                else:
                    info = own.info("d")
                    data = own.flight.do_get(info.endpoints[0].ticket, OPTIONS).read_all()
                    assert data.num_rows == info.total_records
                    own.cancel(info)
                    parts = _parts(data)
                check(parts)
                seen.add(tuple(parts))
        return seen

    with ThreadPoolExecutor(2 * CLIENTS) as pool:
        readers = [pool.submit(read, i) for i in range(CLIENTS)]
        writers = [pool.submit(write, i) for i in range(CLIENTS)]
        try:
            for w in writers:
                w.result()
        finally:
            writing.clear()
        return len(set().union(*(r.result() for r in readers)))


def test_16_writers_append_and_16_readers_read(contended: Server) -> None:
    """Every row of every append is there once; each client's appends are in its order."""
    with contended.client() as client:
        client.put("d", _part(0))

        def append(own: Client, worker: int, n: int) -> None:
            own.put("d", _part(1000 * (worker + 1) + n), OPTIONS, mode="append")

        def ordered(parts: list[int]) -> None:
            assert parts[0] == 0
            last: dict[int, int] = {}
            for part in parts[1:]:
                assert part % 1000 == last.get(part // 1000, -1) + 1, f"a client's appends are out of order: {parts}"
                last[part // 1000] = part % 1000

        assert _contend(contended, append, ordered) > 1
        parts = _parts(client.get("d"))
        ordered(parts)
        assert Counter(parts) == Counter([0, *(1000 * (w + 1) + n for w in range(CLIENTS) for n in range(PUTS))])
        client.drop("d")
        assert client.settled_charge(0, 60) == 0


def test_16_writers_replace_and_append_and_16_readers_read(contended: Server) -> None:
    """A read has the rows of one replacement, then those of appends that came after it."""
    with contended.client() as client:
        client.put("d", _part(0))
        codecs = ("none", "lz4", "zstd")

        def write(own: Client, worker: int, n: int) -> None:
            mode = "replace" if worker % 2 == 0 and n % 3 == 0 else "append"
            mark = 1000 * (worker + 1) + n + (500 if mode == "replace" else 0)
            own.put("d", _part(mark), OPTIONS, mode=mode, codec=codecs[n % 3])

        def one_state(parts: list[int]) -> None:
            assert parts[0] == 0 or parts[0] % 1000 >= 500
            assert all(part % 1000 < 500 for part in parts[1:]), f"two replacements in one read: {parts}"
            assert len(set(parts)) == len(parts)

        assert _contend(contended, write, one_state) > 1
        one_state(_parts(client.get("d")))
        client.drop("d")
        assert client.settled_charge(0, 60) == 0


@pytest.mark.parametrize("mode", ["replace", "append", "create"])
def test_a_running_put_is_not_seen(server: Server, client: Client, name: str, mode: str) -> None:
    """Readers see what was there until the put is answered, in every call; then they see all of it."""
    before, added = [_part(1)] if mode != "create" else [], [_part(2), _part(3)]
    for part in before:
        client.put(name, part)

    def look(wanted: list[pa.Table]) -> None:
        with server.client() as other:
            if not wanted:
                assert name not in other.names()
                for call in (other.get, other.info, other.describe):
                    with pytest.raises(KeyError, match=name):
                        call(name)
                return
            data = pa.concat_tables(wanted)
            assert other.get(name).equals(data)
            info = other.info(name)
            assert info.total_records == other.describe(name)["rows"] == data.num_rows
            other.cancel(info)

    def staged() -> int:
        deadline = time.monotonic() + SECONDS
        while (now := client.stats()["staged_bytes"]) == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        return now

    look(before)
    command = fl.FlightDescriptor.for_command(command_of(name, mode=mode))
    writer, results = client.flight.do_put(command, added[0].schema)
    look(before)
    for part in added:
        writer.write_table(part)
        assert staged() > 0, "the server has not received it: the test tests nothing"
        look(before)
    began = client.flight.do_get(fl.Ticket(name.encode())) if before else None
    writer.done_writing()
    assert results.read() is not None
    look([*(before if mode == "append" else []), *added])
    if began is not None:
        assert began.read_all().equals(pa.concat_tables(before)), "a read that had begun sees the put"
    writer.close()
    client.drop(name)
