"""flightcache beside its peers: the same table, the same client, one interleaved run.

``make bench`` runs everything and writes bench/RESULTS.md and bench/results.png. ``--quick`` is a small rehearsal that
writes to .cache instead, and ``--peers-only`` measures the peers alone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "integration")]

import machine  # noqa: E402
import tables  # noqa: E402
from contenders import (  # noqa: E402
    Contender,
    arrowgo_peer,
    flightcache,
    flightcache_without_statistics,
    pyarrow_peer,
)
from report import Row, figures_table, markdown, plot  # noqa: E402
from rounds import Figure, Work, interleave  # noqa: E402

CODECS = ["zstd", "lz4", "none"]
BATCH_ROWS = 65_536
MANY_BATCHES = 10_000
READERS = 64
REPLACEMENTS = 10
MIB = 2**20
FLOOR = "client alone, decoding {}"
FOOTPRINTS = {"zstd": 52, "lz4": 147.5, "none": 316}
Figures = dict[str, dict[str, Figure]]


def load(rows: int) -> pa.Table:
    """The flat table in batches of BATCH_ROWS, from .cache once it has been made."""
    path = ROOT / ".cache" / f"flat-{rows}.arrows"
    path.parent.mkdir(exist_ok=True)
    if not path.exists():
        fresh = path.with_suffix(".new")
        made = tables.table("flat", rows, BATCH_ROWS)
        with pa.OSFile(str(fresh), "wb") as sink, pa.ipc.new_stream(sink, made.schema) as writer:
            writer.write_table(made)
        fresh.rename(path)
    # Read into this process's own memory: page faults of a mapped file would count as the put's time.
    with pa.OSFile(str(path), "rb") as source:
        return pa.ipc.open_stream(source).read_all()


def decoder(table: pa.Table, columns: list[str], codec: str) -> Callable[[], int]:
    """A call that decodes the columns under the codec from this client's memory: no read can be faster than that."""
    sink = pa.BufferOutputStream()
    compression = pa.Codec(codec, compression_level=1) if codec == "zstd" else codec
    options = pa.ipc.IpcWriteOptions(compression=compression)
    chosen = table.select(columns)
    with pa.ipc.new_stream(sink, chosen.schema, options=options) as writer:
        writer.write_table(chosen)
    stream = sink.getvalue()
    return lambda: sum(batch.num_rows for batch in pa.ipc.open_stream(stream))


def check_equal(contenders: list[Contender], table: pa.Table) -> None:
    """Every contender gives back the table, all of it and one column of it."""
    for c in contenders:
        if not c.read().equals(table) or not c.read(["s1"]).equals(table.select(["s1"])):
            raise AssertionError(f"{c.name} gave another table than was put")


def measure_calls(contenders: list[Contender], table: pa.Table, rounds: int) -> Figures:
    """Puts, reads and counts through pyarrow."""
    rows, names = table.num_rows, table.column_names
    projections = {f"{n} of {len(names)}": names[:n] for n in (len(names), 3, 1)}
    figures: Figures = {}
    figures["put"] = interleave([Work(c.name, c.pid, lambda c=c: c.put(table), None) for c in contenders], rounds)
    check_equal(contenders, table)
    for label, columns in projections.items():
        repeat = {6: 1, 3: 2, 1: 4}[len(columns)]
        works = [Work(c.name, c.pid, lambda c=c, x=columns: c.get(x), rows, repeat) for c in contenders]
        if any(c.codec for c in contenders):
            for codec in ("zstd", "lz4"):
                decode = decoder(table, columns, codec)
                works.append(Work(FLOOR.format(codec), os.getpid(), decode, rows, repeat))
        figures[f"get {label}"] = interleave(works, rounds)
    figures["count"] = interleave([Work(c.name, c.pid, c.count, rows, 100) for c in contenders], rounds)
    return figures


def measure_batches(contender: Contender, table: pa.Table, rounds: int) -> Figures:
    """Counts of a table in one batch, and of the same table in MANY_BATCHES."""
    small = table.slice(0, MANY_BATCHES).combine_chunks()
    layouts = {
        "count, 1 batch": small,
        f"count, {MANY_BATCHES:,} batches": pa.Table.from_batches(small.to_batches(max_chunksize=1)),
    }
    works = []
    for kind, layout in layouts.items():
        name = f"bench_{layout['id'].num_chunks}"
        contender.put(layout, name, batching="keep")
        works.append(Work(kind, contender.pid, lambda n=name: contender.count(n), MANY_BATCHES, 200))
    return {kind: {contender.name: figure} for kind, figure in interleave(works, rounds).items()}


RANGE = [4_500_000, 4_750_000]
SUMMED = ["id", "k", "v"]


def measure_statistics(peer: Contender, ours: Contender, table: pa.Table, rounds: int) -> Figures:
    """A put with and without statistics, beside the peer's."""
    with flightcache_without_statistics() as server:
        without = Contender("flightcache none, no statistics", server.address, server.pid, "none")
        works = [Work(c.name, c.pid, lambda c=c: c.put(table), None) for c in (peer, ours, without)]
        figures = {"put, statistics weighed": interleave(works, rounds)}
        without.close()
    return figures


