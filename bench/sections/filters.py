"""Filtered reads: beside the full one, and beside a client that filters by itself."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from contenders import Contender, side_by_side
from report import Row, Section
from rounds import Work, interleave
from sections.common import wire
from sources import Sizes

COLUMNS = ["id", "k", "v"]


def _filters(rows: int) -> dict[str, tuple[list, pc.Expression]]:
    """By name the filter as we take it, and as pyarrow's own."""
    low, high = 9 * rows // 10, 95 * rows // 100
    id_, k = pc.field("id"), pc.field("k")
    return {
        "a twentieth by id, sorted": ([["id", ">=", low], ["id", "<", high]], (id_ >= low) & (id_ < high)),
        "one in 1,000 by k": ([["k", "=", 7]], k == 7),
        "half by k": ([["k", "<", 500]], k < 500),
        "all rows": ([[["k", "is null"]], [["k", ">=", 0]]], k.is_null() | (k >= 0)),
    }


def measure(z: Sizes, table: pa.Table) -> Section:
    """Reads of three columns under filters."""
    s = Section(
        "Filtered reads",
        "Three int64 columns of the flat table, by filters that leave out batches, rows, or nothing. The peer knows no "
        "filters: its client reads the columns and filters them, as it would without the server's help.",
    )
    chosen = table.select(COLUMNS)
    with side_by_side(codecs=("zstd", "none"), peers=("pyarrow",)) as contenders:
        for c in contenders:
            c.put(table)
        s.figures["no filter"] = interleave(
            [Work(c.name, c.pid, lambda c=c: c.get(COLUMNS), table.num_rows) for c in contenders], z.rounds
        )
        wire(contenders, s.figures["no filter"], COLUMNS)
        for label, (ours, theirs) in _filters(table.num_rows).items():
            want = chosen.filter(theirs)

            def call(c: Contender, ours: list = ours, theirs: pc.Expression = theirs) -> int:
                if c.codec:
                    return c.get(COLUMNS, filters=ours)
                return c.read(COLUMNS).filter(theirs).num_rows

            for c in contenders:
                if c.codec and not c.read(COLUMNS, filters=ours).equals(want):
                    raise AssertionError(f"{c.name} filtered {label} otherwise than pyarrow does")
            works = [Work(c.name, c.pid, lambda c=c, call=call: call(c), want.num_rows, 2) for c in contenders]
            s.figures[label] = interleave(works, z.rounds)
            for c in contenders:
                if c.codec:
                    s.figures[label][c.name].wire = c.drain(columns=COLUMNS, filters=ours)["bytes"]
        zstd = next(c for c in contenders if c.codec == "zstd")
        ours, _ = _filters(table.num_rows)["a twentieth by id, sorted"]
        before = zstd.action("server_stats")["batches_sent"]
        zstd.get(COLUMNS, filters=ours)
        share = 100 * (zstd.action("server_stats")["batches_sent"] - before) / zstd.action("describe")["batches"]
    s.rows.append(Row("a twentieth by id: share of the batches read", share, 7, "%", "batches_sent"))
    full, every = (s.figures[kind]["flightcache zstd"].cpu_seconds for kind in ("no filter", "all rows"))
    measured = f"{1e3 * every:.2f} ms / {1e3 * full:.2f} ms"
    what = "a filter that all rows pass, zstd: server CPU against no filter"
    s.rows.append(Row(what, every / full, 1.3, measured=measured))
    return s
