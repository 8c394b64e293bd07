"""Readers other than Flight clients take what the server sends: polars the messages themselves, DuckDB Arrow arrays.

READERS.md lists the types that a reader does not read. All others it must read exactly.
"""

from __future__ import annotations

import fnmatch
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import compare
import wiretool
import zoo
from service import ROOT, Client, Server

ROWS = 60
ARRAYS = zoo.ARRAYS | {f"dictionary {name}": make for name, make in zoo.DICTIONARIES.items()}
FAILURES = (pl.exceptions.PolarsError, pl.exceptions.PanicException, duckdb.Error, pa.ArrowInvalid)


def limits(reader: str) -> list[str]:
    """The patterns of arrays that READERS.md says a reader does not read."""
    rows = [line.split("|") for line in (ROOT / "integration" / "READERS.md").read_text().splitlines()]
    return [part.strip(" `") for row in rows if row[1:2] == [f" {reader} "] for part in row[2].split(",")]


def _reads(got: pa.ChunkedArray, want: pa.ChunkedArray) -> bool:
    """Whether the values are the same, whatever width or unit the reader keeps them in."""
    want = compare.decoded(want)
    storage = want.type.storage_type if isinstance(want.type, pa.BaseExtensionType) else want.type
    try:
        if compare.decoded(got).cast(storage).equals(want.cast(storage)):
            return True
    except pa.ArrowException:
        pass  # pyarrow has no such cast, but may have the values
    try:
        return repr(got.to_pylist()) == repr(want.to_pylist())
    except (OverflowError, ValueError):
        return False


def _check(reader: str, kind: str, read: object, want: pa.Table) -> None:
    limited = any(fnmatch.fnmatchcase(kind, pattern) for pattern in limits(reader))
    try:
        fits = _reads(read(), want.column(0))
    except FAILURES:
        fits = False
    assert fits != limited, f"{reader} and {kind}: READERS.md says that it reads it {'not' if limited else 'exactly'}"


@pytest.mark.parametrize("kind", ARRAYS)
def test_polars(server: Server, client: Client, name: str, kind: str, tmp_path: Path) -> None:
    data = pa.table({"it": ARRAYS[kind](ROWS)})
    client.put(name, data)
    wiretool.get(server.address, name.encode(), tmp_path / "out", accept_codecs="zstd")
    _check("polars", kind, lambda: pl.read_ipc_stream(tmp_path / "out", use_pyarrow=False).to_arrow().column(0), data)


@pytest.mark.parametrize("kind", ARRAYS)
def test_duckdb(client: Client, name: str, kind: str) -> None:
    data = pa.table({"it": ARRAYS[kind](ROWS)})
    client.put(name, data)

    def read() -> pa.ChunkedArray:
        with duckdb.connect() as connection:
            return connection.from_arrow(client.get(name)).to_arrow_table().column(0)

    _check("DuckDB", kind, read, data)
