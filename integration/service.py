"""Starts the built server, and speaks to it as any pyarrow client would.

Nothing here knows more than the public interface: the command line, the ready file, and Arrow Flight.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.flight as fl

ROOT = Path(__file__).resolve().parent.parent
BINARY = ROOT / "bin" / "flightcache"
TRAP_BINARY = ROOT / "bin" / "flightcache-trap"
START_SECONDS = 30
STOP_SECONDS = 30


class StartError(RuntimeError):
    """The server ended, or did not become ready in time. The message carries what it wrote."""


def serve_command(*flags: str, binary: Path = BINARY, listen: Sequence[str] = ("grpc://127.0.0.1:0",)) -> list[str]:
    """Runs a server on a port of its own."""
    addresses = [flag for address in listen for flag in ("--listen", address)]
    return [str(binary), "serve", *addresses, "--http", "off", *flags]


class Server:
    """One running server process on a port of its own. Use it as a context manager: it ends with the block."""

    def __init__(
        self,
        *flags: str,
        binary: Path = BINARY,
        env: dict[str, str] | None = None,
        within: Sequence[str] = (),
        listen: Sequence[str] = ("grpc://127.0.0.1:0",),
    ) -> None:
        """``within`` is a command that runs the server's in its own process, such as one that enters namespaces."""
        self._folder = tempfile.TemporaryDirectory(prefix="flightcache-")
        ready = Path(self._folder.name) / "ready.json"
        self._log = Path(self._folder.name) / "log"
        command = [*within, *serve_command(*flags, "--ready-file", str(ready), binary=binary, listen=listen)]
        with self._log.open("wb") as sink:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                env={**os.environ, **(env or {})},
            )
        try:
            facts = self._wait_until_ready(ready)
        except BaseException:
            self.kill()
            raise
        self.pid: int = facts["pid"]
        self.addresses: list[str] = facts["listen"]
        self.address: str = self.addresses[0]
        self.http: str = facts["http"]
        """Address of its metrics; empty unless a flag asks for them."""

    def _wait_until_ready(self, ready: Path) -> dict[str, Any]:
        deadline = time.monotonic() + START_SECONDS
        while not ready.exists():
            if self.process.poll() is not None:
                raise StartError(f"the server ended with code {self.process.returncode}: {self.log()}")
            if time.monotonic() > deadline:
                raise StartError(f"the server was not ready after {START_SECONDS} s: {self.log()}")
            time.sleep(0.01)
        return json.loads(ready.read_text())

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def log(self) -> str:
        """What the server has written so far."""
        return self._log.read_text(errors="replace")

    def rss_mib(self) -> float:
        """The process's resident memory."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise StartError(f"process {self.pid} has no resident memory: it has ended")

    def stop(self) -> int:
        """Asks the server to drain and end; returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
        self._folder.cleanup()
        return self.process.returncode

    def kill(self) -> None:
        """Ends the server as a crash would."""
        self.process.kill()
        self.process.wait()
        self._folder.cleanup()

    def client(self) -> Client:
        """A new connection. The caller closes it."""
        return Client(self.address)


def wait(done: Callable[[], bool], seconds: float = 30) -> None:
    """Waits for what the server does by itself."""
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def command_of(dataset: str, **keys: Any) -> bytes:
    """A JSON command for ``dataset``."""
    return json.dumps({"dataset": dataset, **keys}).encode()


def _message(number: int, payload: bytes) -> bytes:
    """A protobuf message whose only field is another message."""
    out, size = bytearray([number << 3 | 2]), len(payload)
    while size > 0x7F:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*out, size]) + payload


def chunked(table: pa.Table, rows: int | None) -> pa.Table:
    """``table`` in batches of ``rows`` rows; None for one batch of everything."""
    whole = table.combine_chunks()
    return pa.Table.from_batches(whole.to_batches(max_chunksize=rows), schema=table.schema)


