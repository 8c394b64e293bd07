"""The client: named tables on a server, put, read and looked at."""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from . import _filters, _put
from ._filters import Filters
from ._plan import Columns, Source
from ._progress import Meter, Progress
from .connection import Connection, Options
from .dataset import Dataset, streams
from .errors import BadRequest, DatasetChanged
from .scanner import Scanner
from .transaction import Transaction

if TYPE_CHECKING:
    import polars as pl


_REPLACED = 5
"""How often a read is begun again because its dataset got other columns meanwhile."""


def _table(scanner: Scanner, meter: Meter) -> pa.Table:
    batches = []
    try:
        for batch in scanner.to_batches():
            meter.count(batch)
            batches.append(batch)
    finally:
        meter.end()
    return pa.Table.from_batches(batches, scanner.projected_schema)


class Listed(NamedTuple):
    """One dataset of a listing."""

    name: str
    rows: int
    decoded_bytes: int
    """Bytes of its plain buffers."""


def connect(
    address: str = "grpc://127.0.0.1:8815",
    *,
    token: str | None = None,
    timeout: float | None = None,
    retries: int = 5,
    headers: Mapping[str, str] | None = None,
    tls_root_certs: str | bytes | None = None,
    cert_chain: str | bytes | None = None,
    private_key: str | bytes | None = None,
    override_hostname: str | None = None,
    disable_server_verification: bool = False,
) -> Client:
    """A client of the server at ``address``: ``grpc://host:port``, ``grpc+tls://host:port`` or ``grpc+unix:///path``.

    No call is made yet. ``token`` is sent with every call as a bearer token, and so are ``headers``. A call that takes
    longer than ``timeout`` seconds raises ``TimedOut``. While the server is unavailable, calls that are safe to repeat
    are repeated ``retries`` times, after pauses of 0.1 s that double up to 2 s. Certificates and keys are PEM.
    """
    tls = {
        "tls_root_certs": tls_root_certs,
        "cert_chain": cert_chain,
        "private_key": private_key,
        "override_hostname": override_hostname,
        "disable_server_verification": disable_server_verification or None,
    }
    options = Options(token, timeout, retries, dict(headers or {}))
    return Client(Connection(address, options, **{k: v for k, v in tls.items() if v is not None}))


