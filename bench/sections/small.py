"""Batches of 10 rows: many in one put, and many puts of one."""

from __future__ import annotations

import itertools

import pyarrow as pa

import checks
from contenders import Contender, side_by_side
from report import Section
from rounds import Figure, Work, interleave
from sections.common import gets, puts, resident
from sources import Sizes, rebatched

BATCH = 10


def _appends(s: Section, contenders: list[Contender], table: pa.Table, rounds: int) -> None:
    """Every batch by a put of its own, a share of them in each round; in the end all have all rows."""
    batches = [pa.Table.from_batches([b]) for b in table.to_batches()]
    share = -(-len(batches) // rounds)
    taken: dict[str, int] = {c.name: 0 for c in contenders}

    def append(c: Contender) -> None:
        start = taken[c.name]
        for batch in batches[start : start + share]:
            c.append(batch)
        taken[c.name] = min(start + share, len(batches))

    for c in contenders:
        c.dataset += "_grown"
    kind = f"{len(batches):,} puts of {BATCH} rows, appended: one put"
    figures = interleave([Work(c.name, c.pid, lambda c=c: append(c)) for c in contenders], rounds, warm=False)
    each = [min(share, len(batches) - i) for i in range(0, len(batches), share)]
    s.figures[kind] = {
        name: Figure(
            [w / n for w, n in zip(f.wall, each, strict=False)], [c / n for c, n in zip(f.cpu, each, strict=False)]
        )
        for name, f in figures.items()
    }
    checks.equal(contenders, table)
    s.figures["get what has grown"] = gets(contenders, table.num_rows, None, rounds)


def measure(z: Sizes, flat: pa.Table) -> Section:
    """One put of many small batches and its reads, beside a dataset that keeps them apart; then as many puts."""
    table = rebatched(flat.slice(0, BATCH * z.small_batches), BATCH)
    s = Section(
        "Batches of 10 rows",
        f"{z.small_batches:,} batches of {BATCH} rows of the flat table in one put, then read. flightcache joins them "
        "when they are put; the line that keeps them apart (`batching: keep`) shows what that gains. Then each batch "
        "is appended by a put of its own, and what has grown is read.",
    )
    with side_by_side(codecs=("zstd", "none")) as contenders:
        zstd = next(c for c in contenders if c.codec == "zstd")
        apart = zstd.again("flightcache zstd, kept apart", "bench_apart")
        put, get = (f"{z.small_batches:,} batches of {BATCH} rows: {what}" for what in ("put", "get"))
        s.figures[put] = puts(contenders, table, z.rounds)
        apart.put(table, batching="keep")
        everyone = [*contenders, apart]
        checks.equal(everyone, table, ["s1"])
        s.figures[get] = gets(everyone, table.num_rows, None, z.rounds)
        for c, (kind, target) in itertools.product(contenders, ((put, 1.0), (get, 0.2))):
            if c.codec:
                s.ratio(kind, c.name, target)
        apart.close()
        _appends(s, contenders, table, z.other_rounds)
        resident(s, contenders)
    return s
