"""Fixtures: the built server, a client of this package, and what the server has counted."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator

import pytest

import flightcache
from service import Server, wait

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """One server for all tests but those that end theirs. It must end cleanly when asked to."""
    with Server("--memory", "2GiB") as running:
        yield running
        assert running.stop() == 0, running.log()


@pytest.fixture
def client(server: Server) -> Iterator[flightcache.Client]:
    with flightcache.connect(server.address) as connected:
        yield connected


@pytest.fixture
def name() -> str:
    """A dataset name that no other test has."""
    return f"test/{next(_numbers)}"


@contextlib.contextmanager
def counted(client: flightcache.Client, name: str | None = None) -> Iterator[dict[str, int]]:
    """A dict that holds, after the block, how much each number of server_stats grew within it."""
    before = client.server_stats(name)
    grown: dict[str, int] = {}
    yield grown
    after = client.server_stats(name)
    grown.update({k: v - before[k] for k, v in after.items() if isinstance(v, int)})


def nothing_left(client: flightcache.Client, between: Callable[[], object] = lambda: None) -> None:
    """Waits until the server holds nothing for readers, putters and leases; calls ``between`` before each look."""

    def quiet() -> bool:
        between()
        stats = client.server_stats()
        return not any(stats[k] for k in ("in_flight_bytes", "staged_bytes", "leases", "transactions"))

    wait(quiet)
