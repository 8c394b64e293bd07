"""Every contender gives back what was put: all rows, every value, in order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import pyarrow as pa

from contenders import Contender


def equal(contenders: Iterable[Contender], table: pa.Table, columns: list[str] | None = None) -> None:
    """Compares the whole table, and the columns alone, with the source. That is more than a checksum would tell."""
    for c in contenders:
        if not c.read().equals(table):
            raise AssertionError(f"{c.name} gave another table than was put")
        if columns is not None and not c.read(columns).equals(table.select(columns)):
            raise AssertionError(f"{c.name} gave other columns {columns} than were put")


def digest(table: pa.Table) -> str:
    """A checksum of the rows that does not depend on how they are cut into batches, for the report."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return hashlib.sha256(sink.getvalue()).hexdigest()[:16]
