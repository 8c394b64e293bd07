"""Puts: whole or not at all, whatever happens on the way."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.flight as fl

from . import _forks, _sources
from ._progress import Meter, Progress
from .connection import Connection
from .errors import FlightcacheError

Facts = dict[str, Any]
"""What the server tells of a dataset: name, generation, rows, sizes, columns with their statistics."""

_LONGEST = 86_400
"""Seconds that a put may take whose rows are not known when it begins; the server has no longer transactions."""


def put(connection: Connection, data: Any, command: Mapping[str, Any], progress: Progress) -> Facts:
    """Puts ``data`` and returns the facts of what is there now.

    pyarrow ends a call in the same way whether all batches were written or their producer failed. So the server must
    know otherwise whether it has everything: by the number of rows, or by a transaction, which is committed when all
    were sent.
    """
    rows = _sources.rows(data)
    if rows is not None or "transaction" in command:
        return _repeated(connection, data, {**command, **({} if rows is None else {"rows": rows})}, progress)
    return _in_transaction(connection, data, command, progress)


def _repeated(connection: Connection, data: Any, command: Mapping[str, Any], progress: Progress) -> Facts:
    """A put that is sent again while the server is unavailable. By its put_id it is stored once."""
    named = {"put_id": str(uuid.uuid4()), **command}
    sent = _Put(connection, data, named, progress)
    return connection.repeated(sent.once, lambda: _sources.repeatable(data) or not sent.begun)


def _in_transaction(connection: Connection, data: Any, command: Mapping[str, Any], progress: Progress) -> Facts:
    dataset, put_id = command["dataset"], command.get("put_id", str(uuid.uuid4()))
    mode = {"mode": command["mode"]} if "mode" in command else {}
    of_put = {key: value for key, value in command.items() if key != "mode"}
    begun = connection.action("begin", {"dataset": dataset, "ttl": _LONGEST, **mode})["transaction"]
    try:
        _repeated(connection, data, {**of_put, "put_id": put_id, "transaction": begun}, progress)
        ended = {"dataset": dataset, "transaction": begun, "puts": [put_id]}
        return connection.action("commit", ended)
    except BaseException:
        abort(connection, dataset, begun)
        raise


def abort(connection: Connection, dataset: str, transaction: str) -> None:
    """Gives a transaction up. The server does so by itself in the end, so that a failure is of no account."""
    with contextlib.suppress(FlightcacheError):
        connection.action("abort", {"dataset": dataset, "transaction": transaction}, safe=False)


class _Put:
    """One put, and how often it was begun."""

    def __init__(self, connection: Connection, data: Any, command: Mapping[str, Any], progress: Progress) -> None:
        self._connection, self._data, self._progress = connection, data, progress
        self._command = command
        self.begun = self._writing = False

    def once(self) -> Facts:
        """Sends everything."""
        batches = _sources.reader(self._data)
        descriptor = fl.FlightDescriptor.for_command(json.dumps(self._command))
        client, options = self._connection.client(), self._connection.options.call()
        writer, answers = client.do_put(descriptor, batches.schema, options)
        _forks.remember([writer, answers])
        self._writing = False
        try:
            self._send(batches, writer)
            answer = answers.read()
        except Exception:
            # The status of the call is what a failed write is really about, but says nothing of a failed producer.
            with contextlib.nullcontext() if self._writing else contextlib.suppress(Exception):
                writer.close()
            raise
        except BaseException:
            with contextlib.suppress(Exception):
                writer.close()
            raise
        writer.close()
        facts: Facts = json.loads(answer.to_pybytes())
        return facts

    def _send(self, batches: pa.RecordBatchReader, writer: fl.FlightStreamWriter) -> None:
        meter = Meter(self._progress, f"put {self._command['dataset']}", _sources.rows(self._data))
        self.begun = True
        try:
            for batch in batches:
                for piece in _sources.pieces(batch):
                    self._writing = True
                    writer.write_batch(piece)
                    self._writing = False
                    meter.count(piece)
            self._writing = True
            writer.done_writing()
        finally:
            meter.end()
