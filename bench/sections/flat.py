"""The flat table: puts by codec, reads of all, three, one and no column, and what is kept of it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable

import pyarrow as pa

import checks
import machine
from contenders import CODECS, PEERS, Contender, side_by_side, start_bare, start_peer
from contenders import flightcache as serve
from report import Row, Section
from rounds import Work, interleave
from sections.common import puts, resident, wire
from sources import Sizes

MIB = 2**20
FLOOR = "client alone, decoding {}"
BARE = "bare sender of {}"
FOOTPRINTS = {"zstd": 50.5, "lz4": 146.5, "none": 316}


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


def _bare(stack: contextlib.ExitStack, contenders: list[Contender]) -> list[Contender]:
    """Servers that send the same bytes as ours does for all columns, out of memory, and do nothing else."""
    out = []
    for c in contenders:
        if c.codec and not c.encode:
            peer = stack.enter_context(start_bare(c))
            out.append(Contender(BARE.format(c.codec), peer.address, peer.pid))
            stack.callback(out[-1].close)
    return out


def _reads(s: Section, contenders: list[Contender], table: pa.Table, rounds: int) -> None:
    names = table.column_names
    for n, repeat in {6: 1, 3: 2, 1: 4, 0: 20}.items():
        columns = names[:n]
        works = [
            Work(c.name, c.pid, lambda c=c, x=columns: c.get(x), table.num_rows, repeat)
            for c in contenders
            if not c.encode
        ]
        for codec in ("zstd", "lz4") if n else ():
            decode = decoder(table, columns, codec)
            works.append(Work(FLOOR.format(codec), os.getpid(), decode, table.num_rows, repeat))
        kind = f"get {n} of {len(names)}"
        with contextlib.ExitStack() as stack:
            if n == len(names):
                bare = _bare(stack, contenders)
                checks.equal(bare, table)
                works += [Work(c.name, c.pid, c.get, table.num_rows, repeat) for c in bare]
            s.figures[kind] = interleave(works, rounds)
        wire([c for c in contenders if c.name in s.figures[kind]], s.figures[kind], columns)


def _targets(s: Section, stored: dict[str, float]) -> None:
    f = "flightcache "
    for codec, wall, cpu in (("zstd", 0.9, 0.27), ("lz4", 0.9, 0.6), ("none", 1.0, 1.3)):
        s.ratio("get 6 of 6", f + codec, wall)
        s.ratio("get 6 of 6", f + codec, cpu, cpu=True)
    s.ratio("get 6 of 6", f + "none", 0.45, cpu=True, peer="arrow-go")
    s.ratio("get 1 of 6", f + "zstd", 1.15, peer=FLOOR.format("zstd"))
    s.ratio("get 1 of 6", f + "zstd", 0.27, cpu=True)
    s.ratio("get 1 of 6", f + "none", 1.3)
    for codec, target in (("none", 1.3), ("lz4", 2.6), ("zstd", 3.5)):
        s.ratio("put", f + codec, target)
    for codec in CODECS:
        s.ratio("get 6 of 6", f + codec, peer=BARE.format(codec))
    s.ratio("get 6 of 6", BARE.format("none"))
    put = s.figures["put"]
    for codec in ("lz4", "zstd"):
        if (name := f"{f}{codec}, deferred") not in put:
            continue
        s.ratio("put", name, 1.4)
        encode, settle = put[f + codec].seconds - put[f + "none"].seconds, put[name].settle_seconds
        measured = f"{1e3 * settle:.2f} ms / {1e3 * encode:.2f} ms"
        what = f"put, {codec}, deferred: time until settled against what encoding adds to a put"
        s.rows.append(Row(what, settle / encode, 2, measured=measured))
    for codec, limit in FOOTPRINTS.items():
        s.rows.append(Row(f"kept bytes, {codec}", stored[codec], limit, "MiB", "stored_bytes of describe"))


def measure(z: Sizes, table: pa.Table) -> Section:
    """Puts and reads by one pyarrow client."""
    s = Section(
        "The flat table",
        f"{table.num_rows:,} rows of three int64 and three strings in batches of 65,536, put and read by one pyarrow "
        "client on the loopback. The lines of the client alone are its own decoding from memory, with its own CPU: "
        "what no server can be faster than. A bare sender writes the bytes of our answers out of memory and does "
        "nothing else: what no server that sends them can be faster than. Bytes sent are those of one read's messages, "
        "gRPC's framing apart.",
    )
    with side_by_side(deferred=True) as contenders:
        s.figures["put"] = puts(contenders, table, z.rounds)
        checks.equal(contenders, table, ["s1"])
        _reads(s, contenders, table, z.rounds)
        stored = {c.codec: c.stored_bytes() / MIB for c in contenders if c.codec and not c.encode}
        if not any(c.encode for c in contenders):
            s.about += " This server does not know the key `encode` of a put: the deferred rows are left out."
        resident(s, contenders)
    _targets(s, stored)
    return s


def footprints(z: Sizes, table: pa.Table) -> Section:
    """Resident memory of servers that have one dataset, and of one whose dataset was replaced."""
    s = Section(
        "Resident memory",
        "A fresh server for each line: the flat table is put once and read once; three seconds later its memory is "
        f"read. Replaced: put {1 + z.replacements} times, uncompressed.",
    )

    def one(c: Contender, puts: int = 1) -> None:
        for _ in range(puts):
            c.put(table)
        if c.get() != table.num_rows:
            raise AssertionError(f"{c.name} has another number of rows")
        time.sleep(3)  # what a call used is given back within seconds, not within the call
        name = c.name if puts == 1 else f"{c.name}, replaced {puts - 1} times"
        s.resident[name] = machine.rss_mib(c.pid), machine.peak_mib(c.pid)
        if puts > 1:
            copy = c.stored_bytes() / MIB
            what = f"resident after {puts - 1} replacements, none"
            s.rows.append(Row(what, s.resident[name][0], 1.5 * copy + 96, "MiB", f"one copy is {copy:.1f} MiB"))
        c.close()

    for name in PEERS:
        with start_peer(name) as peer:
            one(Contender(name, peer.address, peer.pid))
    for codec in CODECS:
        with serve() as server:
            one(Contender(f"flightcache {codec}", server.address, server.pid, codec))
    with serve() as server:
        one(Contender("flightcache none", server.address, server.pid, "none"), 1 + z.replacements)
    return s
