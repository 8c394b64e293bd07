"""Clients that are broken, or mean harm: a client that behaves is answered throughout, and afterwards nothing is left.

``FLIGHTCACHE_NOISE_SECONDS`` says for how long noise is sent (6).
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import socket
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pyarrow.flight as fl
import pytest
from test_identity import Site

import tables
import wiretool
from service import Client, Server, command_of, wait

MIB = 1 << 20
SOON = 60
"""Seconds: far more than anything here takes."""
NOISE_SECONDS = float(os.environ.get("FLIGHTCACHE_NOISE_SECONDS", "6"))
FLAGS = ("--lease", "1s", "--put-idle", "2s", "--get-idle", "2s", "--memory", "1GiB", "--http", "127.0.0.1:0")
TICKET = command_of("d", wire="none")


class Watched:
    """A server with a dataset, and what it takes while nobody does anything."""

    def __init__(self, server: Server, client: Client, login: Mapping[str, str] | None = None) -> None:
        self.server = server
        self.login = login
        self.client = client
        client.put("d", tables.table("flat", 200_000, batch_rows=10_000), codec="zstd", batching="keep")
        self._forget_probes()
        self.charge = client.charged()
        self.before = self.taken()

    def _forget_probes(self) -> None:
        """Drops what the client that behaves has put, and waits for its leases."""
        for name in self.client.names("probe/"):
            self.client.drop(name)
        wait(lambda: self.client.stats()["leases"] == 0)

    def taken(self) -> dict[str, int]:
        """What it takes now."""
        stats = self.client.stats()
        descriptors = len(os.listdir(f"/proc/{self.server.pid}/fd"))
        return {key: stats[key] for key in ("goroutines", "resident_bytes", "in_flight_bytes")} | {"files": descriptors}

    def settles(self) -> None:
        """Waits until it takes no more than before, and checks that the dataset is all that is kept."""

        def back() -> bool:
            now = self.taken()
            return (
                now["goroutines"] <= self.before["goroutines"] + 10
                and now["files"] <= self.before["files"] + 5
                and now["in_flight_bytes"] == 0
                and now["resident_bytes"] <= self.before["resident_bytes"] + 96 * MIB
            )

        try:
            wait(back, SOON)
        except AssertionError as e:
            raise AssertionError(f"{self.taken()} are left, of {self.before}") from e
        self._forget_probes()
        assert self.client.names() == ["d"]
        assert self.client.settled_charge(self.charge, SOON) == self.charge
        assert self.client.get("d").num_rows == 200_000


@pytest.fixture(scope="module")
def watched() -> Iterator[Watched]:
    with Server(*FLAGS) as server, server.client() as client:
        # What the first of all calls leaves behind in pools and the like is not of interest.
        wiretool.probe(server.address).end()
        yield Watched(server, client)
        assert "panic" not in server.log()
        assert server.stop() == 0


@contextlib.contextmanager
def answered(watched: Watched, what: str) -> Iterator[None]:
    """A client that behaves calls throughout the block, and is answered."""
    probe = wiretool.probe(watched.server.address, watched.login)
    try:
        yield
    finally:
        report = probe.end()
    print(
        f"{what}: {report['calls']} calls, p50 {report['p50']} ms, p99 {report['p99']} ms, longest {report['max']} ms"
    )
    assert not report["failed"], report
    assert report["calls"] >= 30


def test_10000_connections_opened_and_left(watched: Watched) -> None:
    """One half of them says nothing, the other greets and does nothing more."""
    count = min(10_000, resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 1000)
    with answered(watched, f"{count} connections"):
        clients = wiretool.hostile(watched.server.address, "open", count)
        assert clients.report() == {"open": count, "refused": 0, "bytes": 0}
        wait(lambda: watched.taken()["files"] > count, SOON)
        time.sleep(2)  # they are there, and nothing more
        clients.end()
    watched.settles()


def test_1000_gets_cancelled(watched: Watched) -> None:
    seed = random.randrange(1 << 32)
    print("seed", seed)
    tickets = [command_of("d", wire=wire) for wire in ("none", "stored", "lz4")]
    with answered(watched, "1,000 gets that are cancelled"):
        assert wiretool.cancel(watched.server.address, tickets, 1000, seed)["cancelled"] > 500
    watched.settles()


def _counted(server: Server, series: str) -> float:
    """A metric: of calls that fail in numbers the log has not each."""
    with urllib.request.urlopen(f"http://{server.http}/metrics", timeout=SOON) as page:
        lines = page.read().decode().splitlines()
    return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(series + " ")), 0)


def _ended(watched: Watched, rpc: str, count: int = 200) -> Callable[[], bool]:
    """Whether so many more calls have ended for standing still than had before."""
    series = f'flightcache_calls_total{{code="DeadlineExceeded",method="{rpc}"}}'
    before = _counted(watched.server, series)
    return lambda: _counted(watched.server, series) >= before + count


def test_200_readers_that_stop_reading(watched: Watched) -> None:
    """They end by the server's own time, and their connections too: they are all still there."""
    ended = _ended(watched, "DoGet")
    with answered(watched, "200 stalled reads"):
        readers = wiretool.hostile(watched.server.address, "get", 200, TICKET)
        assert readers.report()["open"] == 200
        wait(ended, SOON)
    assert "--get-idle" in watched.server.log()
    watched.settles()
    readers.end()


