"""flightcache beside its peers: the same tables, the same client, one interleaved run.

``make bench`` runs everything and writes bench/RESULTS.md and bench/plots. ``--quick`` is a small rehearsal that shows
that all works and nothing about speed, and ``--only`` runs some sections; both write to .cache/bench instead.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "integration")]

import pyarrow as pa  # noqa: E402

import machine  # noqa: E402
import plots  # noqa: E402
import sources  # noqa: E402
import tables  # noqa: E402
from report import Section, markdown  # noqa: E402
from sections import ablations, filters, flat, places, planning, readers, shapes, small, spark  # noqa: E402

SECTIONS: dict[str, Callable[[sources.Sizes, pa.Table], Section]] = {
    "flat": flat.measure,
    "widest": lambda z, _: shapes.widest(z),
    "readers": readers.measure,
    "small": small.measure,
    "planning": planning.measure,
    "footprints": flat.footprints,
    "shapes": shapes.measure,
    "filters": filters.measure,
    "sockets": places.sockets,
    "spilled": places.spilled,
    "spark": spark.measure,
    "ablations": ablations.measure,
}


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, help="of the flat table, 5,000,000")
    parser.add_argument("--rounds", type=int, help="of work that has a target, 9; at least 7 for results to keep")
    parser.add_argument("--other-rounds", type=int, help="of all other work, 5")
    parser.add_argument("--quick", action="store_true", help="500,000 rows, 1 round, all else smaller too")
    parser.add_argument("--only", help=f"some sections, separated by commas: {', '.join(SECTIONS)}")
    arguments = parser.parse_args()
    arguments.names = arguments.only.split(",") if arguments.only else list(SECTIONS)
    if unknown := [name for name in arguments.names if name not in SECTIONS]:
        parser.error(f"no section {unknown[0]}; there are {', '.join(SECTIONS)}")
    return arguments


def sizes(arguments: argparse.Namespace) -> sources.Sizes:
    """How much of everything."""
    given = {k: v for k in ("rows", "rounds", "other_rounds") if (v := getattr(arguments, k)) is not None}
    return dataclasses.replace(sources.QUICK if arguments.quick else sources.Sizes(), **given)


def saved(sections: list[Section], path: Path) -> None:
    """All samples, for whoever wants to look closer."""
    samples = {
        s.title: {k: {n: dataclasses.asdict(f) for n, f in x.items()} for k, x in s.figures.items()} for s in sections
    }
    path.write_text(json.dumps(samples, indent=1))


def main() -> int:
    """Measures, and writes the report."""
    arguments = options()
    z = sizes(arguments)
    load_before, started = os.getloadavg()[0], time.monotonic()
    table = sources.flat(z.rows)
    if z.rows == 5_000_000 and table.nbytes != tables.FLAT_BYTES:
        raise AssertionError(f"the flat table has {table.nbytes} bytes, not {tables.FLAT_BYTES}")
    sections = []
    for name in arguments.names:
        print(f"{time.monotonic() - started:6.0f} s: {name}", file=sys.stderr, flush=True)
        sections.append(SECTIONS[name](z, table))

    minutes = (time.monotonic() - started) / 60
    how = (
        f"Made by `make bench`: {z.rounds} interleaved rounds for what has a target and {z.other_rounds} for all else, "
        "in an order drawn for each, after one that does not count. Times and CPU are medians of one call. Every "
        "contender gave back what was put, and every call's rows are checked. A target is a ratio within this run. "
        f"The machine's load average before the run was {load_before:.1f}; it took {minutes:.0f} minutes. "
        "[README.md](README.md) says what each line is."
    )
    kept = not (arguments.quick or arguments.only or arguments.rows)
    folder = ROOT / "bench" if kept else ROOT / ".cache" / "bench"
    pictures = folder / "plots"
    pictures.mkdir(parents=True, exist_ok=True)
    (ROOT / ".cache" / "bench").mkdir(parents=True, exist_ok=True)
    saved(sections, ROOT / ".cache" / "bench" / "samples.json")
    for s in sections:
        if s.figures:
            plots.section(s, pictures / s.picture)
    plots.targets(sections, pictures / "targets.png")
    limits = ROOT / "bench" / "LIMITS.md"
    text = markdown(sections, machine.facts(), how, limits.read_text() if limits.exists() else "", pictures.name)
    (folder / "RESULTS.md").write_text(text)
    print(text)
    rows = [row for s in sections for row in s.rows if row.target is not None]
    missed = [row.what for row in rows if not row.passed]
    print(f"{len(rows) - len(missed)} of {len(rows)} targets met" + "".join(f"\n  missed: {m}" for m in missed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
