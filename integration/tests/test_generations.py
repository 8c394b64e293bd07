"""A reader sees one whole generation, whatever the writers do meanwhile; a dead writer leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.flight as fl
import pytest

import tables
from service import Client, Server

PUTS_EACH = 25


def _generation(mark: int) -> pa.Table:
    """A table that tells by its only value how many rows it must have."""
    rows = 20_000 + 137 * mark
    return pa.table({"mark": pa.array([mark], pa.int64()).take(pa.array([0] * rows)), "row": range(rows)})


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_two_writers_and_four_readers_of_one_name(server: Server, client: Client, name: str, codec: str) -> None:
    client.put(name, _generation(0), codec=codec)
    writing = threading.Event()
    writing.set()

    def write(first: int) -> None:
        with server.client() as own:
            for mark in range(first, first + PUTS_EACH):
                own.put(name, _generation(mark), codec=codec)

    def read() -> set[int]:
        seen: set[int] = set()
        with server.client() as own:
            while writing.is_set() or not seen:
                got = own.get(name)
                marks = pc.unique(got["mark"]).to_pylist()
                assert len(marks) == 1, f"a read gave rows of the generations {marks}"
                assert got.equals(_generation(marks[0]))
                seen.update(marks)
        return seen

    with ThreadPoolExecutor(6) as pool:
        readers = [pool.submit(read) for _ in range(4)]
        writers = [pool.submit(write, 1 + PUTS_EACH * i) for i in range(2)]
        try:
            for w in writers:
                w.result()
        finally:
            writing.clear()
        seen = set().union(*(r.result() for r in readers))
    assert len(seen) > 1, "no reader met a replacement: the test raced nothing"
    assert pc.unique(client.get(name)["mark"]).to_pylist() in [[PUTS_EACH], [2 * PUTS_EACH]]


def test_a_pinned_generation_outlives_its_replacement_in_a_running_read(client: Client, name: str) -> None:
    old = tables.table("flat", 300_000)
    client.put(name, old, codec="none")
    reader = client.flight.do_get(fl.Ticket(name.encode()))
    first = reader.read_chunk().data
    client.put(name, _generation(1))
    rest = [chunk.data for chunk in reader]
    assert pa.Table.from_batches([first, *rest]).equals(old)
    assert client.get(name).equals(_generation(1))


_HALF_A_PUT = """
import sys, time
import pyarrow.flight as fl
import tables
address, command = sys.argv[1:]
batches = list(tables.batches("flat", 200_000))
writer, _ = fl.connect(address).do_put(fl.FlightDescriptor.for_command(command), batches[0].schema)
for batch in batches:
    writer.write_batch(batch)
print("half", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("mode", ["replace", "append", "create"])
def test_kill_of_a_client_amid_a_put_leaves_no_trace(server: Server, client: Client, name: str, mode: str) -> None:
    before = tables.table("flat", 1000)
    if mode != "create":
        client.put(name, before)
    charge, names = client.charged(), client.names()
    command = f'{{"dataset": "{name}", "mode": "{mode}", "codec": "none"}}'
    writer = subprocess.Popen(
        [sys.executable, "-c", _HALF_A_PUT, server.address, command],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(tables.__file__).parent)},
    )
    try:
        assert writer.stdout.readline() == b"half\n"
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
    assert client.settled_charge(charge) == charge
    assert client.names() == names
    if mode == "create":
        with pytest.raises(KeyError, match=name):
            client.info(name)
        client.put(name, before, mode="create")
    assert client.get(name).equals(before)


def test_dropping_returns_every_byte(client: Client, name: str) -> None:
    charge = client.charged()
    for codec in ["none", "lz4", "zstd"]:
        facts = client.put(name, tables.table("nested", 100_000), codec=codec)
        assert client.settled_charge(charge + facts["stored_bytes"]) >= charge + facts["stored_bytes"]
    client.drop(name)
    assert client.settled_charge(charge) == charge
    with pytest.raises(KeyError, match=name):
        client.get(name)