class Client:
    """Puts and reads datasets. Made by :func:`connect`; any number of threads may share one.

    Closed by :meth:`close` or at the end of a ``with`` block. After a fork the child gets ``Forked`` from every call.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def address(self) -> str:
        """Where the server is."""
        return self._connection.address

    def close(self) -> None:
        """Closes the connection. What still reads from it fails."""
        self._connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<flightcache.Client of {self.address}>"

    def put(
        self,
        name: str,
        data: Any,
        *,
        mode: str = "replace",
        codec: str | None = None,
        level: int | None = None,
        encode: str | None = None,
        batching: str | None = None,
        dictionaries: str | None = None,
        sorted_by: Sequence[str] | None = None,
        ttl: int | None = None,
        pin: bool | None = None,
        durable: bool | None = None,
        put_id: str | None = None,
        progress: Progress = False,
    ) -> _put.Facts:
        """Stores ``data`` under ``name``, whole or not at all, and returns what the server tells of it.

        ``data`` is a pyarrow Table, RecordBatch, RecordBatchReader, Dataset or Scanner, or anything with
        ``__arrow_c_stream__``: a pandas or polars frame, a DuckDB relation. It is sent batch by batch as it is
        produced. If it raises, nothing is stored. ``mode`` is ``replace``, ``append`` or ``create``; the other keys are
        those of the server's put command. While the server is unavailable, what can be read again is sent again, under
        one ``put_id``.
        """
        keys = {
            "mode": mode,
            "codec": codec,
            "level": level,
            "encode": encode,
            "batching": batching,
            "dictionaries": dictionaries,
            "sorted_by": None if sorted_by is None else builtins.list(sorted_by),
            "ttl": ttl,
            "pin": pin,
            "durable": durable,
            "put_id": put_id,
        }
        command = {"dataset": name, **{k: v for k, v in keys.items() if v is not None}}
        return _put.put(self._connection, data, command, progress)

    def transaction(self, name: str, *, mode: str = "append", ttl: int = 600) -> Transaction:
        """Puts to one dataset that become visible together at the end of a ``with`` block, or not at all if it raises.

        The server gives up a transaction that is not committed after ``ttl`` seconds, of which there may be 86,400.
        """
        return Transaction(self._connection, name, mode, ttl)

    def _source(self, name: str, generation: str | None = None, parallel: int = 1) -> Source:
        keys = {} if generation is None else {"generation": generation}
        schema = self._connection.schema({"dataset": name, **keys})
        return Source(self._connection, name, schema, keys, parallel)

    def scanner(
        self,
        name: str,
        columns: Columns = None,
        filters: Filters = None,
        limit: int | None = None,
        *,
        generation: str | None = None,
    ) -> Scanner:
        """A read that can be done again, lazily. Arguments are those of :meth:`get`."""
        if limit is not None and limit < 0:
            raise BadRequest(f"the limit is {limit}; it must be 0 or more")
        wanted = _filters.written(filters) if isinstance(filters, builtins.list) else filters
        return Scanner(self._source(name, generation), columns, wanted, limit=limit)

    def reader(
        self,
        name: str,
        columns: Columns = None,
        filters: Filters = None,
        limit: int | None = None,
        *,
        generation: str | None = None,
    ) -> pa.RecordBatchReader:
        """Rows as a reader that asks for batches as it is read. Arguments are those of :meth:`get`."""
        return self.scanner(name, columns, filters, limit, generation=generation).to_reader()

    def get(
        self,
        name: str,
        columns: Columns = None,
        filters: Filters = None,
        limit: int | None = None,
        *,
        generation: str | None = None,
        progress: Progress = False,
    ) -> pa.Table:
        """Rows as a table.

        ``columns`` are names, dotted paths into structs (``deep.n.v``) or places, or a dict of names to pyarrow
        expressions; ``[]`` gives rows without columns. ``filters`` is a pyarrow expression, or lists of ``[column,
        operator, value]`` as the server takes them, with SQL's nulls. At most ``limit`` rows come. With a
        ``generation`` it is that one or an error.
        """
        for _ in range(_REPLACED):
            scanner = self.scanner(name, columns, filters, limit, generation=generation)
            # A dataset that is replaced between the two calls has another schema, which is asked for once more.
            with contextlib.suppress(DatasetChanged):
                return _table(scanner, Meter(progress, f"get {name}", None))
        raise DatasetChanged(f"the dataset {name!r} was replaced by one of other columns {_REPLACED} times meanwhile")

    def dataset(self, name: str, *, ordered: bool = True, generation: str | None = None) -> Dataset:
        """The dataset as a ``pyarrow.dataset.Dataset``, for DuckDB, polars, DataFusion and pyarrow.

        Each scan reads the newest generation, unless one is named. ``ordered=False`` leaves the order of rows open:
        batches then come over several streams at once.
        """
        return Dataset(self._source(name, generation, 1 if ordered else streams()))

    def scan(self, name: str, *, ordered: bool = True, generation: str | None = None) -> pl.LazyFrame:
        """The dataset as a lazy frame of polars. Columns, predicates and limits reach the server."""
        from ._polars import scan

        return scan(self._source(name, generation, 1 if ordered else streams()))

    def count(self, name: str, filters: Filters = None) -> int:
        """How many rows there are, from the server's metadata if it tells."""
        if filters is None:
            return int(self.info(name)["rows"])
        return self.scanner(name, [], filters).count_rows()

    def schema(self, name: str) -> pa.Schema:
        """The schema of a dataset."""
        return self._connection.schema({"dataset": name})

    def info(self, name: str) -> _put.Facts:
        """What the server tells of a dataset: generation, rows, sizes, codec, columns and their statistics."""
        return self._connection.action("describe", {"dataset": name})

    def statistics(
        self, name: str, columns: Sequence[str | int] | None = None, *, per_batch: bool = False
    ) -> dict[str, Any]:
        """What is known of the values of columns, of the whole and by choice of each stored batch."""
        chosen = {} if columns is None else {"columns": builtins.list(columns)}
        return self._connection.action("statistics", {"dataset": name, "per_batch": per_batch, **chosen})

    def server_stats(self, name: str | None = None) -> dict[str, Any]:
        """The counters of the server, or of one dataset."""
        return self._connection.action("server_stats", {} if name is None else {"dataset": name})

    def list(self, prefix: str = "") -> builtins.list[Listed]:
        """The datasets whose names begin with ``prefix``, with their rows and sizes."""
        return [
            Listed("/".join(p.decode() for p in info.descriptor.path), info.total_records, info.total_bytes)
            for info in self._connection.listing(prefix)
        ]

    def drop(self, name: str, *, missing_ok: bool = False) -> None:
        """Takes a dataset away. With ``missing_ok`` it need not be there."""
        # Sent twice, it could take away what somebody has put in between.
        body = {"dataset": name, **({"if_exists": True} if missing_ok else {})}
        self._connection.action("drop", body, safe=False)

    def pin(self, name: str) -> None:
        """Lets eviction leave a dataset alone."""
        self._connection.action("pin", {"dataset": name})

    def unpin(self, name: str) -> None:
        """Lets eviction take a dataset again."""
        self._connection.action("unpin", {"dataset": name})

    def evict(self, name: str) -> dict[str, Any]:
        """Moves a dataset to files, or drops it, as the server's ``--eviction`` says; tells what became of it."""
        return self._connection.action("evict", {"dataset": name}, safe=False)

    def compact(self, name: str) -> dict[str, Any]:
        """Joins the small batches of a dataset; tells how many."""
        return self._connection.action("compact", {"dataset": name})
