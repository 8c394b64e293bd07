"""How calls end that do not run to their end: cancelled, timed out, abandoned, or cut by the end of the server."""

from __future__ import annotations

import random
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.flight as fl
import pytest

import tables
import wiretool
from service import Client, Server, command_of

MIB = 1 << 20
DATA = tables.table("flat", 300_000, batch_rows=30_000)
SOON = 60
"""Seconds: far more than anything here takes, and far less than a client that is left alone."""


def _goroutines(server: Server) -> int:
    """How many goroutines the server has. It tells them at its end, which this is."""
    server.process.send_signal(signal.SIGQUIT)
    server.process.wait(SOON)
    return len(re.findall(r"^goroutine \d+ ", server.log(), re.MULTILINE))


def _settled(read: Callable[[], float], most: float) -> float:
    """What ``read`` gives once it is at most ``most``, or the time is over."""
    deadline = time.monotonic() + SOON
    while (now := read()) > most and time.monotonic() < deadline:
        time.sleep(0.1)
    return now


def test_1000_cancelled_gets_leave_nothing() -> None:
    """Memory, what is charged, and what runs for them are as before. Some clients vanish with their reads."""
    seed = random.randrange(1 << 32)
    print("seed", seed)
    tickets = [command_of("d", wire=wire) for wire in ("none", "stored", "lz4")]
    server = Server(env={"GOTRACEBACK": "all"})
    try:
        with server.client() as client:
            client.put("d", tables.table("flat", 400_000, batch_rows=8000), codec="zstd", batching="keep")
            charge = client.charged()
            assert wiretool.cancel(server.address, tickets, 80, seed)["cancelled"] == 80
            assert client.settled_charge(charge, SOON) == charge
            before = server.rss_mib()
            assert wiretool.cancel(server.address, tickets, 1000, seed + 1)["cancelled"] == 1000
            assert client.settled_charge(charge, SOON) == charge
            assert client.stats()["in_flight_bytes"] == 0
            # Each held a MiB or two of messages that were decoded for it.
            assert _settled(server.rss_mib, before + 96) <= before + 96
            assert _settled(lambda: client.stats()["transport_bytes"], 32 * MIB) <= 32 * MIB
            assert client.get("d").num_rows == 400_000
        assert _goroutines(server) < 100
    finally:
        server.kill()


def test_a_cancelled_get_of_pyarrow_ends(client: Client, large: int) -> None:
    """The connection stays, and with it nothing of what was cancelled."""
    for n in range(40):
        reader = client.flight.do_get(fl.Ticket(command_of("large", wire=("none", "stored")[n % 2])))
        for _ in range(n % 4):
            reader.read_chunk()
        reader.cancel()
        # Not read_all: pyarrow would take the cancelled call for a signal to the process.
        with pytest.raises(fl.FlightCancelledError):
            list(reader)
    assert client.settled_charge(large, SOON) == large
    assert client.stats()["in_flight_bytes"] == 0


@pytest.fixture(scope="module")
def large(server: Server) -> Iterator[int]:
    """A dataset of that name that takes much longer to read than the timeouts here; what it is charged."""
    with server.client() as client:
        for _ in range(16):
            client.put("large", DATA, mode="append", batching="keep", codec="zstd")
        yield client.charged()
        client.drop("large")


TIMED_OUT: dict[str, Callable[[Client, fl.FlightCallOptions], object]] = {
    "a get that reads slowly": lambda c, o: [
        time.sleep(0.1) for _ in c.flight.do_get(fl.Ticket(command_of("large", wire="none")), o)
    ],
    "a put that stands still": lambda c, o: c.put_batches("new", DATA.schema, _slowly(), o),
}


def _slowly() -> Iterator[pa.RecordBatch]:
    for batch in DATA.to_batches():
        time.sleep(0.3)
        yield batch


@pytest.mark.parametrize("what", TIMED_OUT)
def test_a_timeout_is_a_timeout(client: Client, large: int, what: str) -> None:
    """It ends the call, on both sides, and has a code of its own."""
    began = time.monotonic()
    with pytest.raises(fl.FlightTimedOutError):
        TIMED_OUT[what](client, fl.FlightCallOptions(timeout=1))
    assert time.monotonic() - began < SOON
    assert client.settled_charge(large, SOON) == large
    assert client.names() == ["large"]


def test_a_put_that_waits_for_memory_times_out() -> None:
    with Server("--memory", "64MiB", "--put-wait", "600s") as server, server.client() as client:
        data = tables.table("flat", 500_000)
        client.put("kept", data, codec="none")
        charge = client.charged()
        with pytest.raises(fl.FlightTimedOutError):
            client.put("new", data, fl.FlightCallOptions(timeout=2), codec="none")
        assert client.settled_charge(charge, SOON) == charge
        assert client.names() == ["kept"]


