"""Which columns a read gives: names, dotted paths into structs, and places, as the server has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pyarrow as pa

from .errors import BadRequest

Written = list[str | int]
"""How a read command names columns."""


class Part(NamedTuple):
    """A column of the dataset, or some fields of one that is a struct."""

    at: int
    """The column's place in the schema."""
    field: pa.Field
    """What is wanted of it."""


def place(schema: pa.Schema, name: str) -> int:
    """Where the column of this name is."""
    found = schema.get_all_field_indices(name)
    if len(found) == 1:
        return int(found[0])
    what = "there is no column" if not found else "several columns are named"
    known = ", ".join(repr(n) for n in schema.names[:20])
    raise BadRequest(f"{what} {name!r}; the columns are {known}{', …' if len(schema) > 20 else ''}")


def _within(one: pa.Field, path: Sequence[str]) -> pa.Field | None:
    """The field with what ``path`` names in it, and nothing else; None if there is no such thing."""
    if not path:
        return one
    if not pa.types.is_struct(one.type) or one.type.get_field_index(path[0]) < 0:
        return None
    child = _within(one.type.field(path[0]), path[1:])
    return None if child is None else one.with_type(pa.struct([child]))


def merged(a: pa.DataType, b: pa.DataType, whole: pa.DataType) -> pa.DataType:
    """The struct type that has what both have, the fields of ``a`` first. Each is ``whole`` or a part of it."""
    if a in (b, whole):
        return a
    if b == whole:
        return b
    fields = {f.name: f for f in a}
    for f in b:
        mine = fields.get(f.name)
        fields[f.name] = f if mine is None else f.with_type(merged(mine.type, f.type, whole.field(f.name).type))
    return pa.struct(list(fields.values()))


def chosen(columns: Iterable[str | int], schema: pa.Schema) -> list[Part]:
    """The parts of columns that a read gives. Paths under one root are one part, where the root is first named."""
    out: list[Part] = []
    of_paths: dict[str, int] = {}
    for column in columns:
        if isinstance(column, int):
            if not 0 <= column < len(schema):
                raise BadRequest(f"there is no column {column}; the dataset has {len(schema)}, counted from 0")
            out.append(Part(column, schema.field(column)))
            continue
        root, *rest = [column] if column in schema.names else column.split(".")
        if root not in schema.names:
            root, rest = column, []
        at = place(schema, root)
        whole = schema.field(at)
        part = _within(whole, rest)
        if part is None:
            raise BadRequest(f"there is no column {column!r}; {root!r} is {whole.type}")
        before = of_paths.get(root)
        if before is not None and (rest or out[before].field.type != whole.type):
            mine = out[before].field
            out[before] = Part(at, mine.with_type(merged(mine.type, part.type, whole.type)))
            continue
        of_paths.setdefault(root, len(out))
        out.append(Part(at, part))
    return out


def _paths(prefix: str, kind: pa.DataType, full: pa.DataType) -> list[str]:
    if kind == full:
        return [prefix]
    return [p for f in kind for p in _paths(f"{prefix}.{f.name}", f.type, full.field(f.name).type)]


def written(part: Part, schema: pa.Schema) -> tuple[Written, Part]:
    """A part as a command has it, by name, by paths within it, or by its place; and what is sent for it."""
    name, whole = part.field.name, schema.field(part.at)
    paths = _paths(name, part.field.type, whole.type)
    # What has a dot in its name could be taken for a path, and a path for such a name.
    if schema.names.count(name) > 1 or not name or "." in name or (paths != [name] and set(paths) & set(schema.names)):
        return [part.at], Part(part.at, whole)
    return list(paths), part


def like(part: pa.Field, schema: pa.Schema) -> Part:
    """A part of a column with the types that it has in ``schema``."""

    def kind(of: pa.DataType, whole: pa.DataType) -> pa.DataType:
        if not pa.types.is_struct(whole):
            return whole
        return pa.struct([whole.field(f.name).with_type(kind(f.type, whole.field(f.name).type)) for f in of])

    at = place(schema, part.name)
    whole = schema.field(at)
    return Part(at, whole.with_type(kind(part.type, whole.type)))
