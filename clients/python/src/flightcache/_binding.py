"""What a pyarrow expression refers to, and how it is computed.

An expression does not tell its columns. But it can be tried: where it cannot be bound without a column, it needs it.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

BY_POSITION = ("FieldPath(", "FieldRef.FieldPath(")
"""What is in the text of an expression that counts columns rather than naming them."""
BY_POSITION_WITHIN = (*BY_POSITION, "struct_field(", "indices=")


def projected(columns: Mapping[str, pc.Expression], schema: pa.Schema) -> pa.Schema:
    """The schema of computed columns. Raises pyarrow's error for one that cannot be computed from ``schema``."""
    return ds.Scanner.from_batches(iter(()), schema=schema, columns=dict(columns)).projected_schema


def plain(kind: pa.DataType) -> pa.DataType:
    """The type with plain text and binary in place of views, which pyarrow does not compare."""
    if kind == pa.string_view():
        return pa.string()
    if kind == pa.binary_view():
        return pa.binary()
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, plain(kind.value_type), kind.ordered)
    if pa.types.is_struct(kind):
        return pa.struct([f.with_type(plain(f.type)) for f in kind])
    return kind


def bindable(columns: Mapping[str, pc.Expression], schema: pa.Schema) -> pa.Schema:
    """The schema that the expressions can be bound to: this one, or else one without views.

    Raises pyarrow's error for what cannot be computed from either.
    """
    try:
        projected(columns, schema)
        return schema
    except pa.ArrowNotImplementedError:
        other = pa.schema([f.with_type(plain(f.type)) for f in schema], schema.metadata)
        if other.equals(schema):
            raise
        projected(columns, other)
        return other


def _fits(columns: Mapping[str, pc.Expression], schema: pa.Schema, wanted: pa.Schema) -> bool:
    try:
        return bool(projected(columns, schema).equals(wanted))
    except (pa.ArrowException, KeyError, TypeError, ValueError, NotImplementedError):
        return False


def needed(columns: Mapping[str, pc.Expression], schema: pa.Schema) -> pa.Schema:
    """The part of ``schema`` that the expressions need: columns, and of structs the fields. May have more than that."""
    wanted = projected(columns, schema)
    text = " ".join(str(expression) for expression in columns.values())
    if any(mark in text for mark in BY_POSITION):
        return schema
    kept = pa.schema([f for f in schema if f.name in text], schema.metadata)
    if not _fits(columns, kept, wanted):
        return schema
    for name in [f.name for f in kept]:
        fewer = pa.schema([f for f in kept if f.name != name], schema.metadata)
        if _fits(columns, fewer, wanted):
            kept = fewer
    if any(mark in text for mark in BY_POSITION_WITHIN):
        return kept
    for at, one in enumerate(kept):
        for smaller in _smaller(one, text):
            trial = kept.set(at, smaller)
            if _fits(columns, trial, wanted):
                kept = trial
                break
    return kept


def _smaller(one: pa.Field, text: str) -> list[pa.Field]:
    """A struct with those fields only that the text names, if they are fewer."""
    if not pa.types.is_struct(one.type) or any("." in child.name or not child.name for child in one.type):
        return []
    children = [(_smaller(child, text) or [child])[0] for child in one.type if child.name in text]
    smaller = one.with_type(pa.struct(children))
    return [smaller] if children and smaller.type != one.type else []


def compute(batch: pa.RecordBatch, columns: Mapping[str, pc.Expression], schema: pa.Schema) -> pa.RecordBatch:
    """The computed columns of a batch, from its columns as ``schema`` has them, which may leave some out."""
    if not schema.equals(batch.schema):
        arrays = [shaped(batch.column(name), kind) for name, kind in zip(schema.names, schema.types, strict=True)]
        # Without columns the number of rows would be lost.
        batch = pa.RecordBatch.from_arrays(arrays, schema=schema) if arrays else batch
    table = ds.dataset(pa.Table.from_batches([batch])).to_table(columns=dict(columns), use_threads=False)
    (out,) = table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]
    return out


def shaped(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """A column as ``kind`` has it: a struct with some of its fields, views as plain text."""
    if column.type == kind:
        return column
    if pa.types.is_struct(kind):
        children = [shaped(column.field(f.name), f.type) for f in kind]
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=column.is_null())
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(
            column.indices, column.dictionary.cast(kind.value_type), ordered=kind.ordered
        )
    return column.cast(kind)


def take_rows(batch: pa.RecordBatch, chosen: pa.Array) -> pa.RecordBatch:
    """The rows that are chosen."""
    try:
        return batch.filter(chosen)
    except pa.ArrowNotImplementedError:
        # pyarrow filters no views, but joins slices of them.
        return _runs(batch, chosen)


def _runs(batch: pa.RecordBatch, chosen: pa.Array) -> pa.RecordBatch:
    flags = chosen.fill_null(False)
    if not len(flags):
        return batch
    encoded = pc.run_end_encode(flags)
    ends, values = encoded.run_ends.to_pylist(), encoded.values.to_pylist()
    starts = [0, *ends[:-1]]
    slices = [batch.slice(a, b - a) for a, b, keep in zip(starts, ends, values, strict=True) if keep]
    return pa.concat_batches(slices) if slices else batch.slice(0, 0)
