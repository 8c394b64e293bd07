"""Puts, reads, drops, appends, slow readers, cancels and all else at once, under a small budget, and what must hold all
the while: charged bytes within the budget, the process near them, every row as it was put, and at the end nothing left.

    churn.py --seconds 600 --memory 512MiB --eviction reject

Each worker is a process of its own with datasets of its own, of which it knows every row; a few datasets are
everybody's. Everything in a row follows from its mark, so who reads it knows whether it is right. The seed is printed,
and decides what each worker does, though not how it meets the others.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.flight as fl

from service import Client, Server, command_of

MIB = 1 << 20
CODECS = ("none", "lz4", "zstd")
KINDS = ("numbers", "words", "categories")
# What the process may have beside 1.15 times its budget and what the transport reports.
BESIDE = 96 * MIB
# Rows of one batch, and about the bytes of one plain row.
BATCH_ROWS = 20_000
ROW_BYTES = 40


def size_of(text: str) -> int:
    for unit, factor in (("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)):
        if text.endswith(unit):
            return int(text.removesuffix(unit)) * factor
    return int(text)


# Rows


def part(kind: str, mark: int, rows: int) -> pa.Table:
    """The rows of a mark. How many there are is in the rows themselves."""
    rng = np.random.default_rng(mark)
    columns: dict[str, Any] = {
        "mark": pa.array(np.full(rows, mark)),
        "rows": pa.array(np.full(rows, rows, np.int32)),
        "row": pa.array(np.arange(rows, dtype=np.int32)),
        "noise": pa.array(rng.random(rows), mask=rng.random(rows) < 0.1),
    }
    match kind:
        case "words":
            lengths = rng.integers(0, 30, rows)
            ends = np.cumsum(lengths)
            letters = rng.integers(97, 123, int(ends[-1]) if rows else 0, dtype=np.uint8).tobytes().decode()
            columns["word"] = pa.array([letters[e - n : e] for e, n in zip(ends, lengths, strict=True)], pa.string())
        case "categories":
            names = pa.array([f"{mark % 7}/{i}" for i in range(50)])
            columns["category"] = pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, 50, rows, np.int32)), names)
        case _:
            columns["small"] = pa.array(rng.integers(0, 1000, rows))
            columns["large"] = pa.array(rng.integers(0, 1 << 60, rows))
    return pa.table(columns)


class WrongError(AssertionError):
    """What was read is not what was put."""


def check(kind: str, data: pa.Table, marks: list[int] | None) -> None:
    """All rows must be those of whole parts, and, where it is known, of these parts in this order."""
    data = data.combine_chunks()
    found, at = [], 0
    while at < data.num_rows:
        mark, rows = data["mark"][at].as_py(), data["rows"][at].as_py()
        want, got = part(kind, mark, rows), data.slice(at, rows)
        if kind == "categories":
            column = want.schema.get_field_index("category")
            want = want.set_column(column, "category", want["category"].cast(pa.string()))
            got = got.set_column(column, "category", got["category"].cast(pa.string()))
        if not got.equals(want):
            raise WrongError(f"the {rows} rows of mark {mark} are not what was put")
        found.append(mark)
        at += rows
    if marks is not None and found != marks:
        raise WrongError(f"the parts are {found}, and should be {marks}")


# Workers

# What may become of a call when memory is short, datasets come and go, and clients break off, as pyarrow words it.
EXPECTED = (
    "exhausted",
    "out of memory",
    "no such dataset",
    "generation is gone",
    "lease has ended",
    "dataset changed",
    "no such transaction",
    "deadline",
    "timed out",
    "cancel",
    "is pinned",
)


@dataclass
class Kept:
    """A dataset of the worker's own. ``marks`` is None where an answer did not come: either state may be there."""

    kind: str
    marks: list[int] | None = field(default_factory=list)
    size: int = 0
    pinned: bool = False


