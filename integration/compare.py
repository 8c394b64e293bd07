"""Compares tables exactly, to the bit of a float and with all metadata; says what a read of some columns must give."""

from __future__ import annotations

import pyarrow as pa

_VIEWS = (pa.string_view(), pa.binary_view())


def decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values in place of the indices into a dictionary, chunk by chunk: each may have its own.

    A dictionary of views is left as it is, because pyarrow has no way to take views by index.
    """
    if not pa.types.is_dictionary(column.type) or column.type.value_type in _VIEWS:
        return column
    return pa.chunked_array([chunk.dictionary_decode() for chunk in column.chunks], column.type.value_type)


def _comparable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values without dictionaries, and floats as the integers of their bits: NaNs are equal, and zeros are not."""
    column = decoded(column)
    if not pa.types.is_floating(column.type):
        return column
    kind = pa.type_for_alias(f"uint{column.type.bit_width}")
    return pa.chunked_array([chunk.view(kind) for chunk in column.chunks], kind)


def as_read(schema: pa.Schema) -> pa.Schema:
    """``schema`` as pyarrow's own reader has it, which calls a map's children key and value whatever their names."""
    return pa.ipc.read_schema(schema.serialize())


def assert_same(got: pa.Table, want: pa.Table) -> None:
    """Fails unless schema, metadata, rows and every value, to the bit, are those of ``want`` after IPC.

    Which values a dictionary has, and where, may differ: its rows are compared.
    """
    got.validate(full=True)
    schema = as_read(want.schema)
    assert got.schema.equals(schema, check_metadata=True), (got.schema, schema)
    assert got.num_rows == want.num_rows
    for number, field in enumerate(want.schema):
        mine, theirs = _comparable(got.column(number)), _comparable(want.column(number))
        assert mine.equals(theirs) or mine.to_pylist() == theirs.to_pylist(), f"column {number}, {field}"


def _pick(array: pa.StructArray, paths: list[list[str]]) -> pa.Array:
    """The struct ``array`` with the children that ``paths`` name, in order of first mention."""
    if any(not path for path in paths):
        return array
    children: dict[str, list[list[str]]] = {}
    for first, *rest in paths:
        children.setdefault(first, []).append(rest)
    fields = [array.type.field(name) for name in children]
    picked = [_pick(array.field(name), rest) for name, rest in children.items()]
    fields = [f.with_type(p.type) for f, p in zip(fields, picked, strict=True)]
    return pa.StructArray.from_arrays(picked, fields=fields)


def expected(table: pa.Table, columns: list[str] | None) -> pa.Table:
    """What the read of ``columns`` must give, worked out from the source."""
    if columns is None:
        return table
    if not any("." in column for column in columns):
        return table.select(columns)
    roots: dict[str, list[list[str]]] = {}
    for column in columns:
        root, *rest = column.split(".")
        roots.setdefault(root, []).append(rest)
    whole = table.combine_chunks()
    arrays = [_pick(whole.column(root).combine_chunks(), rest) for root, rest in roots.items()]
    fields = [whole.schema.field(root).with_type(a.type) for root, a in zip(roots, arrays, strict=True)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata=whole.schema.metadata))
