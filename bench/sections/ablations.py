"""What single parts gain: the same server without each of them, at the default setting.

A part is left out by a build tag of the server's (bin/bench-TAG, see ABLATIONS in the Makefile), or by a key of the
command. An ablation gives the work that its part is for, and is shown as the ratio of the server without it to the one
with it.
"""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

import checks
from contenders import Contender, flightcache, start_peer
from report import Row, Section
from rounds import Work, interleave
from sources import Sizes, rebatched

Call = Callable[[Contender, pa.Table], object]


def _put(c: Contender, table: pa.Table) -> None:
    c.put(table)


def _get(c: Contender, table: pa.Table) -> int:
    return c.get() - table.num_rows


def _count(c: Contender, table: pa.Table) -> int:
    return c.count() - table.num_rows


@dataclass
class Ablation:
    """A build tag, the part that such a build lacks, and the work, by codec, that shows it. Work gives None or 0."""

    tag: str
    part: str
    codecs: tuple[str, ...]
    work: dict[str, Call]


BUILDS = [
    Ablation("nostatistics", "no statistics", ("none", "zstd"), {"put": _put}),
    Ablation("nocontexts", "no codec contexts kept", ("zstd", "lz4"), {"put": _put}),
    Ablation("nogather", "all that is sent copied", ("none", "zstd"), {"get": _get}),
    Ablation("nofacts", "facts made for each call", ("none",), {"count": _count}),
]


def _gain(s: Section, kind: str, without: str, whole: str) -> None:
    """Adds the ratios of a server that lacks something to the whole one."""
    a, b = s.figures[kind][without], s.figures[kind][whole]
    for what, x, y in (("time", a.seconds, b.seconds), ("server CPU", a.cpu_seconds, b.cpu_seconds)):
        s.rows.append(Row(f"{kind}: {what}", x / y, measured=f"{1e3 * x:.2f} ms / {1e3 * y:.2f} ms"))


def _build(s: Section, ablation: Ablation, table: pa.Table, small: pa.Table, z: Sizes) -> None:
    with contextlib.ExitStack() as stack:
        peer = stack.enter_context(start_peer("pyarrow"))
        whole = stack.enter_context(flightcache())
        lacking = stack.enter_context(flightcache(without=ablation.tag))
        cpp = Contender("pyarrow", peer.address, peer.pid)
        stack.callback(cpp.close)
        for codec in ablation.codecs:
            pair = [
                Contender(f"flightcache {codec}", whole.address, whole.pid, codec),
                Contender(f"flightcache {codec}, {ablation.part}", lacking.address, lacking.pid, codec),
            ]
            for c in pair:
                stack.callback(c.close)
            for what, call in ablation.work.items():
                for label, data in (("flat", table), ("a batch of 1,000 rows", small)):
                    everyone = [cpp, *pair]
                    for c in everyone:
                        c.put(data)
                    works = []
                    for c in everyone:
                        want = None if call is _put else 0
                        repeat = 1 if data is table else 50
                        works.append(Work(c.name, c.pid, lambda c=c, d=data, f=call: f(c, d), want, repeat))
                    kind = f"{ablation.part}: {what} {label}, {codec}"
                    s.figures[kind] = interleave(works, z.rounds)
                    checks.equal(pair, data)
                    _gain(s, kind, pair[1].name, pair[0].name)


def _statistics(s: Section) -> None:
    put = s.figures["no statistics: put flat, none"]
    whole, lacking = put["flightcache none"], put["flightcache none, no statistics"]
    # Round by round: the difference of two medians has the noise of both, and is a small part of either.
    cost = statistics.median(a - b for a, b in zip(whole.wall, lacking.wall, strict=True))
    measured = f"{1e3 * cost:.2f} ms, {1e3 * (whole.cpu_seconds - lacking.cpu_seconds):.2f} ms of CPU"
    what = "statistics of a put, none: time against pyarrow's put"
    s.rows.append(Row(what, cost / put["pyarrow"].seconds, 0.35, measured=measured))


def _commands(s: Section, table: pa.Table, small: pa.Table, z: Sizes) -> None:
    """Sending what is stored, beside decoding it for the client; joining small batches at the put."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(flightcache())
        zstd = stack.enter_context(
            contextlib.closing(Contender("flightcache zstd", server.address, server.pid, "zstd"))
        )
        zstd.put(table)
        works = [
            Work(zstd.name, zstd.pid, zstd.get, table.num_rows),
            Work("flightcache zstd, decoded", zstd.pid, lambda: zstd.get(wire="none"), table.num_rows),
        ]
        kind = "stored bytes are not wire bytes: get 6 of 6"
        s.figures[kind] = interleave(works, z.rounds)
        _gain(s, kind, "flightcache zstd, decoded", zstd.name)
        # The default of a small client: batches of 1,000 rows.
        few = rebatched(table.slice(0, table.num_rows // 10), small.num_rows)
        apart = stack.enter_context(contextlib.closing(zstd.again("flightcache zstd, kept apart", "bench_apart")))
        zstd.put(few)
        apart.put(few, batching="keep")
        checks.equal([zstd, apart], few)
        kind = "batches of 1,000 rows are not joined: get 6 of 6"
        s.figures[kind] = interleave([Work(c.name, c.pid, c.get, few.num_rows, 2) for c in (zstd, apart)], z.rounds)
        _gain(s, kind, apart.name, zstd.name)


def measure(z: Sizes, table: pa.Table) -> Section:
    """All ablations."""
    s = Section(
        "What the parts gain",
        "The server with one part left out, beside the server as it is; each line of the first table is the ratio of "
        "the one to the other, so that what is above 1x is what the part gains. Flat is the setting that the part is "
        "for, a single batch of 1,000 rows the other extreme.",
    )
    small = table.slice(0, 1_000).combine_chunks()
    for ablation in BUILDS:
        _build(s, ablation, table, small, z)
    _statistics(s)
    _commands(s, table, small, z)
    return s
