"""Many at once: raw readers, writers, and readers beside a writer."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

import checks
from contenders import Contender, side_by_side
from report import Row, Section
from rounds import Figure, Work, interleave
from sections.common import resident
from sources import Sizes

MIB = 2**20
WRITERS = 4


def _raw(s: Section, contenders: list[Contender], table: pa.Table, readers: int, rounds: int, most: bool) -> None:
    """So many raw readers. Drain has a clock of its own, which leaves out its start, and compares what readers get."""
    spread: dict[str, list[float]] = {c.name: [] for c in contenders}
    one = {c.name: c.drain()["bytes"] for c in contenders}

    def drain(c: Contender) -> float:
        done = c.drain(readers)
        if done["bytes"] != readers * one[c.name]:
            raise AssertionError(f"{c.name} sent {done['bytes']} bytes to {readers} readers, {one[c.name]} to one")
        mean = sum(done["each"]) / readers
        spread[c.name].append(max(max(done["each"]) / mean, mean / min(done["each"])))
        return done["seconds"]

    kind = f"{readers} raw reader" + "s" * (readers > 1)
    s.figures[kind] = interleave([Work(c.name, c.pid, lambda c=c: drain(c)) for c in contenders], rounds)
    for name, f in s.figures[kind].items():
        f.wire = readers * one[name]
    total = readers * table.nbytes / MIB
    ours = s.figures[kind]["flightcache zstd"]
    for peer, target in (("pyarrow", 5), ("arrow-go", 16)):
        theirs = s.figures[kind][peer]
        measured = f"{total / ours.seconds:,.0f} / {total / theirs.seconds:,.0f} MiB/s"
        what = f"{kind}, zstd: decoded MiB/s against {peer}"
        target = target if most else None
        s.rows.append(Row(what, theirs.seconds / ours.seconds, target, measured=measured, at_least=True))
    for name, all_rounds in spread.items() if readers > 1 else ():
        limit = 2 if most and name == "flightcache zstd" else None
        what = f"{kind}, {name}: the reader farthest from the mean of all"
        s.rows.append(Row(what, max(all_rounds[1:]), limit, measured="the worst of all rounds"))


def _writers(s: Section, contenders: list[Contender], table: pa.Table, rounds: int) -> None:
    """Puts at once, each on a connection and to a dataset of its own."""

    def write(c: Contender, slots: list[Contender]) -> None:
        def one(slot: Contender) -> float:
            start = time.perf_counter()
            slot.put(table)
            return time.perf_counter() - start

        with ThreadPoolExecutor(WRITERS) as pool:
            taken = list(pool.map(one, slots))
        spread[c.name].append(max(taken) * WRITERS / sum(taken))

    spread: dict[str, list[float]] = {c.name: [] for c in contenders}
    slots = {c.name: [c.again(c.name, f"{c.dataset}_{i}") for i in range(WRITERS)] for c in contenders}
    works = [Work(c.name, c.pid, lambda c=c: write(c, slots[c.name])) for c in contenders]
    kind = f"{WRITERS} puts at once"
    s.figures[kind] = interleave(works, rounds)
    for name, all_rounds in spread.items():
        what = f"{kind}, {name}: the slowest against the mean"
        s.rows.append(Row(what, max(all_rounds[1:]), measured="the worst of all rounds"))
    for each in slots.values():
        checks.equal(each, table)
        for slot in each:
            slot.close()


def _mixed(s: Section, contenders: list[Contender], table: pa.Table, readers: int, rounds: int) -> None:
    """A fixed number of reads beside a fixed number of puts that replace another dataset: the times of both."""
    puts: dict[str, list[float]] = {c.name: [] for c in contenders}
    writers = {c.name: c.again(c.name, c.dataset + "_beside") for c in contenders}

    def both(c: Contender) -> float:
        def write() -> None:
            start = time.perf_counter()
            for _ in range(2):
                writers[c.name].put(table)
            took.append((time.perf_counter() - start) / 2)

        took: list[float] = []
        writer = threading.Thread(target=write)
        writer.start()
        done = c.drain(readers, times=2)
        writer.join()
        puts[c.name].append(took[0])
        return done["seconds"]

    reads = interleave([Work(c.name, c.pid, lambda c=c: both(c)) for c in contenders], rounds)
    s.figures[f"{readers} raw readers beside a writer: 2 reads each"] = reads
    s.figures["the writer beside them: one put"] = {name: Figure(puts[name][1:], reads[name].cpu) for name in puts}
    for c in writers.values():
        checks.equal([c], table)
        c.close()


def measure(z: Sizes, table: pa.Table) -> Section:
    """Raw readers, writers, and both."""
    s = Section(
        "Many at once",
        "Raw readers are one Go process that takes the streams of the flat table as they are stored and drops the "
        "bytes, each on a connection of its own: what it measures is the server. All must get the same messages. "
        "Decoded MiB/s are those of the table. The server CPU of the writer's line is that of reads and puts together.",
    )
    with side_by_side(codecs=("zstd", "none")) as contenders:
        for c in contenders:
            c.put(table)
        checks.equal(contenders, table)
        for readers in z.readers:
            most = readers == max(z.readers)
            stored = [c for c in contenders if c.codec != "none"]
            _raw(s, stored, table, readers, z.rounds if most else z.other_rounds, most)
        small = table.slice(0, table.num_rows // 5)
        _writers(s, contenders, small, z.other_rounds)
        _mixed(s, contenders, small, 4, z.other_rounds)
        resident(s, contenders)
    return s
