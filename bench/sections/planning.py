"""What is answered from metadata alone: GetFlightInfo, and the list of all datasets."""

from __future__ import annotations

import pyarrow as pa

from contenders import Contender, client_tool, side_by_side
from report import Row, Section
from rounds import Work, interleave
from sections.common import resident
from sources import Sizes, rebatched

CALLERS = 64
KIND = "GetFlightInfo"


def _callers(s: Section, contenders: list[Contender], rows: int, z: Sizes) -> None:
    """Many callers at once; what is timed is the 99th percentile of a call."""

    def call(c: Contender) -> float:
        flags = [
            "--address",
            c.address,
            "--dataset",
            c.dataset,
            "--rows",
            rows,
            "--callers",
            CALLERS,
            "--calls",
            z.calls,
        ]
        done = client_tool("callers", *flags)
        rates[c.name].append(done["calls"] / done["seconds"])
        return done["p99"]

    rates: dict[str, list[float]] = {c.name: [] for c in contenders}
    kind = f"{KIND}, {CALLERS} callers: p99 of a call"
    s.figures[kind] = interleave([Work(c.name, c.pid, lambda c=c: call(c)) for c in contenders], z.other_rounds)
    for name, f in s.figures[kind].items():
        rate = sorted(rates[name][1:])[len(rates[name][1:]) // 2]
        # Of all calls together is no use beside the p99 of one.
        f.cpu = [cpu / (CALLERS * (z.calls + 1)) for cpu in f.cpu]
        s.rows.append(Row(f"{kind}, {name}", 1e3 * f.seconds, unit="ms", measured=f"{rate:,.0f} calls a second"))


def _layouts(s: Section, c: Contender, table: pa.Table, z: Sizes) -> None:
    """Counts of a table in one batch, and of the same table in many."""
    small = table.slice(0, z.many_batches)
    many = rebatched(small, 1)
    works = []
    for kind, layout in {"1 batch": small.combine_chunks(), f"{z.many_batches:,} batches": many}.items():
        name = f"bench_{layout.column(0).num_chunks}"
        c.put(layout, name, batching="keep")
        works.append(Work(kind, c.pid, lambda n=name: c.count(n), z.many_batches, 200))
    figures = interleave(works, z.rounds)
    one, lots = (f.seconds for f in figures.values())
    what = f"{KIND}: {z.many_batches:,} batches against 1"
    s.rows.append(Row(what, lots / one, 1.2, measured=f"{1e3 * lots:.3f} ms / {1e3 * one:.3f} ms"))


def _listing(s: Section, contenders: list[Contender], table: pa.Table, z: Sizes) -> None:
    names = [f"listed_{i:05}" for i in range(z.datasets)]
    few = table.slice(0, 10).combine_chunks()

    def fill(c: Contender) -> None:
        for name in names:
            c.put(few, name)

    kind = f"{z.datasets:,} puts of 10 rows, each a new dataset: one put"
    figures = interleave([Work(c.name, c.pid, lambda c=c: fill(c)) for c in contenders], 1, warm=False)
    for f in figures.values():
        f.wall, f.cpu = [f.wall[0] / z.datasets], [f.cpu[0] / z.datasets]
    s.figures[kind] = figures
    for c in contenders:
        if sorted(c.names("listed_")) != names:
            raise AssertionError(f"{c.name} lists other datasets than were put")
    kind = f"list {z.datasets:,} datasets"
    works = [Work(c.name, c.pid, lambda c=c: len(c.names("listed_")), z.datasets) for c in contenders]
    s.figures[kind] = interleave(works, z.rounds)
    s.ratio(kind, "flightcache zstd", 0.3)


def measure(z: Sizes, table: pa.Table) -> Section:
    """Counts and lists by pyarrow, and counts by many callers."""
    s = Section(
        "Answers from metadata",
        f"{KIND} of the flat table by a pyarrow client, {CALLERS} Go clients that call it at once, each on a "
        "connection of its own, and lists of all datasets by a pyarrow client. Every answer's rows and names are "
        "compared.",
    )
    with side_by_side(codecs=("zstd",)) as contenders:
        for c in contenders:
            c.put(table)
        works = [Work(c.name, c.pid, c.count, table.num_rows, 100) for c in contenders]
        s.figures[KIND] = interleave(works, z.rounds)
        s.ratio(KIND, "flightcache zstd", 0.2)
        _callers(s, contenders, table.num_rows, z)
        _layouts(s, contenders[-1], table, z)
        _listing(s, contenders, table, z)
        resident(s, contenders)
    return s
