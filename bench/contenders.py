"""The servers that are compared, and the same few calls on each of them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.flight as fl

from service import Server

ROOT = Path(__file__).resolve().parent.parent


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


def pyarrow_peer() -> Peer:
    return Peer(sys.executable, ROOT / "bench" / "peers" / "pyarrow_server.py")


def arrowgo_peer() -> Peer:
    return Peer(ROOT / "bin" / "bench-arrowgo")


def flightcache() -> Server:
    return Server()


def flightcache_without_statistics() -> Server:
    """A build that does not measure what is put: what it saves is what statistics cost."""
    return Server(binary=ROOT / "bin" / "bench-nostatistics")


@dataclass
class Contender:
    """One dataset on one server. ``codec`` is None for a peer, which is put to by path and knows no codecs."""

    name: str
    address: str
    pid: int
    codec: str | None = None

    def __post_init__(self) -> None:
        self._client = fl.connect(self.address)
        self.dataset = f"bench_{self.codec or 'plain'}"

    def ticket(self, columns: list[str] | None = None, **keys: Any) -> str:
        request = {"dataset": self.dataset, **keys}
        if columns is not None:
            request["columns"] = columns
        return json.dumps(request)

    def put(self, table: pa.Table, dataset: str | None = None, **keys: Any) -> None:
        """Puts the table and waits for the answer."""
        name = dataset or self.dataset
        if self.codec is None:
            descriptor = fl.FlightDescriptor.for_path(name)
        else:
            descriptor = fl.FlightDescriptor.for_command(json.dumps({"dataset": name, "codec": self.codec, **keys}))
        writer, results = self._client.do_put(descriptor, table.schema)
        writer.write_table(table)
        writer.done_writing()
        while results.read() is not None:
            pass
        writer.close()

    def get(self, columns: list[str] | None = None, **keys: Any) -> int:
        """Reads the columns and lets go of each batch; returns the rows."""
        return sum(chunk.data.num_rows for chunk in self._client.do_get(fl.Ticket(self.ticket(columns, **keys))))

    def read(self, columns: list[str] | None = None) -> pa.Table:
        return self._client.do_get(fl.Ticket(self.ticket(columns))).read_all()

    def count(self, dataset: str | None = None) -> int:
        descriptor = fl.FlightDescriptor.for_path(dataset or self.dataset)
        return self._client.get_flight_info(descriptor).total_records

    def action(self, name: str) -> dict[str, Any]:
        body = json.dumps({"dataset": self.dataset}).encode()
        (result,) = self._client.do_action(fl.Action(name, body))
        return json.loads(result.body.to_pybytes())

    def stored_bytes(self) -> int:
        return self.action("describe")["stored_bytes"]

    def close(self) -> None:
        self._client.close()
