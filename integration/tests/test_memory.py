"""The memory budget: it holds whatever clients do, puts wait for room and are told why there is none, and everything
comes back."""

from __future__ import annotations

import contextlib
import json
import random
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.flight as fl
import pytest

from service import Client, Server, command_of

MIB = 1 << 20
BUDGET = 256 * MIB
CODECS = ("none", "lz4", "zstd")
SECONDS = 15

# What the process may have beside what is charged: free memory that is kept for reuse, the transport's buffers of every
# connection, the workers' output, and Go's own.
BESIDE = 320 * MIB


def _batches(rng: np.random.Generator, mib: int, rows: int = 65_536) -> list[pa.RecordBatch]:
    """About so many MiB, of 16 bytes a row that half compress; in every row, check is a function of n."""
    out = []
    for _ in range(max(1, mib * MIB // (16 * rows))):
        n = rng.integers(0, 1 << 32, rows)
        out.append(pa.record_batch({"n": n, "check": n * 3 + 1}))
    return out


def _right(data: pa.Table) -> bool:
    return pc.all(pc.equal(pc.add(pc.multiply(data["n"], 3), 1), data["check"])).as_py() is not False


@contextlib.contextmanager
def _limited(*flags: str) -> Iterator[tuple[Server, Client]]:
    with Server("--memory", str(BUDGET), *flags) as server, server.client() as client:
        yield server, client
        for name in client.names():
            client.drop(name)
        assert client.settled_charge(0, 60) == 0
        client.close()
        assert server.stop() == 0, server.log()


def test_a_put_without_room_says_what_holds_the_memory() -> None:
    rng = np.random.default_rng(1)
    with _limited("--put-wait", "300ms") as (_, client):
        data = _batches(rng, 150)
        client.put_batches("kept", data[0].schema, data, codec="none")
        client.action("pin", dataset="kept")
        data = _batches(rng, 120)
        with pytest.raises(Exception, match=r'"more".*memory budget.*datasets \d+ \(pinned 15\d+\).*--memory'):
            client.put_batches("more", data[0].schema, data, codec="none")
        assert client.names() == ["kept"]
        stats = client.stats()
        assert stats["budget_bytes"] == BUDGET
        assert 150 * MIB <= stats["pinned_bytes"] <= stats["charged_bytes"] < 160 * MIB
        assert client.settled_charge(stats["charged_bytes"]) == stats["charged_bytes"]
        assert _right(client.get("kept"))


def test_a_put_waits_for_a_drop() -> None:
    rng = np.random.default_rng(2)
    with _limited("--put-wait", "60s") as (server, client):
        first, second = _batches(rng, 150), _batches(rng, 120)
        client.put_batches("first", first[0].schema, first, codec="none")

        def drop_when_it_waits() -> None:
            with server.client() as other:
                staged = -1
                while (now := other.stats()["staged_bytes"]) != staged or now == 0:
                    staged = now
                    time.sleep(0.2)
                other.drop("first")

        dropping = threading.Thread(target=drop_when_it_waits)
        dropping.start()
        facts = client.put_batches("second", second[0].schema, second, codec="none")
        dropping.join()
        assert facts["rows"] == sum(b.num_rows for b in second)
        assert client.names() == ["second"]


def test_the_least_recently_used_go_first() -> None:
    rng = np.random.default_rng(3)
    with _limited("--eviction", "drop") as (_, client):
        for name in "abcd":
            data = _batches(rng, 50)
            client.put_batches(name, data[0].schema, data, codec="none")
        client.get("a", columns=["n"])
        data = _batches(rng, 50)
        client.put_batches("e", data[0].schema, data, codec="none")
        assert client.names() == ["a", "c", "d", "e"]
        with pytest.raises(KeyError, match=r'"b" was evicted at 20\d\d-.*make room.*put it again'):
            client.get("b")
        assert client.stats()["evictions"] == 1
        assert client.action("evict", dataset="c")["evicted"] is True
        with pytest.raises(KeyError, match="by the action evict"):
            client.get("c")


class _Churn:
    """Clients that do everything at once, until the time is over. Whatever is not a refusal is a failure."""

    def __init__(self, server: Server, seed: int) -> None:
        self.server, self.seed = server, seed
        self.over = threading.Event()
        self.failures: list[str] = []
        self.done: dict[str, int] = {}
        self._threads: list[threading.Thread] = []

    def add(self, what: str, step: Callable[[Client, random.Random, np.random.Generator], None]) -> None:
        rng = random.Random(f"{self.seed} {what} {len(self._threads)}")
        numbers = np.random.default_rng(rng.randrange(1 << 32))

        def run() -> None:
            with self.server.client() as client:
                while not self.over.is_set():
                    try:
                        step(client, rng, numbers)
                    except (KeyError, fl.FlightCancelledError):
                        outcome = f"{what}: gone"
                    except Exception as e:
                        outcome = f"{what}: refused"
                        if "memory budget" not in str(e):
                            self.failures.append(f"{what}: {type(e).__name__}: {e}")
                    else:
                        outcome = what
                    self.done[outcome] = self.done.get(outcome, 0) + 1

        self._threads.append(threading.Thread(target=run))

    def run(self, seconds: float) -> None:
        for t in self._threads:
            t.start()
        time.sleep(seconds)
        self.over.set()
        for t in self._threads:
            t.join(60)
            assert not t.is_alive(), "a call did not end"


def _name(rng: random.Random) -> str:
    return f"d{rng.randrange(6)}"


def _put(client: Client, rng: random.Random, numbers: np.random.Generator) -> None:
    data = _batches(numbers, rng.choice((1, 8, 24, 60)), rng.choice((500, 65_536, 200_000)))
    mode = rng.choice(("replace", "append"))
    client.put_batches(_name(rng), data[0].schema, data, mode=mode, codec=rng.choice(CODECS))


def _cancelled_put(client: Client, rng: random.Random, numbers: np.random.Generator) -> None:
    data = _batches(numbers, 16)
    options = fl.FlightCallOptions(timeout=rng.random())
    with contextlib.suppress(fl.FlightTimedOutError, fl.FlightCancelledError):
        client.put_batches(_name(rng), data[0].schema, data, options, codec=rng.choice(CODECS))


def _get(client: Client, rng: random.Random, _: np.random.Generator) -> None:
    assert _right(client.get(_name(rng), wire=rng.choice(("none", "stored", "zstd"))))


def _slow_get(client: Client, rng: random.Random, _: np.random.Generator) -> None:
    reader = client.flight.do_get(fl.Ticket(command_of(_name(rng), wire=rng.choice(("none", "stored")))))
    for i, chunk in enumerate(reader):
        assert _right(pa.Table.from_batches([chunk.data]))
        time.sleep(0.05)
        if i == 40:
            reader.cancel()
            return


def _drop(client: Client, rng: random.Random, _: np.random.Generator) -> None:
    time.sleep(0.3)
    client.action(rng.choice(("drop", "evict")), dataset=_name(rng))


@pytest.mark.parametrize("eviction", ["reject", "drop"])
def test_the_budget_holds_whatever_clients_do(eviction: str) -> None:
    seed = random.randrange(1 << 32)
    print("seed", seed)
    with _limited("--eviction", eviction, "--put-wait", "2s") as (server, client):
        _put(client, random.Random(0), np.random.default_rng(0))
        for name in client.names():
            client.drop(name)
        before = server.rss_mib()
        churn = _Churn(server, seed)
        for _ in range(3):
            churn.add("put", _put)
            churn.add("get", _get)
        churn.add("cancelled put", _cancelled_put)
        churn.add("slow get", _slow_get)
        churn.add("drop", _drop)
        most = {"charged_bytes": 0, "resident_bytes": 0}

        def poll(poller: Client, *_: object) -> None:
            stats = poller.stats()
            for key in most:
                most[key] = max(most[key], stats[key])
            time.sleep(0.01)

        churn.add("poll", poll)
        churn.run(SECONDS)
        print(json.dumps(churn.done), json.dumps(most), f"{before:.0f} MiB at first")
        assert not churn.failures
        assert all(churn.done.get(what, 0) > 0 for what in ("put", "get", "slow get"))
        assert most["charged_bytes"] <= BUDGET
        assert most["resident_bytes"] <= BUDGET + BESIDE
        for name in client.names():
            client.drop(name)
        assert client.settled_charge(0, 60) == 0
        # Free memory that is kept for reuse is told; the rest is Go's, which gives it back little by little.
        allowed = before + client.stats().get("warm_bytes", 0) / MIB + 160
        deadline = time.monotonic() + 30
        while (after := server.rss_mib()) > allowed and time.monotonic() < deadline:
            time.sleep(0.5)
        print(f"{after:.0f} MiB at last, {allowed:.0f} allowed")
        assert after <= allowed
