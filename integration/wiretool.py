"""Runs ``bin/wire``, which shows and sends Flight messages as they are, and takes pyarrow messages apart for it."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from service import ROOT

_WIRE = ROOT / "bin" / "wire"


def login(roots: str, token: str) -> dict[str, str]:
    """What the functions here need for a server with TLS that knows its callers: a file of roots, and a token."""
    return {"WIRE_ROOTS": roots, "WIRE_TOKEN": token}


def _env(login: Mapping[str, str] | None) -> dict[str, str]:
    return {**os.environ, **(login or {})}


def get(address: str, ticket: bytes, out: Path, accept_codecs: str = "") -> dict[str, Any]:
    """One DoGet by a stock Go client; its messages become the IPC stream ``out``."""
    command = [_WIRE, "get", "--address", address, "--ticket", ticket.decode(), "--out", out]
    if accept_codecs:
        command += ["--accept-codecs", accept_codecs]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def put(address: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """One DoPut of exactly ``messages``."""
    lines = "\n".join(json.dumps(m) for m in messages)
    done = subprocess.run([_WIRE, "put", "--address", address], input=lines.encode(), check=True, capture_output=True)
    return json.loads(done.stdout)


def cancel(
    address: str, tickets: list[bytes], count: int, seed: int, login: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Begins ``count`` DoGets of stock Go clients on eight connections, and gives each up within three messages."""
    flags = ["--address", address, "--count", str(count), "--seed", str(seed)]
    command = [_WIRE, "cancel", *flags, *(ticket.decode() for ticket in tickets)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, env=_env(login)).stdout)


class Background:
    """A command of ``bin/wire`` that goes on until its input ends, which ``end`` brings about."""

    def __init__(self, *arguments: str, login: Mapping[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [_WIRE, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_env(login)
        )

    def report(self) -> dict[str, Any]:
        """The next line that it prints. It is waited for."""
        return json.loads(self.process.stdout.readline())

    def end(self) -> dict[str, Any]:
        """Ends it, and gives its last line."""
        out, _ = self.process.communicate()
        assert self.process.returncode == 0
        return json.loads(out)


def probe(address: str, login: Mapping[str, str] | None = None) -> Background:
    """A client that behaves: it puts, asks and reads again and again."""
    return Background("probe", "--address", address, login=login)


def hostile(
    address: str, kind: str, count: int, ticket: bytes = b"", seed: int = 0, login: Mapping[str, str] | None = None
) -> Background:
    """``count`` clients that do not. Its first report comes when all have begun."""
    flags = ["--address", address, "--kind", kind, "--count", str(count), "--seed", str(seed)]
    return Background("hostile", *flags, "--ticket", ticket.decode(), login=login)


def message(
    header: bytes = b"", body: bytes = b"", path: list[str] | None = None, command: bytes | None = None
) -> dict[str, Any]:
    """One message for ``put``."""
    line: dict[str, Any] = {"header": base64.b64encode(header).decode(), "body": base64.b64encode(body).decode()}
    if path is not None:
        line["path"] = path
    if command is not None:
        line["command"] = base64.b64encode(command).decode()
    return line


def split(encapsulated: pa.Buffer) -> tuple[bytes, bytes]:
    """The header and the body of one message that pyarrow serialised."""
    data = encapsulated.to_pybytes()
    length = int.from_bytes(data[4:8], "little")
    return data[8 : 8 + length], data[8 + length :]


def stream(data: pa.Table, **options: Any) -> list[dict[str, Any]]:
    """The messages of ``data`` for ``put`` in pyarrow's order: the schema, then each batch after its dictionaries.

    ``options`` are those of ``IpcWriteOptions``.
    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, data.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(data)
    made = []
    for m in pa.ipc.MessageReader.open_stream(sink.getvalue()):
        made.append(message(m.metadata.to_pybytes(), m.body.to_pybytes() if m.body is not None else b""))
    return made


def described(messages: list[dict[str, Any]], **descriptor: Any) -> list[dict[str, Any]]:
    """The same messages, the first with a descriptor: a ``path`` or a ``command``, as ``message`` takes them."""
    first = {**messages[0], **{k: v for k, v in message(**descriptor).items() if k in descriptor}}
    return [first, *messages[1:]]