class Client:
    """A pyarrow Flight client and the few calls that every test makes."""

    def __init__(self, address: str, **options: Any) -> None:
        """``options`` are those of pyarrow's client, such as certificates."""
        self.flight = fl.connect(address, **options)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.flight.close()

    def put(
        self, dataset: str, data: pa.Table, options: fl.FlightCallOptions | None = None, **keys: Any
    ) -> dict[str, Any]:
        """Puts the batches of ``data`` as they are; returns the facts that the server answers with."""
        return self.put_batches(dataset, data.schema, data.to_batches(), options, **keys)

    def put_batches(
        self,
        dataset: str,
        schema: pa.Schema,
        batches: Iterable[pa.RecordBatch],
        options: fl.FlightCallOptions | None = None,
        **keys: Any,
    ) -> dict[str, Any]:
        descriptor = fl.FlightDescriptor.for_command(command_of(dataset, **keys))
        return self.put_to(descriptor, schema, batches, options)

    def put_to(
        self,
        descriptor: fl.FlightDescriptor,
        schema: pa.Schema,
        batches: Iterable[pa.RecordBatch],
        options: fl.FlightCallOptions | None = None,
    ) -> dict[str, Any]:
        writer, results = self.flight.do_put(descriptor, schema, options)
        facts = None
        try:
            for batch in batches:
                writer.write_batch(batch)
            writer.done_writing()
            answer = results.read()
            facts = json.loads(answer.to_pybytes()) if answer is not None else None
        finally:
            # Closing raises the status of the call, which is what a failed write is really about.
            writer.close()
        return facts

    def get(self, dataset: str, options: fl.FlightCallOptions | None = None, **keys: Any) -> pa.Table:
        """Everything that the read command selects, through a plain JSON ticket."""
        return self.flight.do_get(fl.Ticket(command_of(dataset, **keys)), options).read_all()

    def info(self, dataset: str, **keys: Any) -> fl.FlightInfo:
        return self.flight.get_flight_info(fl.FlightDescriptor.for_command(command_of(dataset, **keys)))

    def action(self, name: str, **body: Any) -> dict[str, Any]:
        """One action; its body and its single result are JSON objects."""
        results = list(self.flight.do_action(fl.Action(name, json.dumps(body).encode())))
        if len(results) != 1:
            raise AssertionError(f"the action {name} gave {len(results)} results; one is promised")
        return json.loads(results[0].body.to_pybytes())

    def _flights_own(self, name: str, message: bytes) -> bytes:
        """One of Flight's own actions, which pyarrow has no method for: the request's only field is a message."""
        (result,) = self.flight.do_action(fl.Action(name, _message(1, message)))
        return result.body.to_pybytes()

    def renew(self, endpoint: fl.FlightEndpoint) -> fl.FlightEndpoint:
        return fl.FlightEndpoint.deserialize(self._flights_own("RenewFlightEndpoint", endpoint.serialize()))

    def cancel(self, info: fl.FlightInfo) -> int:
        """Ends the lease of ``info``; gives the status that CancelFlightInfo answers with."""
        key, status = self._flights_own("CancelFlightInfo", info.serialize())
        if key != 1 << 3:
            raise AssertionError(f"the answer to CancelFlightInfo begins with {key}")
        return status

    def describe(self, dataset: str) -> dict[str, Any]:
        return self.action("describe", dataset=dataset)

    def drop(self, dataset: str) -> dict[str, Any]:
        return self.action("drop", dataset=dataset)

    def stats(self, **body: Any) -> dict[str, Any]:
        return self.action("server_stats", **body)

    def names(self, prefix: str = "") -> list[str]:
        """The datasets that ListFlights gives, as written names, in its order."""
        return [
            "/".join(part.decode() for part in f.descriptor.path) for f in self.flight.list_flights(prefix.encode())
        ]

    def charged(self) -> int:
        return self.stats()["charged_bytes"]

    def settled_charge(self, expected: int, seconds: float = 10) -> int:
        """The charged bytes, once they equal ``expected`` or the time is over: releases follow the answer shortly."""
        deadline = time.monotonic() + seconds
        while (now := self.charged()) != expected and time.monotonic() < deadline:
            time.sleep(0.02)
        return now


@contextlib.contextmanager
def counted(client: Client) -> Iterator[dict[str, int]]:
    """A dict that holds, after the block, how much each number of server_stats grew within it."""
    before = client.stats()
    grown: dict[str, int] = {}
    yield grown
    after = client.stats()
    grown.update({k: v - before[k] for k, v in after.items() if isinstance(v, int)})