def test_200_puts_that_stall(watched: Watched) -> None:
    """Some amid a message. They end by the server's own time, and their connections may go on."""
    ended = _ended(watched, "DoPut")
    with answered(watched, "200 stalled puts"):
        writers = wiretool.hostile(watched.server.address, "put", 200)
        assert writers.report()["open"] == 200
        wait(ended, SOON)
        assert not watched.client.names("stalled/")
        writers.end()
    assert "--put-idle" in watched.server.log()
    watched.settles()


def test_noise(watched: Watched) -> None:
    """Random bytes: as they are, after a greeting, and as frames."""
    seed = random.randrange(1 << 32)
    print("seed", seed)
    with answered(watched, "noise"):
        noise = wiretool.hostile(watched.server.address, "noise", 8, seed=seed)
        noise.report()
        with pytest.raises(AssertionError, match="in vain"):
            wait(lambda: watched.server.process.poll() is not None, NOISE_SECONDS)
        assert noise.end()["bytes"] > MIB
    watched.settles()


class _Token(fl.ClientMiddlewareFactory, fl.ClientMiddleware):
    """Shows a token with every call."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._headers = {"authorization": f"Bearer {token}"}

    def start_call(self, info: fl.CallInfo) -> _Token:
        return self

    def sending_headers(self) -> dict[str, str]:
        return self._headers


def test_all_of_it_through_tls_by_clients_that_log_in(tmp_path: Path) -> None:
    """The same with certificates, tokens and permissions: less of each, at once, and noise before and within TLS."""
    site = Site(tmp_path)
    seed = random.randrange(1 << 32)
    print("seed", seed)
    login = wiretool.login(site.authority.path("ca.pem"), site.token)
    options = {**site.authority.roots(), "middleware": [_Token(site.token)]}
    with site.server(flags=FLAGS) as server, Client(server.address, **options) as client:
        wiretool.probe(server.address, login).end()
        watched = Watched(server, client, login)
        reads, puts = _ended(watched, "DoGet", 40), _ended(watched, "DoPut", 40)
        with answered(watched, "all at once, through TLS"):
            silent = wiretool.hostile(server.address, "open", 400, login=login)
            noise = wiretool.hostile(server.address, "noise", 4, seed=seed, login=login)
            readers = wiretool.hostile(server.address, "get", 40, TICKET, login=login)
            writers = wiretool.hostile(server.address, "put", 40, login=login)
            strangers = wiretool.hostile(server.address, "put", 40, login={**login, "WIRE_TOKEN": "unknown"})
            for clients, count in ((silent, 400), (noise, 4), (readers, 40), (writers, 40), (strangers, 40)):
                assert clients.report()["open"] == count
            assert wiretool.cancel(server.address, [TICKET], 200, seed, login)["cancelled"] > 100
            wait(lambda: reads() and puts(), SOON)
            assert not client.names("stalled/")
            assert noise.end()["bytes"] > MIB // 16
            for clients in (silent, writers, strangers):
                clients.end()
        watched.settles()
        readers.end()
        assert "panic" not in server.log()
        assert "an unknown token" in server.log()
        assert _counted(server, 'flightcache_calls_denied_total{reason="login"}') >= 40
        assert server.stop() == 0


def test_sigterm_amid_a_stalled_read_a_put_and_silent_connections(tmp_path: Path) -> None:
    """The server is gone within its time, and what is there again is whole."""
    data = tables.table("flat", 200_000, batch_rows=10_000)
    durable = ("--data-dir", str(tmp_path), "--durable")
    with Server(*durable, "--drain", "2s") as server, server.client() as client:
        client.put("d", data, codec="zstd", batching="keep")
        silent = [socket.create_connection(server.address.removeprefix("grpc://").split(":")) for _ in range(3)]
        readers = wiretool.hostile(server.address, "get", 10, TICKET)
        writers = wiretool.hostile(server.address, "put", 10)
        assert readers.report()["open"] == writers.report()["open"] == 10
        assert wiretool.probe(server.address).end()["failed"] is None
        wait(lambda: client.stats()["in_flight_bytes"] > 0)
        begin = time.monotonic()
        assert server.stop() == 1
        # The drain time, and for ending what is left then far more than that takes.
        assert 2 <= time.monotonic() - begin < 12
        readers.end(), writers.end()
        for connection in silent:
            connection.close()
    with Server(*durable) as server, server.client() as client:
        assert client.names() == ["d", "probe/0"]
        assert client.get("d").equals(data)


def test_silent_connections_do_not_keep_the_server() -> None:
    """It would wait 20 s for them, whatever --drain says."""
    with Server("--drain", "600s") as server:
        silent = [socket.create_connection(server.address.removeprefix("grpc://").split(":")) for _ in range(3)]
        with server.client() as client:
            wait(lambda: client.stats()["goroutines"] > 0)
        assert server.stop() == 0  # within service.STOP_SECONDS, or it fails
        for connection in silent:
            connection.close()
