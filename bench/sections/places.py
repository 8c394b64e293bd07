"""The same reads by other ways: a unix socket and TLS beside TCP, files beside memory."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from pathlib import Path

import pyarrow as pa

import checks
from contenders import ROOT, Contender, flightcache
from report import Section
from rounds import Work, interleave
from sections.common import resident
from sources import Sizes

CODECS = ("zstd", "none")


def sockets(z: Sizes, table: pa.Table) -> Section:
    """One server that listens on all, and the same datasets."""
    s = Section(
        "Unix socket and TLS beside TCP",
        "One server listens on all; the same pyarrow client puts and reads the flat table by each. The peers are left "
        "out: the client's own decryption is a large part of what TLS takes.",
    )
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="flightcache-"))
        unix = f"grpc+unix://{Path(folder) / 'socket'}"
        subprocess.run([ROOT / "bin" / "certificates", folder, "server"], check=True)
        files = ("--tls-cert", f"{folder}/server.pem", "--tls-key", f"{folder}/server.key")
        server = stack.enter_context(flightcache("--listen", "grpc+tls://127.0.0.1:0", "--listen", unix, *files))
        roots = (Path(folder) / "ca.pem").read_bytes()
        plain, encrypted = server.addresses[:2]
        contenders = []
        for codec in CODECS:
            for way, address, known in (("TCP", plain, None), ("unix", unix, None), ("TLS", encrypted, roots)):
                name = f"flightcache {codec}, {way}"
                contenders.append(Contender(name, address, server.pid, codec, roots=known))
                stack.callback(contenders[-1].close)
        works = [Work(c.name, c.pid, lambda c=c: c.put(table)) for c in contenders]
        s.figures["put by socket"] = interleave(works, z.other_rounds)
        checks.equal(contenders, table)
        for label, columns, repeat in (("get 6 of 6", None, 1), ("get 1 of 6", ["id"], 4)):
            works = [Work(c.name, c.pid, lambda c=c, x=columns: c.get(x), table.num_rows, repeat) for c in contenders]
            s.figures[f"{label} by socket"] = interleave(works, z.rounds)
        works = [Work(c.name, c.pid, c.count, table.num_rows, 100) for c in contenders]
        s.figures["GetFlightInfo by socket"] = interleave(works, z.other_rounds)
    for kind in list(s.figures):
        for codec in CODECS:
            for way in ("unix", "TLS"):
                s.ratio(kind, f"flightcache {codec}, {way}", peer=f"flightcache {codec}, TCP")
    return s


def spilled(z: Sizes, table: pa.Table) -> Section:
    """The same dataset from memory and from files."""
    s = Section(
        "Files beside memory",
        "A server with a data folder; before each read of a spilled dataset the action `evict` moves all of its "
        "batches to files. They are in the page cache: what is weighed is the way from there, not the disk. Puts are "
        "those of a server with a folder, into memory, and durable ones, which are on the disk when the answer comes.",
    )
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="flightcache-"))
        server = stack.enter_context(flightcache("--data-dir", folder))
        contenders = [Contender(f"flightcache {codec}", server.address, server.pid, codec) for codec in CODECS]
        for c in contenders:
            stack.callback(c.close)
        works = []
        for c in contenders:
            works.append(Work(f"{c.name}, memory", c.pid, lambda c=c: c.put(table)))
            durable = f"{c.dataset}_durable"
            works.append(Work(f"{c.name}, durable", c.pid, lambda c=c, d=durable: c.put(table, d, durable=True)))
        s.figures["put with a folder"] = interleave(works, z.other_rounds)
        for c in contenders:
            c.action("evict")
        checks.equal(contenders, table, ["s1"])
        for label, columns, repeat in (("get 6 of 6", None, 1), ("get 1 of 6", ["id"], 2)):
            works = []
            for c in contenders:
                # A read from memory comes after one that brings back whatever an eviction took away.
                want = table.num_rows
                call = lambda c=c, x=columns: c.get(x)  # noqa: E731
                works.append(
                    Work(f"{c.name}, memory", c.pid, call, want, repeat, before=lambda c=c: c.action("pin") and c.get())
                )
                evict = lambda c=c: c.action("unpin") and c.action("evict")  # noqa: E731
                works.append(Work(f"{c.name}, files", c.pid, call, want, repeat, before=evict))
            s.figures[f"{label} from"] = interleave(works, z.rounds)
        checks.equal(contenders, table)
        resident(s, contenders)
    for kind in list(s.figures):
        for codec in CODECS:
            other = "durable" if kind.startswith("put") else "files"
            for cpu in (False, True):
                s.ratio(kind, f"flightcache {codec}, {other}", cpu=cpu, peer=f"flightcache {codec}, memory")
    return s
