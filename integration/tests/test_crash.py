"""kill -9 at random moments of a durable workload: what was acknowledged is there, whole and right, and nothing else.

``FLIGHTCACHE_CRASH_ROUNDS`` says how many crashes (20), ``FLIGHTCACHE_CRASH_SEED`` repeats a run."""

from __future__ import annotations

import os
import random
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from crash import CODECS, Writer, rows_in_files
from service import Client, Server, serve_command, wait

ROUNDS = int(os.environ.get("FLIGHTCACHE_CRASH_ROUNDS", "20"))
SEED = int(os.environ.get("FLIGHTCACHE_CRASH_SEED", "0")) or random.randrange(1 << 32)


def _work(server: Server, writers: list[Writer], seconds: float) -> None:
    """Lets all writers work for a while, and kills the server under them."""
    over = threading.Event()
    threads = [threading.Thread(target=w.run, args=(server, over)) for w in writers]
    for t in threads:
        t.start()
    time.sleep(seconds)
    over.set()
    server.kill()
    for t in threads:
        t.join(60)
        assert not t.is_alive(), "a call did not end with its server"
    for w in writers:
        assert w.failure is None, f"{w.name}: {w.failure!r}"


def _no_orphans(client: Client, segments: Path, compacted: bool) -> None:
    """Every file has batches of datasets: where none was compacted, nothing else."""

    def datasets() -> list[dict[str, Any]]:
        return [client.describe(name) for name in client.names()]

    if not compacted:
        assert rows_in_files(segments) == sum(d["rows"] for d in datasets())
    # What was deferred is being encoded: a plain file goes when the encoded one is there.
    wait(lambda: not any(d["plain_bytes"] for d in datasets()))
    wait(lambda: len(list(segments.iterdir())) <= sum(d["batches"] for d in datasets()))


def _start_and_kill(flags: list[str], seconds: float) -> None:
    """A start that a crash ends."""
    null = subprocess.DEVNULL
    start = subprocess.Popen(serve_command(*flags), stdin=null, stdout=null, stderr=null)
    time.sleep(seconds)
    start.kill()
    start.wait()


@pytest.mark.parametrize("compaction", ["off", "auto"])
def test_every_acknowledged_generation_survives(tmp_path: Path, compaction: str) -> None:
    rng = random.Random(f"{SEED} {compaction}")
    print(f"seed {SEED}")
    segments = tmp_path / "segments"
    compacted = compaction != "off"
    writers = [Writer(f"data/{i}", random.Random(rng.randrange(1 << 32)), compacted) for i in range(4)]
    for crash in range(ROUNDS // 2):
        flags = ["--data-dir", str(tmp_path), "--durable", "--codec", rng.choice(CODECS), "--compact", compaction]
        memory, eviction = rng.choice((("32MiB", "spill"), ("32MiB", "reject"), ("4GiB", "spill"), ("4GiB", "drop")))
        flags += ["--memory", memory, "--eviction", eviction]
        with Server(*flags) as server:
            with server.client() as client:
                expected = {w.name for w in writers if w.check(client) is not None}
                assert set(client.names()) == expected, f"round {crash}"
                _no_orphans(client, segments, compacted)
            _work(server, writers, rng.uniform(0.02, 0.6))
        if rng.random() < 0.3:
            _start_and_kill(flags, rng.uniform(0, 0.06))
    with Server("--data-dir", str(tmp_path), "--compact", "off") as server, server.client() as client:
        for w in writers:
            w.check(client)
        _no_orphans(client, segments, compacted)
        for name in client.names():
            client.drop(name)
        wait(lambda: list(segments.iterdir()) == [])
        client.close()
        assert server.stop() == 0, server.log()
    assert sum(w.operations for w in writers) > ROUNDS
