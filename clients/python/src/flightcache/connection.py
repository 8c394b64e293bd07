"""One connection to a server: calls, their options, and their repetition."""

from __future__ import annotations

import contextlib
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.flight as fl

from . import _forks
from . import _protobuf as protobuf
from .errors import BadRequest, FlightcacheError, Unavailable, server_errors

T = TypeVar("T")

FIRST_PAUSE = 0.1
"""Seconds before a call is made again for the first time; each further pause is twice as long, up to 2 s."""
LONGEST_PAUSE = 2.0
_SHORT = 2.0
"""Seconds for a call that need not succeed."""
ACCEPTED_CODECS = "zstd, lz4"
"""The codecs of batches that every pyarrow reads. The server sends what is stored so as it lies."""


@dataclass(frozen=True)
class Options:
    """What holds for every call of a client."""

    token: str | None = None
    timeout: float | None = None
    retries: int = 5
    headers: Mapping[str, str] = field(default_factory=dict)

    def call(self) -> fl.FlightCallOptions:
        """The options as pyarrow takes them."""
        headers = {"flightcache-accept-codecs": ACCEPTED_CODECS, **self.headers}
        if self.token is not None:
            headers["authorization"] = f"Bearer {self.token}"
        pairs = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        return fl.FlightCallOptions(timeout=self.timeout, headers=pairs)


class Connection:
    """A connection that any number of threads share. Errors of its calls are this package's."""

    def __init__(self, address: str, options: Options, **tls: Any) -> None:
        _forks.check()
        self.address = address
        self.options = options
        try:
            self._flight = fl.connect(address, **tls)
        except (pa.ArrowException, KeyError, ValueError) as error:
            forms = "grpc://host:port, grpc+tls://host:port or grpc+unix:///path"
            raise BadRequest(f"the address {address!r} is none of a server: {error}; give {forms}") from None
        self._closed = False
        _forks.remember([self._flight])

    def close(self) -> None:
        """Closes the connection; what still reads from it ends with an error. A second call does nothing."""
        if not self._closed:
            _forks.check()
            self._closed = True
            self._flight.close()

    def client(self) -> fl.FlightClient:
        """pyarrow's own client, if it can be used here and now."""
        _forks.check()
        if self._closed:
            raise Unavailable(f"the connection to {self.address} is closed; connect again")
        return self._flight

    def repeated(self, call: Callable[[], T], again: Callable[[], bool] = lambda: True) -> T:
        """The result of ``call``, which is made again while the server is unavailable and ``again()`` allows it."""
        pause = FIRST_PAUSE
        for left in range(self.options.retries, -1, -1):
            try:
                with server_errors():
                    return call()
            except Unavailable:
                if left == 0 or self._closed or not again():
                    raise
            # Of clients that lost the same server, some come sooner and some later.
            time.sleep(pause * random.uniform(0.5, 1))
            pause = min(2 * pause, LONGEST_PAUSE)
        raise AssertionError("unreachable")

    def action(self, name: str, body: Mapping[str, Any] | None = None, *, safe: bool = True) -> dict[str, Any]:
        """The result of one of the server's actions. It is repeated if it is ``safe`` to do twice."""
        action = fl.Action(name, json.dumps(body or {}).encode())

        def call() -> dict[str, Any]:
            (result,) = self.client().do_action(action, self.options.call())
            found: dict[str, Any] = json.loads(result.body.to_pybytes())
            return found

        return self.repeated(call, lambda: safe)

    def info(self, command: Mapping[str, Any]) -> fl.FlightInfo:
        """What a read would send. Its tickets hold a lease until :meth:`let_go`."""
        descriptor = fl.FlightDescriptor.for_command(json.dumps(command))
        return self.repeated(lambda: self.client().get_flight_info(descriptor, self.options.call()))

    def schema(self, command: Mapping[str, Any]) -> pa.Schema:
        """The schema of what a read would send."""
        descriptor = fl.FlightDescriptor.for_command(json.dumps(command))
        return self.repeated(lambda: self.client().get_schema(descriptor, self.options.call()).schema)

    def listing(self, prefix: str) -> Iterator[fl.FlightInfo]:
        """The datasets whose names begin with ``prefix``."""
        found = self.repeated(lambda: list(self.client().list_flights(prefix.encode(), self.options.call())))
        return iter(found)

    def let_go(self, info: fl.FlightInfo) -> None:
        """Ends the lease of ``info``. It ends by itself a little later, so that a failure is of no account."""
        request = fl.Action("CancelFlightInfo", protobuf.field(1, info.serialize()))
        with contextlib.suppress(FlightcacheError), server_errors():
            list(self.client().do_action(request, replace(self.options, timeout=_SHORT).call()))

    def stream(self, ticket: bytes) -> tuple[fl.FlightStreamReader, pa.Schema]:
        """A read that has begun, and the schema of its batches."""

        def call() -> tuple[fl.FlightStreamReader, pa.Schema]:
            reader = self.client().do_get(fl.Ticket(ticket), self.options.call())
            _forks.remember([reader])
            return reader, reader.schema

        return self.repeated(call)