def measure_filters(c: Contender, table: pa.Table, rounds: int) -> tuple[Figures, float]:
    """Filtered reads beside the full one, and the share of batches that a range on `id` reads."""
    in_range = [["id", ">=", RANGE[0]], ["id", "<", RANGE[1]]]
    every = [["k", "is null"]], [["k", ">=", 0]]
    want = sum(RANGE[0] <= i < RANGE[1] for i in table["id"].to_pylist() if i is not None)
    works = [
        Work("full", c.pid, lambda: c.get(SUMMED), table.num_rows),
        Work("range of id", c.pid, lambda: c.get(SUMMED, filters=in_range), want, 4),
        Work("all rows pass", c.pid, lambda: c.get(SUMMED, filters=every), table.num_rows),
    ]
    figures = interleave(works, rounds)
    before = c.action("server_stats")["batches_sent"]
    c.get(SUMMED, filters=in_range)
    read = c.action("server_stats")["batches_sent"] - before
    return {"filtered get 3 of 6, zstd": figures}, 100 * read / c.action("describe")["batches"]


def measure_drain(contenders: list[Contender], readers: int, rounds: int) -> Figures:
    """Many raw readers at once, each taking the whole table as it is stored."""
    binary = ROOT / "bin" / "bench-drain"

    def drain(c: Contender) -> None:
        keys = {"wire": "stored"} if c.codec else {}
        command = [binary, "--address", c.address, "--readers", str(readers), "--ticket", c.ticket(**keys)]
        done = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        seconds[c.name].append(done["seconds"])

    seconds: dict[str, list[float]] = {c.name: [] for c in contenders}
    figures = interleave([Work(c.name, c.pid, lambda c=c: drain(c), None) for c in contenders], rounds)
    for name, figure in figures.items():
        # The drain's own clock leaves out its start.
        figure.wall = seconds[name][1:]
    return {f"{readers} raw readers": figures}


def measure_replacements(table: pa.Table) -> tuple[float, float]:
    """Resident MiB of a fresh server after REPLACEMENTS puts of one plain dataset, and MiB of one copy."""
    with flightcache() as server:
        contender = Contender("flightcache none", server.address, server.pid, "none")
        for _ in range(1 + REPLACEMENTS):
            contender.put(table)
        if contender.get() != table.num_rows:
            raise AssertionError("the replaced table has another number of rows")
        # What the last replaced generation used is given back within seconds, not within the call.
        time.sleep(3)
        resident, copy = machine.rss_mib(server.pid), contender.stored_bytes() / MIB
        contender.close()
    return resident, copy