class Worker:
    def __init__(self, number: int, address: str, seed: int, eviction: str, data: int) -> None:
        self.number, self.address, self.eviction, self.data = number, address, eviction, data
        self.random = random.Random(seed * 1000 + number)
        self.client = Client(address)
        self.kept: dict[str, Kept] = {}
        self.count: Counter[str] = Counter()
        self.next = number << 40

    def mark(self) -> int:
        self.next += 1
        return self.next

    def rows(self) -> int:
        most = max(self.data // 20 // ROW_BYTES, 10_000)
        return self.random.choice((0, 1, 10, 1000, 10_000, most // 10, most // 3, most))

    def own(self) -> str | None:
        return self.random.choice(sorted(self.kept)) if self.kept else None

    def keys(self) -> dict[str, Any]:
        keys: dict[str, Any] = {"codec": self.random.choice(CODECS)}
        if self.random.random() < 0.2:
            keys["batching"] = "keep"
        return keys

    def batches(self, table: pa.Table) -> list[pa.RecordBatch]:
        return table.to_batches(max_chunksize=self.random.choice((500, BATCH_ROWS, 10 * BATCH_ROWS, 1 << 30)))

    def write(self, name: str, kind: str, mark: int, rows: int, pause: float = 0, seconds: float = 120, **keys: Any):
        table = part(kind, mark, rows)
        descriptor = fl.FlightDescriptor.for_command(command_of(name, **self.keys(), **keys))
        writer, results = self.client.flight.do_put(descriptor, table.schema, fl.FlightCallOptions(timeout=seconds))
        try:
            for batch in self.batches(table):
                writer.write_batch(batch)
                if pause:
                    time.sleep(pause)
            writer.done_writing()
            answer = results.read()
        finally:
            writer.close()
        self.count["bytes put"] += table.nbytes
        return json.loads(answer.to_pybytes())

    # What a worker does. Each may fail as EXPECTED says.

    def replace(self, mode: str = "replace", **how: Any) -> None:
        full = sum(k.size for k in self.kept.values()) > self.data
        name = self.own() if full or self.random.random() < 0.4 else None
        name = name or f"own/{self.number}/{self.random.randrange(40)}"
        known = self.kept.get(name) or Kept(KINDS[int(name.rsplit("/")[-1]) % 3])  # a name has one schema
        if mode == "append" and (known.marks is None or len(known.marks) > 60 or known.size > self.data // 4):
            mode = "replace"
        mark, rows = self.mark(), self.rows()
        before = known.marks
        marks = ([*before] if mode == "append" and before else []) + ([mark] if rows else [])
        self.kept[name] = Kept(known.kind, None, known.size, known.pinned)
        try:
            self.write(name, known.kind, mark, rows, mode=mode, **how)
        except Exception as error:
            if not any(text in str(error).lower() for text in ("deadline", "timed out", "cancel")):
                self.kept[name].marks = before  # it was refused, and nothing of it is there
                if before == [] and known.size == 0:
                    self.kept.pop(name, None)
            raise  # else it may have been committed before the client gave up: its rows are not known
        size = rows * ROW_BYTES + (known.size if mode == "append" else 0)
        if self.eviction == "drop" and mode == "append":
            marks = None  # what was there before may have been evicted
        self.kept[name] = Kept(known.kind, marks, size, known.pinned)

    def append(self) -> None:
        self.replace("append")

    def slow_put(self) -> None:
        self.replace(self.random.choice(("replace", "append")), pause=0.02)

    def cancelled_put(self) -> None:
        self.replace(seconds=self.random.choice((0.001, 0.01, 0.05, 0.2)), pause=self.random.choice((0, 0.01)))

    def verify(self, name: str, known: Kept, data: pa.Table) -> None:
        if known.marks is None:
            check(known.kind, data, None)
        else:
            check(known.kind, data, known.marks)
        self.count["bytes read"] += data.nbytes

    def read(self) -> None:
        if name := self.own():
            known = self.kept[name]
            keys = {"wire": self.random.choice(("stored", "none"))}
            try:
                self.verify(name, known, self.client.get(name, fl.FlightCallOptions(timeout=120), **keys))
            except pa.ArrowKeyError:
                self.gone(name)

    def gone(self, name: str) -> None:
        if self.eviction != "drop" and self.kept[name].marks is not None:
            raise WrongError(f"{name} is gone, and nobody dropped it")
        del self.kept[name]

    def columns(self) -> None:
        if name := self.own():
            table = self.client.get(name, columns=["mark", "row"], limit=self.random.choice((1, 1000, 1 << 40)))
            if table.schema.names != ["mark", "row"]:
                raise WrongError(f"asked for two columns, got {table.schema.names}")

    def filtered(self) -> None:
        known = self.kept.get(name) if (name := self.own()) else None
        if known and known.marks:
            mark = self.random.choice(known.marks)
            check(known.kind, self.client.get(name, filters=[["mark", "=", mark]]), [mark])

    def planned(self) -> None:
        """The rows that were counted are those that come, whatever becomes of the dataset meanwhile."""
        if name := self.own():
            info = self.client.info(name)
            known = self.kept[name]
            if self.random.random() < 0.3:
                with contextlib.suppress(pa.ArrowException):
                    self.drop(name)
            time.sleep(self.random.choice((0, 0.1)))
            data = self.client.flight.do_get(info.endpoints[0].ticket).read_all()
            if data.num_rows != info.total_records:
                raise WrongError(f"{data.num_rows} rows of {info.total_records} that were counted")
            check(known.kind, data, None)

    def slow_read(self) -> None:
        """Reads with pauses, and often not to the end."""
        if name := self.own():
            options = fl.FlightCallOptions(timeout=self.random.choice((0.2, 3, 60)))
            reader = self.client.flight.do_get(fl.Ticket(command_of(name)), options)
            with contextlib.suppress(StopIteration):
                for _ in range(self.random.randrange(12)):
                    reader.read_chunk()
                    time.sleep(self.random.choice((0, 0.05, 0.3)))
            if self.random.random() < 0.7:
                reader.cancel()

    def abandoned(self) -> None:
        """A connection that goes away in the middle of a read or a put."""
        if name := self.own():
            with Client(self.address) as other, contextlib.suppress(StopIteration):
                if self.random.random() < 0.5:
                    other.flight.do_get(fl.Ticket(command_of(name))).read_chunk()
                else:
                    table = part("numbers", 1, 50_000)
                    writer, _ = other.flight.do_put(
                        fl.FlightDescriptor.for_path("gone", str(self.number)), table.schema
                    )
                    writer.write_table(table)

    def drop(self, name: str | None = None) -> None:
        if name := name or self.own():
            try:
                self.client.drop(name)
            except pa.ArrowKeyError:
                self.gone(name)
            self.kept.pop(name, None)

    def shared(self) -> None:
        name = self.random.choice(("shared/0", "shared/1", "shared/2"))
        mode = self.random.choice(("replace", "append", "append"))
        self.write(name, "numbers", self.mark(), self.random.choice((1, 100, 10_000)), mode=mode)
        check("numbers", self.client.get(name), None)

    def many_appends(self) -> None:
        name = f"tiny/{self.number}"
        for _ in range(20):
            self.write(name, "words", self.mark(), 10, mode="append")
        if self.random.random() < 0.3:
            self.client.action("compact", dataset=name)
        check("words", self.client.get(name), None)
        if self.random.random() < 0.2:
            self.client.drop(name)

    def transaction(self) -> None:
        name = f"joint/{self.number}"
        begun = self.client.action("begin", dataset=name, mode="replace", ttl=self.random.choice((1, 10)))
        marks = []
        for i in range(3):
            mark = self.mark()
            self.write(name, "numbers", mark, 5000, transaction=begun["transaction"], put_id=str(i))
            marks.append(mark)
        match self.random.randrange(3):
            case 0:
                self.client.action("abort", dataset=name, transaction=begun["transaction"])
            case 1:
                self.client.action("commit", dataset=name, transaction=begun["transaction"], puts=["2", "0"])
                if self.eviction != "drop":
                    check("numbers", self.client.get(name), [marks[2], marks[0]])
            case _:
                pass  # it expires

    def pinned(self) -> None:
        if name := self.own():
            known = self.kept[name]
            known.pinned = not known.pinned and self.random.random() < 0.2
            self.client.action("pin" if known.pinned else "unpin", dataset=name)

    def evict(self) -> None:
        if self.eviction == "spill" and (name := self.own()):
            self.client.action("evict", dataset=name)

    def short_lived(self) -> None:
        self.write(f"short/{self.number}", "numbers", self.mark(), 10_000, ttl=1)

    def look(self) -> None:
        self.client.names()
        if name := self.own():
            self.client.describe(name)

    ACTS: tuple[tuple[int, Callable[[Worker], None]], ...] = (
        (10, replace), (8, append), (2, slow_put), (3, cancelled_put), (10, read), (4, columns), (3, filtered),
        (4, planned), (3, slow_read), (2, abandoned), (4, drop), (3, shared), (1, many_appends), (1, transaction),
        (1, pinned), (1, evict), (1, short_lived), (1, look),
    )  # fmt: skip

    def do(self, act: Callable[[Worker], None]) -> None:
        try:
            act(self)
            self.count[act.__name__] += 1
        except (pa.ArrowException, fl.FlightError, OSError) as error:
            if not any(text in str(error).lower() for text in EXPECTED):
                raise
            self.count[f"{act.__name__} refused"] += 1
            self.count[reason(str(error))] += 1

    def fill(self) -> None:
        """So much data that the budget is full, or as much as it takes."""
        number, rows = len(self.kept), max(self.data // 20 // ROW_BYTES, 10_000)
        name, mark = f"own/{self.number}/{number}", self.mark()
        self.write(name, KINDS[number % 3], mark, rows)
        self.kept[name] = Kept(KINDS[number % 3], [mark], rows * ROW_BYTES)

    def run(self, seconds: float) -> None:
        for _ in range(18):
            self.do(Worker.fill)
            if self.count["fill refused"]:
                break
        end = time.monotonic() + seconds
        weights, acts = zip(*self.ACTS, strict=True)
        while time.monotonic() < end:
            self.do(self.random.choices(acts, weights)[0])
        for name in sorted(self.kept):
            self.read_last(name)
        self.client.close()

    def read_last(self, name: str) -> None:
        try:
            self.verify(name, self.kept[name], self.client.get(name))
        except pa.ArrowKeyError:
            self.gone(name)


def reason(text: str) -> str:
    return "refused: " + next(t for t in EXPECTED if t in text.lower())


# The server, watched


@dataclass
class Watched:
    """What was seen of the server, in bytes."""

    samples: int = 0
    most: Counter[str] = field(default_factory=Counter)
    least_room: int = 1 << 60  # between the process's memory and what it may have
    faults: list[str] = field(default_factory=list)

    def see(self, stats: dict[str, int], process: dict[str, int]) -> None:
        self.samples += 1
        for key, value in {**stats, **process}.items():
            self.most[key] = max(self.most[key], value)
        allowed = stats["budget_bytes"] * 115 // 100 + BESIDE + stats["transport_bytes"]
        room = allowed - stats["resident_bytes"]
        self.least_room = min(self.least_room, room)
        if stats["charged_bytes"] > stats["budget_bytes"]:
            self.faults.append(f"charged {stats['charged_bytes']}, over the budget")
        if room < 0:
            self.faults.append(
                f"resident {stats['resident_bytes'] / MIB:.0f} MiB, charged {stats['charged_bytes'] / MIB:.0f}, "
                f"transport {stats['transport_bytes'] / MIB:.0f}, warm {stats['warm_bytes'] / MIB:.0f}"
            )


def process_of(pid: int) -> dict[str, int]:
    """What the system says of a process."""
    folder = Path(f"/proc/{pid}")
    status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
    return {
        "rss": int(status["VmRSS"].split()[0]) << 10,
        "anonymous": int(status["RssAnon"].split()[0]) << 10,
        "threads": int(status["Threads"]),
        "maps": (folder / "maps").read_text().count("\n"),
        "files open": len(os.listdir(folder / "fd")),
    }


@contextlib.contextmanager
def workers(count: int, *arguments: object) -> Iterator[list[subprocess.Popen[str]]]:
    running = [
        subprocess.Popen(
            [sys.executable, __file__, "--worker", str(i), *map(str, arguments)], stdout=subprocess.PIPE, text=True
        )
        for i in range(count)
    ]
    try:
        yield running
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
            process.wait()
            process.stdout.close()


# What must come back when all is dropped, and how much more of it there may be than before.
BACK = {
    "charged_bytes": 0, "staged_bytes": 0, "in_flight_bytes": 0, "leased_bytes": 0, "leases": 0, "datasets": 0,
    "transactions": 0, "files": 0, "disk_bytes": 0, "goroutines": 4, "files open": 2, "maps": 40, "threads": 30,
    "transport_bytes": 2 * MIB, "rss": BESIDE,
}  # fmt: skip


def settle(client: Client, server: Server, before: dict[str, int], seconds: float = 60) -> list[str]:
    """What of the server has not come back, after everything was dropped."""
    for name in client.names():
        with contextlib.suppress(pa.ArrowKeyError):
            client.drop(name)
    left: list[str] = []
    deadline = time.monotonic() + seconds
    while True:
        now = client.stats() | process_of(server.pid)
        left = [
            f"{key} is {now[key]}, it was {before[key]}" for key, more in BACK.items() if now[key] > before[key] + more
        ]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.2)


def run(seconds: float, memory: int, eviction: str, seed: int, count: int = 4, data: int = 0) -> dict[str, Any]:
    """One run, and what was seen. ``data`` is about the plain bytes of all datasets; 0: three times the memory."""
    data = data or 3 * memory
    print(f"churn: seed {seed}, {eviction}, {memory >> 20} MiB, {count} workers, {data >> 20} MiB of data", flush=True)
    flags = [
        "--memory",
        str(memory),
        "--eviction",
        eviction,
        "--lease",
        "2s",
        "--put-wait",
        "2s",
        "--log-level",
        "error",
    ]
    seen = Watched()
    totals: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="flightcache-churn-") as folder:
        if eviction == "spill":
            flags += ["--data-dir", folder]
        with Server(*flags) as server, server.client() as client:
            client.stats()
            before = client.stats() | process_of(server.pid)
            arguments = ("--address", server.address, "--seed", seed, "--seconds", seconds, "--eviction", eviction,
                         "--data", data // count)  # fmt: skip
            with workers(count, *arguments) as running:
                while any(p.poll() is None for p in running):
                    seen.see(client.stats(), process_of(server.pid))
                    time.sleep(0.1)
                for i, process in enumerate(running):
                    text = process.stdout.read()
                    if process.returncode != 0:
                        seen.faults.append(f"worker {i} ended with {process.returncode}: {text[-2000:]}")
                    else:
                        totals.update(json.loads(text.splitlines()[-1]))
            after = client.stats()
            left = settle(client, server, before)
            end = process_of(server.pid)
            client.close()
            if (code := server.stop()) != 0:
                seen.faults.append(f"the server ended with {code}: {server.log()[-2000:]}")
    return {
        "seed": seed, "seen": seen, "totals": totals, "left": left, "stats": after, "before": before, "end": end,
    }  # fmt: skip


def report(result: dict[str, Any]) -> bool:
    """Prints what was seen, and tells whether all of it is right."""
    seen, totals, stats = result["seen"], result["totals"], result["stats"]
    print(f"{seen.samples} samples; the least room of the process's memory was {seen.least_room / MIB:.0f} MiB")
    for key in (
        "charged_bytes", "staged_bytes", "in_flight_bytes", "spilled_bytes", "disk_bytes", "transport_bytes",
        "warm_bytes", "resident_bytes",
    ):  # fmt: skip
        print(f"  most {key:18} {seen.most[key] / MIB:8.1f} MiB")
    for key in ("goroutines", "maps", "files open", "threads"):
        print(f"  most {key:18} {seen.most[key]:8}")
    print(f"  rss before {result['before']['rss'] / MIB:.0f} MiB, after {result['end']['rss'] / MIB:.0f} MiB")
    for key in ("puts", "gets", "evictions", "compactions", "streams_given_up"):
        print(f"  {key:23} {stats[key]:8}")
    for key, n in sorted(totals.items()):
        print(f"  {key:23} " + (f"{n / MIB:8.0f} MiB" if key.startswith("bytes") else f"{n:8}"))
    for fault in [*seen.faults[:20], *result["left"]]:
        print("WRONG:", fault)
    if len(seen.faults) > 20:
        print(f"WRONG: and {len(seen.faults) - 20} more")
    return not seen.faults and not result["left"]


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--memory", type=size_of, default=512 * MIB, help="the budget, as 512MiB")
    p.add_argument("--eviction", choices=("reject", "drop", "spill"), default="reject")
    p.add_argument("--data", type=size_of, default=0, help="about the plain bytes of all datasets, as 4GiB")
    p.add_argument("--workers", type=int, default=4)
    p.add_argument("--seed", type=int, default=None)
    p.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    p.add_argument("--address", help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.worker is not None:
        worker = Worker(a.worker, a.address, a.seed, a.eviction, a.data)
        try:
            worker.run(a.seconds)
        except Exception:
            traceback.print_exc(file=sys.stdout)
            return 1
        print(json.dumps(worker.count))
        return 0
    seed = a.seed if a.seed is not None else random.SystemRandom().randrange(1 << 30)
    return 0 if report(run(a.seconds, a.memory, a.eviction, seed, a.workers, a.data)) else 1


if __name__ == "__main__":
    sys.exit(main())
