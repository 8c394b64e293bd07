"""The servers that are compared, and the same few calls on each of them."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.flight as fl

from service import Server

ROOT = Path(__file__).resolve().parent.parent
CODECS = ("zstd", "lz4", "none")
PEERS = ("pyarrow", "arrow-go")
SETTLE_SECONDS = 120


class Peer:
    """A child process that prints its address on one line when it serves. It ends with the block."""

    def __init__(self, *command: object) -> None:
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.pid = self.process.pid
        self.address = self.process.stdout.readline().decode().strip()
        if not self.address:
            self.stop()
            raise RuntimeError(f"{command[0]} did not start")

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate()


def start_peer(name: str) -> Peer:
    """One of PEERS."""
    if name == "pyarrow":
        return Peer(sys.executable, ROOT / "bench" / "peers" / "pyarrow_server.py")
    return Peer(ROOT / "bin" / "bench-arrowgo")


def start_bare(contender: Contender) -> Peer:
    """A server that only sends the bytes that the contender's server sends for a read of all columns."""
    ticket = contender.ticket(wire="stored")
    return Peer(ROOT / "bin" / "bench-bare", "-from", contender.address, "-ticket", ticket)


def flightcache(*flags: str, without: str = "") -> Server:
    """A server as it is by default but for the flags; ``without`` is the tag of a build that leaves something out."""
    return Server(*flags, binary=ROOT / "bin" / f"bench-{without}") if without else Server(*flags)


def client_tool(name: str, *flags: object) -> dict[str, Any]:
    """Runs a client of bench/ to its end; it answers with one JSON object."""
    command = [str(ROOT / "bin" / f"bench-{name}"), *map(str, flags)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


@dataclass
class Contender:
    """A dataset on a server. ``codec`` is None for a peer, which is put to by path and knows no codecs."""

    name: str
    address: str
    pid: int
    codec: str | None = None
    encode: str | None = None
    roots: bytes | None = None
    """The certificates that a server with TLS is known by."""

    def __post_init__(self) -> None:
        self._client = fl.connect(self.address, **({"tls_root_certs": self.roots} if self.roots else {}))
        self.dataset = "_".join(filter(None, ["bench", self.codec or "plain", self.encode]))

    def again(self, name: str, dataset: str) -> Contender:
        """The same server under another name, with a connection and a dataset of its own. The caller closes it."""
        other = Contender(name, self.address, self.pid, self.codec, self.encode)
        other.dataset = dataset
        return other

    def ticket(self, columns: list[str] | None = None, **keys: Any) -> str:
        request = {"dataset": self.dataset, **keys}
        if columns is not None:
            request["columns"] = columns
        return json.dumps(request)

    def _send(self, descriptor: fl.FlightDescriptor, table: pa.Table) -> None:
        writer, results = self._client.do_put(descriptor, table.schema)
        writer.write_table(table)
        writer.done_writing()
        while results.read() is not None:
            pass
        writer.close()

    def put(self, table: pa.Table, dataset: str | None = None, **keys: Any) -> None:
        """Puts the table and waits for the answer."""
        name = dataset or self.dataset
        if self.codec is None:
            self._send(fl.FlightDescriptor.for_path(name), table)
            return
        command = {"dataset": name, "codec": self.codec, **keys}
        if self.encode:
            command["encode"] = self.encode
        self._send(fl.FlightDescriptor.for_command(json.dumps(command)), table)

    def append(self, table: pa.Table) -> None:
        """Adds the table to the dataset and waits for the answer."""
        command = {"dataset": self.dataset, "mode": "append"}
        if self.codec:
            command["codec"] = self.codec
        self._send(fl.FlightDescriptor.for_command(json.dumps(command)), table)

    def get(self, columns: list[str] | None = None, **keys: Any) -> int:
        """Reads the columns and lets go of each batch; returns the rows."""
        return sum(chunk.data.num_rows for chunk in self._client.do_get(fl.Ticket(self.ticket(columns, **keys))))

    def read(self, columns: list[str] | None = None, **keys: Any) -> pa.Table:
        return self._client.do_get(fl.Ticket(self.ticket(columns, **keys))).read_all()

    def count(self, dataset: str | None = None) -> int:
        descriptor = fl.FlightDescriptor.for_path(dataset or self.dataset)
        return self._client.get_flight_info(descriptor).total_records

    def names(self, prefix: str) -> list[str]:
        """The listed datasets whose names begin so, in the server's order."""
        return [f.descriptor.path[0].decode() for f in self._client.list_flights(prefix.encode())]

    def action(self, name: str) -> dict[str, Any]:
        body = json.dumps({"dataset": self.dataset}).encode()
        (result,) = self._client.do_action(fl.Action(name, body))
        return json.loads(result.body.to_pybytes())

    def stored_bytes(self) -> int:
        return self.action("describe")["stored_bytes"]

    def settle(self) -> None:
        """Waits until nothing of the dataset is plain any more."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while plain := self.action("describe").get("plain_bytes", 0):
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.name} still has {plain} plain bytes after {SETTLE_SECONDS} s")
            time.sleep(0.005)

    def drain(self, readers: int = 1, times: int = 1, columns: list[str] | None = None, **keys: Any) -> dict[str, Any]:
        """Raw readers, in a process of their own, take what a pyarrow client would be sent."""
        if self.codec:
            keys = {"wire": "stored", **keys}
        ticket = self.ticket(columns, **keys)
        flags = ["--address", self.address, "--readers", readers, "--times", times, "--ticket", ticket]
        return client_tool("drain", *flags)

    def knows(self, key: str, value: str) -> bool:
        """Whether the server takes this key of a put; one that does not, says that it is unknown."""
        try:
            self.put(pa.table({"x": [1]}), "bench_probe", **{key: value})
        except pa.ArrowInvalid as refused:
            if "unknown key" in str(refused):
                return False
            raise
        return True

    def close(self) -> None:
        self._client.close()


@contextlib.contextmanager
def side_by_side(
    codecs: Sequence[str] = CODECS, peers: Sequence[str] = PEERS, flags: Sequence[str] = (), deferred: bool = False
) -> Iterator[list[Contender]]:
    """Fresh servers, the peers' and one of ours with a dataset for each codec.

    With ``deferred`` there are contenders that encode after the answer too, if the server knows how to.
    """
    with contextlib.ExitStack() as stack:
        contenders = []
        for name in peers:
            peer = stack.enter_context(start_peer(name))
            contenders.append(Contender(name, peer.address, peer.pid))
        if codecs:
            ours = stack.enter_context(flightcache(*flags))
            contenders += [Contender(f"flightcache {c}", ours.address, ours.pid, c) for c in codecs]
            if deferred and contenders[-1].knows("encode", "deferred"):
                for c in ("zstd", "lz4"):
                    name = f"flightcache {c}, deferred"
                    contenders.append(Contender(name, ours.address, ours.pid, c, "deferred"))
        for contender in contenders:
            stack.callback(contender.close)
        yield contenders
