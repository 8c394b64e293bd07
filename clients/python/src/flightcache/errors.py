"""The exceptions of this package, and what becomes of the server's.

Each one is a :class:`FlightcacheError`, and what Python has for such a thing: an unknown dataset is a ``KeyError``, a
bad column a ``ValueError``, a server that is not there a ``ConnectionError``. Its text is the server's: what was wrong,
with which dataset, and what to do.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.flight as fl


class FlightcacheError(Exception):
    """What every exception of this package is."""


class NotFound(FlightcacheError, KeyError):
    """Something that a call names is not there."""

    # KeyError shows the repr of its argument, quotes and all.
    __str__ = Exception.__str__


class DatasetNotFound(NotFound):
    """There is no such dataset, or no longer."""


class GenerationGone(NotFound):
    """The dataset was replaced since the generation that a read or a ticket names. Ask for it again."""


class TransactionNotFound(NotFound):
    """There is no such transaction: it was committed, aborted, or took longer than its ``ttl``."""


class BadRequest(FlightcacheError, ValueError):
    """A column, a filter, a name, a mode or the data is not what the server can take."""


class DatasetExists(FlightcacheError, ValueError):
    """A put with the mode ``create`` names a dataset that is there."""


class NotSupported(FlightcacheError, NotImplementedError):
    """The server does not do that."""


class Refused(FlightcacheError):
    """The dataset or the server is not in a state for it: pinned, or without a folder for durable data."""


class Conflict(FlightcacheError):
    """Somebody else has changed the dataset meanwhile. Nothing was stored; do it again."""


class ResourceExhausted(FlightcacheError, MemoryError):
    """The server has no memory or no disk for it. The text says what takes it."""


class Unavailable(FlightcacheError, ConnectionError):
    """The server is not there, or went away. Nothing is known of the call's effect."""


class TimedOut(FlightcacheError, TimeoutError):
    """The call took longer than its ``timeout``."""


class Cancelled(FlightcacheError):
    """The call was cancelled."""


class NotAllowed(FlightcacheError, PermissionError):
    """The server does not know the caller, or does not let it do that."""


class DataLoss(FlightcacheError, OSError):
    """What the server has stored is damaged. The text names file and batch."""


class DatasetChanged(FlightcacheError):
    """The dataset was replaced by one of other columns since :meth:`flightcache.Client.dataset` was called."""


class Forked(FlightcacheError, RuntimeError):
    """This process was forked from one that had connections. They, and new ones, would hang: gRPC does not outlive a
    fork.

    Start workers with the start method ``spawn`` or ``forkserver``, or fork before the first connection.
    """


_KINDS: dict[str, type[FlightcacheError]] = {
    "not found": NotFound,
    "invalid argument": BadRequest,
    "already exists": DatasetExists,
    "unimplemented": NotSupported,
    "not implemented": NotSupported,
    "precondition failed": Refused,
    "failed precondition": Refused,
    "aborted": Conflict,
    "resource exhausted": ResourceExhausted,
    "unavailable": Unavailable,
    "timed out": TimedOut,
    "timeout": TimedOut,
    "deadline exceeded": TimedOut,
    "cancelled": Cancelled,
    "unauthenticated": NotAllowed,
    "permission denied": NotAllowed,
    "unauthorized": NotAllowed,
    "data loss": DataLoss,
}
"""By what pyarrow calls the code of an answer."""

_CLASSES: list[tuple[type[Exception], type[FlightcacheError]]] = [
    (fl.FlightUnavailableError, Unavailable),
    (fl.FlightTimedOutError, TimedOut),
    (fl.FlightCancelledError, Cancelled),
    (fl.FlightUnauthenticatedError, NotAllowed),
    (fl.FlightUnauthorizedError, NotAllowed),
    (pa.ArrowNotImplementedError, NotSupported),
    (pa.ArrowKeyError, NotFound),
    (pa.ArrowInvalid, BadRequest),
]
"""By pyarrow's class, where the text does not tell."""

_ANSWER = re.compile(
    r"(?:Flight|gRPC) returned ([a-z ]+?) error, with message: (.*?)"
    r"(?:\. (?:gRPC client debug context|Client context|Detail): .*)?\Z",
    re.DOTALL,
)
_BY_TEXT = [
    (re.compile(r"no such dataset|evicted"), DatasetNotFound),
    (re.compile(r"no such transaction"), TransactionNotFound),
    (re.compile(r"generation is gone|ticket is stale|lease"), GenerationGone),
]


def translated(error: Exception) -> FlightcacheError | None:
    """The exception of this package for one that pyarrow raised while it spoke to the server.

    None if the error has nothing to do with the server, such as one of a producer of batches.
    """
    match = _ANSWER.search(str(error))
    if match is None:
        if not isinstance(error, fl.FlightError):
            return None
        text = str(error)
        kind = next((mine for theirs, mine in _CLASSES if isinstance(error, theirs)), FlightcacheError)
    else:
        text = match[2]
        by_class = next((mine for theirs, mine in _CLASSES if isinstance(error, theirs)), FlightcacheError)
        kind = _KINDS.get(match[1], by_class)
    if kind is NotFound:
        kind = next((narrower for pattern, narrower in _BY_TEXT if pattern.search(text)), NotFound)
    return kind(text)


@contextlib.contextmanager
def server_errors() -> Iterator[None]:
    """Raises this package's exceptions in place of pyarrow's; leaves all others alone."""
    try:
        yield
    except (pa.ArrowException, fl.FlightError, OSError, KeyError, ValueError, NotImplementedError) as error:
        mine = None if isinstance(error, FlightcacheError) else translated(error)
        if mine is None:
            raise
        # The text has all of it; engines show the whole chain to their users.
        raise mine from None
