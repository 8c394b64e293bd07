"""Fixtures: one Spark and one server for all tests."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from service import Client, Server
from sparkling import VERSION, Twins, started

_numbers = itertools.count(1)

collect_ignore = [
    file for file, since in {"test_geometries.py": (4, 2), "test_nanos.py": (4, 3)}.items() if since > VERSION
]
"""Tests of types that this Spark does not have."""


def pytest_configure(config: pytest.Config) -> None:
    """Older versions of Spark's Python leave their sockets open."""
    if VERSION < (4, 3):
        config.addinivalue_line("filterwarnings", "ignore::pytest.PytestUnraisableExceptionWarning")
        config.addinivalue_line("filterwarnings", "ignore::ResourceWarning")


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with Server("--memory", "2GiB") as running:
        yield running
        assert running.stop() == 0, running.log()


@pytest.fixture(scope="session")
def spark(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A task that fails is tried again, up to four times. The catalog ``fc`` is the server's datasets."""
    session = started("local[2,4]", server.address, tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with server.client() as connected:
        yield connected


@pytest.fixture
def name() -> str:
    """A dataset name that no other test has."""
    return f"spark/{next(_numbers)}"


@pytest.fixture
def twins(spark: SparkSession, server: Server, client: Client, tmp_path: Path) -> Twins:
    return Twins(spark, server.address, client, tmp_path)