def _connections(server: Server) -> set[str]:
    """The local ports of this process's connections to the server."""
    port = f":{int(server.address.rpartition(':')[2]):04X}"
    tables = "".join(Path("/proc/self/net", name).read_text() for name in ("tcp", "tcp6"))
    lines = [line.split() for line in tables.splitlines() if ":" in line]
    return {local for _, local, remote, state, *_ in lines if remote.endswith(port) and state == "01"}


@pytest.mark.usefixtures("large")
def test_connections_that_clients_keep_alive_stay(server: Server) -> None:
    """Pings every 1.5 s, where the server's library would take one every five minutes: without any call, and through a
    read that stands still for longer than five of them."""
    options = [
        ("grpc.keepalive_time_ms", 1500),
        ("grpc.keepalive_timeout_ms", 20_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.use_local_subchannel_pool", 1),
    ]
    others = _connections(server)
    with (
        fl.connect(server.address, generic_options=options) as reading,
        fl.connect(server.address, generic_options=options) as idle,
    ):
        reader = reading.do_get(fl.Ticket(b"large"))
        rows = reader.read_chunk().data.num_rows
        assert len(list(idle.list_flights())) == 1
        before = _connections(server) - others
        assert len(before) == 2
        time.sleep(9)
        rows += sum(chunk.data.num_rows for chunk in reader)
        assert rows == 16 * DATA.num_rows
        assert len(list(idle.list_flights())) == 1
        assert before <= _connections(server)


def _stop(server: Server) -> tuple[int, float]:
    """SIGTERM: the exit code, and the seconds until then."""
    began = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    return server.process.wait(SOON), time.monotonic() - began


def test_a_stream_that_nobody_reads_does_not_keep_the_server(tmp_path: Path) -> None:
    """Nor does a put that never ends. What is durable is there again."""
    with Server("--data-dir", str(tmp_path), "--durable", "--drain", "1s") as server, server.client() as client:
        client.put("d", DATA, codec="none")
        assert client.describe("d")["stored_bytes"] > 16 * MIB
        reader = client.flight.do_get(fl.Ticket(b"d"))
        assert reader.read_chunk().data.num_rows > 0
        writer, _ = client.flight.do_put(fl.FlightDescriptor.for_path("half"), DATA.schema)
        writer.write_batch(DATA.to_batches()[0])
        code, seconds = _stop(server)
        assert code == 1
        assert 1 <= seconds < 30
        assert "before every call had ended" in server.log()
        with pytest.raises((pa.ArrowException, fl.FlightError)):
            list(reader)
        with pytest.raises((pa.ArrowException, fl.FlightError)):
            writer.close()
    with Server("--data-dir", str(tmp_path), "--durable") as server, server.client() as client:
        assert client.names() == ["d"]
        assert client.get("d").equals(DATA)


def test_calls_that_go_on_end_well_while_the_server_stops() -> None:
    """A slow read gets its last row, a slow put its answer; who comes anew is told that the server goes."""
    with Server("--drain", "60s") as server, server.client() as client:
        client.put("d", DATA, codec="none")
        reader = client.flight.do_get(fl.Ticket(b"d"))
        first = reader.read_chunk().data
        writer, answer = client.flight.do_put(fl.FlightDescriptor.for_path("late"), DATA.schema)
        writer.write_batch(DATA.to_batches()[0])
        stopped: list[tuple[int, float]] = []
        stopping = threading.Thread(target=lambda: stopped.append(_stop(server)))
        stopping.start()
        while "stopping" not in server.log():
            time.sleep(0.01)
        with pytest.raises(fl.FlightUnavailableError), server.client() as anew:
            anew.names()
        batches = [first]
        for chunk in reader:
            batches.append(chunk.data)
            time.sleep(0.02)
        assert pa.Table.from_batches(batches).equals(DATA)
        for batch in DATA.to_batches()[1:]:
            writer.write_batch(batch)
        writer.done_writing()
        assert answer.read() is not None
        writer.close()
        stopping.join(SOON)
        assert stopped[0][0] == 0, server.log()


def test_a_second_signal_does_not_wait() -> None:
    with Server("--drain", "600s") as server, server.client() as client:
        client.put("d", DATA, codec="none")
        reader = client.flight.do_get(fl.Ticket(b"d"))
        assert reader.read_chunk().data.num_rows > 0
        server.process.send_signal(signal.SIGTERM)
        while "stopping" not in server.log():
            time.sleep(0.01)
        code, _ = _stop(server)
        assert code == 1
