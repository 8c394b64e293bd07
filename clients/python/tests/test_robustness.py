"""Consumers that stop or fail, forks, threads, servers that go away: no hang, and nothing is left."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import flightcache
import tables
from conftest import nothing_left
from flightcache import Client
from service import Server, wait

SOON = 60
"""Seconds: far more than anything here takes."""
ROWS = 200_000
FLAT = tables.table("flat", ROWS)
f = pc.field


@pytest.fixture(scope="module", autouse=True)
def _stored(server: Server) -> Iterator[None]:
    with flightcache.connect(server.address) as client:
        client.put("robust/flat", FLAT, batching="keep", codec="none")
        yield
        nothing_left(client)


class Boom(Exception):
    pass


READS: dict[str, Callable[[Client], Iterator[pa.RecordBatch]]] = {
    "reader": lambda c: c.reader("robust/flat"),
    "filtered here": lambda c: c.reader("robust/flat", ["id"], pc.utf8_length(f("s3")) > 5),
    "dataset": lambda c: c.dataset("robust/flat").to_batches(),
    "parallel": lambda c: c.dataset("robust/flat", ordered=False).to_batches(),
    "part": lambda c: next(c.dataset("robust/flat").get_fragments()).to_batches(),
    "stream": lambda c: pa.RecordBatchReader.from_stream(c.dataset("robust/flat")),
}


@pytest.mark.parametrize("batches", [0, 1, 4])
@pytest.mark.parametrize("what", READS)
def test_a_consumer_that_stops(client: Client, what: str, batches: int) -> None:
    reading = READS[what](client)
    for _ in range(batches):
        next(reading)
    del reading
    gc.collect()
    nothing_left(client)


@pytest.mark.parametrize("what", READS)
def test_an_exception_in_the_consumer(client: Client, what: str) -> None:
    def consume(batches: Iterator[pa.RecordBatch]) -> None:
        for _ in batches:
            raise Boom

    with pytest.raises(Boom):
        consume(READS[what](client))
    gc.collect()
    nothing_left(client)


def test_an_exception_in_an_engine(client: Client) -> None:
    flat = client.dataset("robust/flat")
    with duckdb.connect() as engine:
        engine.register("t", flat)
        with pytest.raises(duckdb.Error):
            engine.execute("SELECT CAST(s1 AS INTEGER) FROM t").fetchall()
    with pytest.raises(pl.exceptions.PolarsError):
        client.scan("robust/flat").select(pl.col("s1").cast(pl.Int64)).collect()
    nothing_left(client)


def test_a_timeout(server: Server) -> None:
    with flightcache.connect(server.address, timeout=0.2) as client:
        reader = client.reader("robust/flat")
        reader.read_next_batch()
        time.sleep(0.3)
        with pytest.raises(flightcache.TimedOut):
            reader.read_all()
        slow = (time.sleep(0.1) or batch for batch in FLAT.to_batches())
        with pytest.raises(flightcache.TimedOut):
            client.put("robust/slow", pa.RecordBatchReader.from_batches(FLAT.schema, slow))
    with flightcache.connect(server.address) as client:
        assert client.list("robust/slow") == []
        nothing_left(client)


def test_16_threads_share_a_client(client: Client) -> None:
    flat = client.dataset("robust/flat")
    apart = client.dataset("robust/flat", ordered=False)

    def work(number: int) -> None:
        rng = random.Random(number)
        name = f"robust/{number}"
        for turn in range(6):
            low = rng.randrange(ROWS)
            wanted = (f("id") >= low) & (f("id") < low + 500)
            expected = FLAT.filter(wanted)
            what = (number + turn) % 6
            if what == 0:
                assert client.get("robust/flat", filters=wanted).equals(expected)
            elif what == 1:
                assert apart.to_table(filter=wanted).num_rows == expected.num_rows
            elif what == 2:
                with duckdb.connect() as engine:
                    engine.register("t", flat)
                    query = f"SELECT count(*) FROM t WHERE id >= {low} AND id < {low + 500}"
                    assert engine.execute(query).fetchone() == (expected.num_rows,)
            elif what == 3:
                assert client.put(name, expected)["rows"] == expected.num_rows
                assert client.count(name) == expected.num_rows
                client.drop(name)
            elif what == 4:
                next(flat.to_batches())  # and no further
            else:
                assert client.count("robust/flat", wanted) == expected.num_rows

    with ThreadPoolExecutor(16) as pool:
        for done in [pool.submit(work, number) for number in range(16)]:
            done.result(SOON)
    gc.collect()
    nothing_left(client)


def test_many_reads_leave_no_threads_and_no_memory(client: Client) -> None:
    apart = client.dataset("robust/flat", ordered=False)
    gc.collect()
    before = pa.total_allocated_bytes()
    for number in range(60):
        batches = apart.to_batches(columns=["id"])
        for _ in range(number % 4):
            next(batches)
        batches.close()
    assert not [t for t in threading.enumerate() if t.name == "flightcache-read"]
    gc.collect()
    nothing_left(client)
    del batches
    assert pa.total_allocated_bytes() <= before + (1 << 20)


def _in_fork(child: Callable[[], None]) -> int:
    """The exit code of a forked process that runs ``child``; it is ended if it hangs."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            child()
            code = 0
        finally:
            os._exit(code)
    deadline = time.monotonic() + SOON
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            pytest.fail("the forked process hangs")
        time.sleep(0.01)


