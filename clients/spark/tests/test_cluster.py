"""A cluster of processes: tasks that Spark itself runs twice, and tasks that are lost with their executors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster import Cluster
from cluster_jobs import LEASE_SECONDS
from service import ROOT, Client, Server, wait
from test_writes import nothing_staged

NAME = "cluster"
ROWS = 4000


@pytest.fixture(scope="module")
def short() -> Iterator[Server]:
    """A server whose leases end before a lost task is run again, unless they are renewed."""
    with Server("--memory", "512MiB", "--lease", f"{LEASE_SECONDS}s") as running:
        yield running
        assert running.stop() == 0, running.log()


@pytest.fixture
def client(short: Server) -> Iterator[Client]:
    with short.client() as connected:
        yield connected


@pytest.fixture(scope="module")
def outcome(short: Server, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the jobs told, which are in one session: a cluster takes long to start."""
    folder = tmp_path_factory.mktemp("cluster")
    with Cluster(folder) as cluster:
        script = Path(__file__).parent / "cluster_jobs.py"
        run = subprocess.run(
            [sys.executable, str(script), cluster.master, short.address, NAME, str(folder)],
            env={**os.environ, "PYTHONPATH": str(ROOT / "integration")},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads(run.stdout)


def assert_a_later_attempt(outcome: dict[str, Any], job: int) -> None:
    """Of a job's attempts some were killed, and others, that came later, did their work."""
    killed, passed = outcome["killed"][job], outcome["passed"][job]
    assert killed, outcome
    assert passed, outcome
    assert max(killed) < min(passed), outcome


def test_a_duplicate_that_spark_starts_changes_nothing(outcome: dict[str, Any], client: Client) -> None:
    """The second attempt of a task overtakes the first in the midst of its put; then both go on to the end."""
    assert outcome["waits"] == ["0"]
    assert "1" in outcome["done"]
    assert client.get(f"{NAME}/duplicated")["id"].to_pylist() == list(range(ROWS))
    wait(lambda: nothing_staged(client))


def test_a_write_whose_executor_is_lost(outcome: dict[str, Any], client: Client) -> None:
    assert_a_later_attempt(outcome, 0)
    assert client.get(f"{NAME}/lost")["id"].to_pylist() == list(range(ROWS))
    wait(lambda: nothing_staged(client))


def test_a_retry_reads_the_generation_that_was_planned(outcome: dict[str, Any], client: Client) -> None:
    """The dataset is replaced while the job runs, and then a task loses its executor."""
    assert_a_later_attempt(outcome, 1)
    assert outcome["read"] == [[i, 1] for i in range(ROWS)]
    assert client.get(f"{NAME}/read")["g"].unique().to_pylist() == [2]
