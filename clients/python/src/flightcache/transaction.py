"""Several puts that become visible together."""

from __future__ import annotations

import threading
import uuid
from types import TracebackType
from typing import Any

from . import _put
from ._progress import Progress
from .connection import Connection


class Transaction:
    """Puts of one dataset that are committed as one generation when the ``with`` block ends, or given up if it raises.

    Made by :meth:`flightcache.Client.transaction`. Any number of threads may put; the rows are in the order in which
    the puts were begun. A put that failed is left out.
    """

    def __init__(self, connection: Connection, dataset: str, mode: str, ttl: int) -> None:
        self._connection, self._dataset = connection, dataset
        self._guard = threading.Lock()
        self._puts: dict[str, bool] = {}
        begun = connection.action("begin", {"dataset": dataset, "mode": mode, "ttl": ttl})
        self.id: str = begun["transaction"]
        self.facts: _put.Facts | None = None
        """What the server tells of the dataset after the commit."""

    def put(
        self,
        data: Any,
        *,
        codec: str | None = None,
        level: int | None = None,
        sorted_by: list[str] | None = None,
        put_id: str | None = None,
        progress: Progress = False,
        **keys: Any,
    ) -> _put.Facts:
        """Adds rows, which nobody sees before the commit. Arguments are those of :meth:`flightcache.Client.put`."""
        put_id = str(uuid.uuid4()) if put_id is None else put_id
        named = {"codec": codec, "level": level, "sorted_by": sorted_by, **keys}
        command = {"dataset": self._dataset, **{k: v for k, v in named.items() if v is not None}}
        with self._guard:
            self._puts.setdefault(put_id, False)
        facts = _put.put(self._connection, data, {**command, "transaction": self.id, "put_id": put_id}, progress)
        with self._guard:
            self._puts[put_id] = True
        return facts

    def commit(self) -> _put.Facts:
        """Makes the puts visible and returns the facts of what is there now. A second call changes nothing."""
        with self._guard:
            done = [put_id for put_id, complete in self._puts.items() if complete]
        body = {"dataset": self._dataset, "transaction": self.id, "puts": done}
        self.facts = self._connection.action("commit", body)
        return self.facts

    def abort(self) -> None:
        """Gives the puts up."""
        _put.abort(self._connection, self._dataset, self.id)

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.abort()
        elif self.facts is None:
            self.commit()