def test_a_fork_is_told(server: Server, client: Client) -> None:
    reader = client.reader("robust/flat")
    reader.read_next_batch()
    flat, apart = client.dataset("robust/flat"), client.dataset("robust/flat", ordered=False).to_batches()
    next(apart)

    def child() -> None:
        calls: list[Callable[[], object]] = [
            lambda: client.get("robust/flat"),
            lambda: client.put("robust/child", FLAT),
            lambda: client.count("robust/flat"),
            lambda: client.list(),
            lambda: flat.to_table(),
            lambda: next(apart),
            lambda: reader.read_next_batch(),
            lambda: flightcache.connect(server.address),
            client.close,
        ]
        for call in calls:
            with pytest.raises(flightcache.Forked, match="spawn"):
                call()

    assert _in_fork(child) == 0
    # What the child closes or forgets is the parent's still.
    rest = reader.read_all().num_rows
    assert rest + 10_000 == ROWS
    assert sum(batch.num_rows for batch in apart) + 10_000 == ROWS
    gc.collect()
    nothing_left(client)


def test_a_fork_that_forgets_everything(client: Client) -> None:
    held = [client, client.reader("robust/flat"), client.dataset("robust/flat", ordered=False).to_batches()]
    next(held[2])

    def child() -> None:
        held.clear()
        gc.collect()

    assert _in_fork(child) == 0
    assert held[1].read_all().num_rows == ROWS
    held[2].close()
    nothing_left(client)


PROGRAM = """
import multiprocessing, sys
import flightcache

def count(_):
    with flightcache.connect(sys.argv[1]) as client:
        return client.get("robust/flat", ["id"]).num_rows

if __name__ == "__main__":
    how = sys.argv[2]
    if how != "fork":
        assert count(0) == 200_000
    with multiprocessing.get_context(how).Pool(2) as pool:
        print(pool.map(count, range(2)))
"""


@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_workers(server: Server, how: str, tmp_path: os.PathLike[str]) -> None:
    """Processes that were forked before the first connection, or started anew, have connections of their own."""
    program = os.path.join(tmp_path, "program.py")
    with open(program, "w") as file:
        file.write(PROGRAM)
    assert how in multiprocessing.get_all_start_methods()
    done = subprocess.run([sys.executable, program, server.address, how], capture_output=True, text=True, timeout=SOON)
    assert done.stdout == f"{[ROWS] * 2}\n", done.stderr


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _serve_at(port: int) -> Server:
    return Server("--listen", f"grpc://127.0.0.1:{port}", "--memory", "256MiB")


def test_a_server_that_comes_back() -> None:
    """Reads, safe actions and puts wait for it; a stream that cannot be read twice is not sent twice."""
    port = _free_port()
    with flightcache.connect(f"grpc://127.0.0.1:{port}", retries=30) as client:
        for call in (
            lambda: client.put("back", FLAT.slice(0, 1000)),
            lambda: client.put("back", pa.RecordBatchReader.from_batches(FLAT.schema, FLAT.to_batches()[:1])),
        ):
            with ThreadPoolExecutor(1) as pool:
                waiting = pool.submit(call)
                time.sleep(0.2)
                assert not waiting.done()
                with _serve_at(port):
                    assert waiting.result(SOON)["rows"] in (1000, 10_000)
                    rows = client.count("back")
                    assert client.get("back").num_rows == rows
                    assert client.schema("back").equals(FLAT.schema)
                    assert [d.rows for d in client.list()] == [rows]


def test_a_put_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer to a put is lost: the second attempt finds that it is there."""
    from flightcache import _put

    with _serve_at(_free_port()) as server, flightcache.connect(server.address) as client:
        once, attempts = _put._Put.once, []

        def lost(self: _put._Put) -> _put.Facts:
            facts = once(self)
            attempts.append(facts)
            if len(attempts) == 1:
                raise flightcache.Unavailable("the answer is lost")
            return facts

        monkeypatch.setattr(_put._Put, "once", lost)
        facts = client.put("once", FLAT.slice(0, 100), mode="append")
        assert facts["rows"] == client.count("once") == 100
        assert len(attempts) == 2
        attempts.clear()
        stream = pa.RecordBatchReader.from_batches(FLAT.schema, FLAT.to_batches()[:1])
        with pytest.raises(flightcache.Unavailable, match="lost"):
            client.put("once", stream, mode="append")
        assert client.count("once") == 100
        attempts.clear()
        assert client.put("twice", duckdb.from_arrow(FLAT.slice(0, 100)), mode="append")["rows"] == 100
        assert client.count("twice") == 100
        nothing_left(client)


def test_a_server_that_is_gone() -> None:
    with flightcache.connect(f"grpc://127.0.0.1:{_free_port()}", retries=1) as client:
        for call in (
            lambda: client.get("x"),
            lambda: client.put("x", FLAT.slice(0, 5)),
            lambda: client.count("x"),
            lambda: client.drop("x"),
            lambda: client.dataset("x"),
        ):
            with pytest.raises(ConnectionError, match=r"connect"):
                call()


def test_a_server_that_dies_in_the_middle() -> None:
    server = Server("--memory", "256MiB")
    with flightcache.connect(server.address, retries=0) as client:
        client.put("dies", FLAT, batching="keep", codec="none")
        readers = [client.reader("dies"), client.dataset("dies", ordered=False).scanner().to_reader()]
        for reader in readers:
            reader.read_next_batch()
        server.kill()
        for reader in readers:
            with pytest.raises(flightcache.Unavailable):
                reader.read_all()
    wait(lambda: not [t for t in threading.enumerate() if t.name == "flightcache-read"])


def test_a_closed_client(server: Server) -> None:
    client = flightcache.connect(server.address)
    flat = client.dataset("robust/flat")
    client.close()
    client.close()
    for call in (lambda: client.get("robust/flat"), flat.to_table, lambda: client.put("x", FLAT)):
        with pytest.raises(flightcache.Unavailable, match="closed"):
            call()