def rows_of(figures: Figures, stored: dict[str, float], replaced: tuple[float, float], share: float) -> list[Row]:
    """The figures beside their targets."""
    rows: list[Row] = []

    def ratio(kind: str, codec: str, target: float, cpu: bool = False, peer: str = "pyarrow") -> None:
        ours, theirs = figures[kind][f"flightcache {codec}"], figures[kind][peer]
        a, b = (ours.cpu_seconds, theirs.cpu_seconds) if cpu else (ours.seconds, theirs.seconds)
        what = f"{kind}, {codec}: {'server CPU' if cpu else 'time'} against {peer}"
        rows.append(Row(what, a / b, target, measured=f"{1e3 * a:.2f} ms / {1e3 * b:.2f} ms"))

    ratio("get 6 of 6", "zstd", 1.0)
    ratio("get 6 of 6", "zstd", 0.4, cpu=True)
    ratio("get 6 of 6", "lz4", 1.0)
    ratio("get 6 of 6", "lz4", 0.9, cpu=True)
    ratio("get 6 of 6", "none", 1.15)
    ratio("get 6 of 6", "none", 0.6, cpu=True, peer="arrow-go")
    ratio("get 1 of 6", "zstd", 0.4, cpu=True)
    one = figures["get 1 of 6"]["flightcache zstd"].seconds
    floor = figures["get 1 of 6"][FLOOR.format("zstd")].seconds
    measured = f"{1e3 * one:.2f} ms / {1e3 * floor:.2f} ms"
    rows.append(Row("get 1 of 6, zstd: time against the client's own decoding", one / floor, 1.3, measured=measured))
    for codec, target in [("none", 1.5), ("lz4", 3.5), ("zstd", 4.5)]:
        ratio("put", codec, target)
    kind = f"{READERS} raw readers"
    ours, theirs = figures[kind]["flightcache zstd"].seconds, figures[kind]["pyarrow"].seconds
    total = READERS * tables.FLAT_BYTES / MIB
    measured = f"{total / ours:,.0f} / {total / theirs:,.0f} MiB/s"
    rows.append(Row(f"{kind}, zstd: decoded MiB/s against pyarrow", theirs / ours, 4, "x", measured, at_least=True))
    ratio("count", "zstd", 0.4)
    few, many = (figures[k]["flightcache zstd"].seconds for k in figures if k.startswith("count, "))
    measured = f"{1e3 * many:.3f} ms / {1e3 * few:.3f} ms"
    rows.append(Row(f"count: {MANY_BATCHES:,} batches against 1", many / few, 1.2, measured=measured))
    put = figures["put, statistics weighed"]
    measured, plain = put["flightcache none"].seconds, put["flightcache none, no statistics"].seconds
    cost = (measured - plain) / put["pyarrow"].seconds
    rows.append(
        Row(
            "statistics of a put, none: time against pyarrow's put",
            cost,
            0.35,
            measured=f"{1e3 * (measured - plain):.2f} ms",
        )
    )
    rows.append(Row(f"id in [{RANGE[0]}, {RANGE[1]}): share of the batches read", share, 7, "%", "batches_sent"))
    filtered = figures["filtered get 3 of 6, zstd"]
    full, one, every = (filtered[k] for k in ("full", "range of id", "all rows pass"))
    rows.append(
        Row(
            "the same: time against the full read",
            one.seconds / full.seconds,
            None,
            measured=f"{1e3 * one.seconds:.2f} ms / {1e3 * full.seconds:.2f} ms",
        )
    )
    rows.append(
        Row(
            "the same: server CPU against the full read",
            one.cpu_seconds / full.cpu_seconds,
            None,
            measured=f"{1e3 * one.cpu_seconds:.2f} ms / {1e3 * full.cpu_seconds:.2f} ms",
        )
    )
    rows.append(
        Row(
            "a filter that all rows pass: server CPU against no filter",
            every.cpu_seconds / full.cpu_seconds,
            1.3,
            measured=f"{1e3 * every.cpu_seconds:.2f} ms / {1e3 * full.cpu_seconds:.2f} ms",
        )
    )
    for codec, limit in FOOTPRINTS.items():
        rows.append(Row(f"kept bytes, {codec}", stored[codec], limit, "MiB", "stored_bytes of describe"))
    resident, copy = replaced
    what = f"resident after {REPLACEMENTS} replacements, none"
    rows.append(Row(what, resident, 1.5 * copy + 96, "MiB", f"one copy is {copy:.1f} MiB"))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--quick", action="store_true", help="500,000 rows, 3 rounds, results in .cache")
    parser.add_argument("--peers-only", action="store_true", help="measure the peers alone; implies no targets")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rows, arguments.rounds = 500_000, 3
    load_before = os.getloadavg()[0]
    table = load(arguments.rows)
    if arguments.rows == 5_000_000 and table.nbytes != tables.FLAT_BYTES:
        raise AssertionError(f"the flat table has {table.nbytes} bytes, not {tables.FLAT_BYTES}")

    with contextlib.ExitStack() as stack:
        cpp, go = stack.enter_context(pyarrow_peer()), stack.enter_context(arrowgo_peer())
        contenders = [Contender("pyarrow", cpp.address, cpp.pid), Contender("arrow-go", go.address, go.pid)]
        if not arguments.peers_only:
            ours = stack.enter_context(flightcache())
            contenders += [Contender(f"flightcache {c}", ours.address, ours.pid, c) for c in CODECS]
        for contender in contenders:
            stack.callback(contender.close)
        figures = measure_calls(contenders, table, arguments.rounds)
        drained = [c for c in contenders if c.name in ("pyarrow", "flightcache zstd")]
        figures |= measure_drain(drained, READERS, max(3, arguments.rounds // 3))
        if arguments.peers_only:
            print(figures_table(figures))
            return 0
        zstd = next(c for c in contenders if c.codec == "zstd")
        figures |= measure_batches(zstd, table, arguments.rounds)
        none = next(c for c in contenders if c.codec == "none")
        figures |= measure_statistics(contenders[0], none, table, arguments.rounds)
        filtered, share = measure_filters(zstd, table, arguments.rounds)
        figures |= filtered
        stored = {c.codec: c.stored_bytes() / MIB for c in contenders if c.codec}
    rows = rows_of(figures, stored, measure_replacements(table), share)

    how = (
        f"The flat table, {table.num_rows:,} rows in batches of {BATCH_ROWS:,}, put and read by one pyarrow client on "
        f"the loopback; {arguments.rounds} interleaved rounds, in alternating order, after one that does not count. "
        "Every contender gave back the table that was put. The lines of the client alone are its own decoding from "
        "memory, with its own CPU: what no server can be faster than. Made by `make bench`; the machine's load average "
        f"before the run was {load_before:.1f}."
    )
    text = markdown(rows, figures, machine.facts(), how)
    folder = ROOT / ".cache" if arguments.quick else ROOT / "bench"
    (folder / "RESULTS.md").write_text(text)
    plot(figures, folder / "results.png")
    print(text)
    missed = [row.what for row in rows if not row.passed]
    print(f"{len(rows) - len(missed)} of {len(rows)} targets met" + "".join(f"\n  missed: {m}" for m in missed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
