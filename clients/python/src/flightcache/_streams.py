"""The batches of one read, over one stream or several.

A stream that nobody reads on is cancelled as soon as its generator is closed, which Python does when the last reference
to it goes: the server then stops sending and has its memory back.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.flight as fl

from . import _forks
from ._alignment import aligned
from .connection import Connection
from .errors import DatasetChanged, Forked, server_errors

_AHEAD = 2
"""Batches that a stream of several may read ahead of its consumer."""


def check_schema(got: pa.Schema, expected: pa.Schema | None) -> None:
    """Raises ``DatasetChanged`` if these are not the columns that are expected."""
    if expected is not None and not got.equals(expected):
        raise DatasetChanged(
            f"the dataset has other columns than when its schema was read: {got.to_string(show_field_metadata=False)}; "
            "open it again"
        )


def batches(connection: Connection, ticket: bytes, expected: pa.Schema | None = None) -> Iterator[pa.RecordBatch]:
    """The batches of one stream, each read when it is asked for. The call is made with the first."""
    reader, schema = connection.stream(ticket)
    try:
        check_schema(schema, expected)
        while True:
            _forks.check()
            with server_errors():
                try:
                    batch = reader.read_chunk().data
                except StopIteration:
                    return
            if batch is not None:
                yield aligned(batch)
    finally:
        _end(reader)


def _end(reader: fl.FlightStreamReader) -> None:
    # In a forked child the call is the parent's.
    with contextlib.suppress(Forked):
        _forks.check()
        reader.cancel()


class _Stopped(Exception):
    """The consumer has gone."""


class _Workers:
    """Threads that read one stream each, and hand their batches to one consumer, in the order in which they come."""

    def __init__(self, connection: Connection, tickets: Sequence[bytes], expected: pa.Schema | None) -> None:
        self._connection = connection
        self._expected = expected
        self._ready: queue.Queue[pa.RecordBatch | BaseException | None] = queue.Queue(_AHEAD * len(tickets))
        self._stop = threading.Event()
        self._guard = threading.Lock()
        self._readers: list[fl.FlightStreamReader] = []
        self._threads = [
            threading.Thread(target=self._read, args=(ticket,), name="flightcache-read", daemon=True)
            for ticket in tickets
        ]
        self._started = self._threads[:0]
        self._start(1)

    def _start(self, most: int) -> None:
        while len(self._started) < min(most, len(self._threads)):
            thread = self._threads[len(self._started)]
            thread.start()
            self._started.append(thread)

    def _hand(self, item: pa.RecordBatch | BaseException | None) -> None:
        while not self._stop.is_set():
            try:
                self._ready.put(item, timeout=0.1)
                return
            except queue.Full:
                continue
        raise _Stopped

    def _read(self, ticket: bytes) -> None:
        try:
            reader, schema = self._connection.stream(ticket)
            with self._guard:
                self._readers.append(reader)
            try:
                check_schema(schema, self._expected)
                while not self._stop.is_set():
                    with server_errors():
                        try:
                            batch = reader.read_chunk().data
                        except StopIteration:
                            break
                    if batch is not None:
                        self._hand(aligned(batch))
            finally:
                reader.cancel()
            self._hand(None)
        except _Stopped:
            pass
        except BaseException as error:
            with contextlib.suppress(_Stopped):
                self._hand(error)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        left = len(self._threads)
        given = 0
        while left:
            _forks.check()
            item = self._ready.get()
            if item is None:
                left -= 1
                self._start(len(self._threads))
            elif isinstance(item, BaseException):
                raise item
            else:
                yield item
                # Who wants a few rows only shall not have all streams begin.
                given += 1
                if given >= _AHEAD:
                    self._start(len(self._threads))

    def stop(self) -> None:
        """Ends what still reads, and waits for it."""
        self._stop.set()
        with self._guard:
            for reader in self._readers:
                reader.cancel()
        for thread in self._started:
            thread.join()


def unordered(connection: Connection, info: fl.FlightInfo, expected: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The batches of all endpoints of ``info``, all read at once, in no order. Its lease ends with them."""
    workers = _Workers(connection, [endpoint.ticket.ticket for endpoint in info.endpoints], expected)
    try:
        yield from workers
    finally:
        with contextlib.suppress(Forked):
            _forks.check()
            workers.stop()
            connection.let_go(info)
