"""Named tables of Arrow record batches on a flightcache server.

>>> import duckdb, flightcache, pyarrow
>>> client = flightcache.connect("grpc://127.0.0.1:8815")
>>> facts = client.put("sales/2024", pyarrow.table({"city": ["Oslo", "Rome"], "year": [2022, 2024]}))
>>> sales = client.dataset("sales/2024")
>>> duckdb.sql("SELECT city FROM sales WHERE year > 2022").fetchall()
[('Rome',)]

Only the columns and rows that are asked for cross the wire.
"""

from .client import Client, Listed, connect
from .dataset import Dataset
from .errors import (
    BadRequest,
    Cancelled,
    Conflict,
    DataLoss,
    DatasetChanged,
    DatasetExists,
    DatasetNotFound,
    FlightcacheError,
    Forked,
    GenerationGone,
    NotAllowed,
    NotFound,
    NotSupported,
    Refused,
    ResourceExhausted,
    TimedOut,
    TransactionNotFound,
    Unavailable,
)
from .scanner import Scanner
from .transaction import Transaction

__version__ = "0.1.0"

__all__ = [
    "BadRequest",
    "Cancelled",
    "Client",
    "Conflict",
    "DataLoss",
    "Dataset",
    "DatasetChanged",
    "DatasetExists",
    "DatasetNotFound",
    "FlightcacheError",
    "Forked",
    "GenerationGone",
    "Listed",
    "NotAllowed",
    "NotFound",
    "NotSupported",
    "Refused",
    "ResourceExhausted",
    "Scanner",
    "TimedOut",
    "Transaction",
    "TransactionNotFound",
    "Unavailable",
    "connect",
]
