"""Fixtures: servers that end with the tests that use them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from service import Client, Server

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One server for the tests of a module. It must end cleanly when asked to."""
    with Server() as running:
        yield running
        assert running.stop() == 0, running.log()


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with server.client() as connected:
        yield connected


@pytest.fixture
def name() -> str:
    """A dataset name that no other test has."""
    return f"test/{next(_numbers)}"
