"""A small disk that fills during durable puts: what was acknowledged stays, and puts work again when there is space."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from service import Client, Server

MIB = 1 << 20
FULL = "no space"


class SmallDisk:
    """A file system of its own, in memory and of a bounded size, that lives as long as the process that mounted it."""

    def __init__(self, mount: Path, size: int) -> None:
        mount.mkdir()
        script = f"mount -t tmpfs -o size={size} tmpfs {mount} && echo mounted && exec sleep infinity"
        self._holder = subprocess.Popen(
            ["unshare", "--map-root-user", "--mount", "sh", "-c", script], stdout=subprocess.PIPE, text=True
        )
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline() == "mounted\n"
        self.mount = mount
        self.seen = Path(f"/proc/{self._holder.pid}/root{mount}")  # as it looks from here
        self.within = ("nsenter", f"--target={self._holder.pid}", "--user", "--mount", "--preserve-credentials")

    def close(self) -> None:
        self._holder.send_signal(signal.SIGKILL)
        self._holder.wait()
        assert self._holder.stdout is not None
        self._holder.stdout.close()

    def fill(self, name: str) -> Path:
        """Takes all space that is left."""
        path = self.seen / name
        with contextlib.suppress(OSError), path.open("wb", buffering=0) as f:
            while f.write(bytes(4096)):
                pass
        return path

    def server(self, *flags: str) -> Server:
        return Server("--data-dir", str(self.mount / "data"), *flags, within=self.within)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    small = SmallDisk(tmp_path / "disk", 24 * MIB)
    yield small
    small.close()


def _data(mark: int, mib: float = 1) -> pa.Table:
    """Rows that do not compress; what they are follows from the mark."""
    values = np.random.default_rng(mark).integers(0, 1 << 62, int(mib * MIB) // 8)
    return pa.table({"value": values})


def _put_until_full(client: Client, marks: Iterator[int], kept: dict[str, int]) -> None:
    """Puts durable datasets until there is no space. Those that were acknowledged go into kept."""
    for mark in marks:
        try:
            client.put(f"d{mark}", _data(mark), codec="none", durable=True)
        except pa.ArrowException as e:
            if FULL in str(e):
                return
            raise
        kept[f"d{mark}"] = mark
        assert len(kept) < 40, "the disk does not fill"


def _all_right(client: Client, kept: dict[str, int]) -> None:
    assert client.names() == sorted(kept)
    for name, mark in kept.items():
        assert client.get(name).equals(_data(mark)), name


@pytest.mark.parametrize("eviction", ["reject", "drop", "spill"])
def test_the_disk_fills_during_durable_puts(disk: SmallDisk, eviction: str) -> None:
    marks = iter(range(1000))
    kept: dict[str, int] = {}
    flags = ("--eviction", eviction)
    with disk.server(*flags) as server, server.client() as client:
        _put_until_full(client, marks, kept)
        assert len(kept) > 10
        disk.fill("filler")
        # Nothing that is there is lost by what fails: an append, a replacement, a pin.
        for mode in ("append", "replace"):
            with pytest.raises(pa.ArrowException, match=FULL):
                client.put("d0", _data(999), mode=mode, codec="none", durable=True)
        _all_right(client, kept)
        # Volatile datasets do without the disk.
        client.put("volatile", _data(998), codec="none", durable=False)
        client.drop("volatile")
        client.close()
        server.kill()
    with disk.server(*flags) as server, server.client() as client:  # on the full disk
        _all_right(client, kept)
        # A drop works on a full disk, and makes space.
        for name in ("d0", "d1", "d2"):
            client.drop(name)
            del kept[name]
        client.put("d500", _data(500), codec="none", durable=True)
        kept["d500"] = 500
        _put_until_full(client, marks, kept)
        _all_right(client, kept)
        (disk.seen / "filler").unlink()
        client.put("d501", _data(501, 0.001), codec="none", durable=True)
        client.drop("d501")
        client.close()
        server.kill()
    with disk.server(*flags) as server, server.client() as client:
        _all_right(client, kept)
        for name in client.names():
            client.drop(name)
        assert list((disk.seen / "data" / "segments").iterdir()) == []
        client.close()
        assert server.stop() == 0, server.log()


def test_many_puts_while_the_disk_fills_and_empties(disk: SmallDisk) -> None:
    """Writers at once, on a disk that is full at times: each put is acknowledged and kept, or leaves nothing."""
    kept: dict[str, int] = {}
    failures: list[BaseException] = []
    full = threading.Event()
    over = threading.Event()

    def write(server: Server, worker: int) -> None:
        name, n = f"w{worker}", 0
        with server.client() as client:
            while not over.is_set():
                n += 1
                mark = 1000 * worker + n
                try:
                    client.put(name, _data(mark), codec="none")
                except pa.ArrowException as e:
                    if FULL not in str(e):
                        failures.append(e)
                        return
                    full.set()
                else:
                    kept[name] = mark

    with disk.server("--durable") as server:
        threads = [threading.Thread(target=write, args=(server, i)) for i in range(4)]
        for t in threads:
            t.start()
        for i in range(5):
            filler = disk.fill(f"filler{i}")
            full.clear()
            assert full.wait(30), "no put met the full disk"
            filler.unlink()
        over.set()
        for t in threads:
            t.join(60)
        assert not failures
        with server.client() as client:
            _all_right(client, kept)
        server.kill()
    with disk.server("--durable") as server, server.client() as client:
        _all_right(client, kept)
