"""What a filter means, said a second time: by pyarrow's kernels row by row, and by Python's integers batch by batch.

A ``Term`` is one comparison as a command has it, with the value that its literal means. A predicate is a list of lists
of terms, of which a row must satisfy all of one list. Nulls are as SQL has them, floats as IEEE 754 has them.
"""

from __future__ import annotations

import decimal
import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

BOUND_BYTES = 64
"""The longest bound of a text or binary column. What is longer is cut, the upper one to what comes after it."""

_SAME = object()
_KERNELS = {
    "=": pc.equal,
    "==": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


@dataclass(frozen=True)
class Term:
    """``[column, op, literal]``. ``value`` is what the literal means, if it is not the literal itself."""

    column: str | int
    op: str
    literal: Any = None
    value: Any = _SAME
    like: Term | None = None
    """For literals that no value of the column's type equals: a term that has the same meaning without one."""

    def json(self) -> list[Any]:
        if self.op in ("is null", "is not null"):
            return [self.column, self.op]
        return [self.column, self.op, self.literal]

    @property
    def meaning(self) -> Any:
        return self.literal if self.value is _SAME else self.value


Predicate = Sequence[Sequence[Term]]


def filters(predicate: Predicate) -> list[Any]:
    """``predicate`` as the key ``filters`` of a command has it."""
    lists = [[term.json() for term in terms] for terms in predicate]
    return lists[0] if len(lists) == 1 else lists


def leaf(table: pa.Table | pa.RecordBatch, column: str | int) -> pa.ChunkedArray | pa.Array:
    """The column, or a field within structs by its dotted path, as a type that has kernels: values for dictionaries."""
    root, *path = [column] if isinstance(column, int) else column.split(".")
    values = table.column(root)
    for name in path:
        values = pc.struct_field(values, name)
    return _comparable(values)


def _comparable(values: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _comparable(values.cast(kind.value_type))
    if pa.types.is_decimal(kind):
        if kind.scale < 0:  # in units of its scale
            return pa.chunked_array([c.view(pa.decimal128(38, 0)) for c in pa.chunked_array(values).chunks])
        if kind.bit_width < 128:
            return values.cast(pa.decimal128(kind.precision, kind.scale))
    others = {pa.float16(): pa.float64(), pa.float32(): pa.float64(), **_VIEWS}
    return values.cast(others[kind]) if kind in others else values


def matches(table: pa.Table, predicate: Predicate) -> pa.ChunkedArray:
    """For each row, whether it is wanted."""
    lists = [functools.reduce(pc.and_kleene, [_truth(table, term) for term in terms]) for terms in predicate]
    return pc.fill_null(functools.reduce(pc.or_kleene, lists), False)


def select(table: pa.Table, predicate: Predicate) -> pa.Table:
    """The rows that are wanted."""
    return rows_of(table, matches(table, predicate))


def rows_of(table: pa.Table, mask: pa.ChunkedArray) -> pa.Table:
    """The rows of a mask. Views have no kernel for that, so they are taken as what they view."""
    plain = [_VIEWS.get(kind, kind) for kind in table.schema.types]
    fields = [field.with_type(kind) for field, kind in zip(table.schema, plain, strict=True)]
    return table.cast(pa.schema(fields)).filter(mask).cast(table.schema)


_VIEWS = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}


def _truth(table: pa.Table, term: Term) -> pa.ChunkedArray:
    """Each row's outcome: true, false or null."""
    if term.like is not None:
        return _truth(table, term.like)
    values = leaf(table, term.column)
    if term.op in ("is null", "is not null"):
        return pc.is_null(values) if term.op == "is null" else pc.is_valid(values)
    if term.op == "in":
        return _among(values, term.meaning)
    if term.op == "not in":
        return pc.invert(_among(values, term.meaning))
    if term.op == "never":
        return pc.and_kleene(pc.is_null(values), pa.scalar(None, pa.bool_()))
    if term.op == "starts with":
        return pc.starts_with(values, pattern=term.meaning)
    return _KERNELS[term.op](values, pa.scalar(term.meaning, values.type))


def _among(values: pa.ChunkedArray, wanted: Sequence[Any]) -> pa.ChunkedArray:
    """SQL's IN: null where the value is null, or where the list has a null and not the value."""
    if not wanted:
        return pa.chunked_array([pa.array([False] * len(values))])
    known = pa.array([w for w in wanted if w is not None], values.type)
    if pa.types.is_floating(values.type):  # is_in takes NaN for itself, and the two zeros for different values
        none = pc.and_kleene(pc.is_null(values), False)
        found = functools.reduce(pc.or_kleene, [pc.equal(values, w) for w in known], none)
    else:
        found = pc.is_in(values, value_set=known, skip_nulls=True)
    found = pc.if_else(pc.is_valid(values), found, pa.scalar(None, pa.bool_()))
    return pc.or_kleene(found, pa.scalar(None, pa.bool_())) if None in wanted else found


@dataclass(frozen=True)
class Measure:
    """What is known of a column of one batch. Without a value there are no bounds; ``greatest`` may be unknown."""

    rows: int
    nulls: int
    nan: bool
    least: Any
    greatest: Any
    bounded: bool
    """Whether ``greatest`` is a bound."""

    @property
    def values(self) -> bool:
        return self.least is not None


def measure(column: pa.Array) -> Measure:
    """Measures one batch's ``leaf``."""
    if pa.types.is_nested(column.type):
        return Measure(len(column), column.null_count, False, None, None, False)
    distinct = key_list(pc.unique(_key_type(column)))
    known = [v for v in distinct if v is not None and not (isinstance(v, float) and math.isnan(v))]
    nan = any(isinstance(v, float) and math.isnan(v) for v in distinct)
    if not known:
        return Measure(len(column), column.null_count, nan, None, None, False)
    least, greatest = min(known), max(known)
    if isinstance(least, bytes):
        text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        least, greatest = _cut(least, text), _raised(greatest, text)
    return Measure(len(column), column.null_count, nan, least, greatest, greatest is not None)


def _key_type(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return column.cast(pa.int32())
    return column.cast(pa.int64()) if pa.types.is_temporal(kind) else column


_EXACT = decimal.Context(prec=100)


def key_list(column: pa.Array) -> list[Any]:
    """Values that Python orders as the type does: integers, floats, bytes; None for null."""
    kind = column.type
    if pa.types.is_decimal(kind):
        return [None if v is None else int(v.scaleb(kind.scale, _EXACT)) for v in column.to_pylist()]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return [None if v is None else v.encode() for v in column.to_pylist()]
    return column.to_pylist()


def _cut(value: bytes, text: bool) -> bytes:
    head = value[:BOUND_BYTES]
    return head.decode(errors="ignore").encode() if text else head


def _raised(value: bytes, text: bool) -> bytes | None:
    """The value itself, or the least that is short and comes after all that begin as it does; None if there is none."""
    if len(value) <= BOUND_BYTES:
        return value
    if not text:
        head = value[:BOUND_BYTES].rstrip(b"\xff")
        return head[:-1] + bytes([head[-1] + 1]) if head else None
    head = _cut(value, True).decode()
    while head:
        head, last = head[:-1], ord(head[-1])
        if last == 0x10FFFF:
            continue
        after = head + chr(0xE000 if last == 0xD7FF else last + 1)
        if len(after.encode()) <= BOUND_BYTES:
            return after.encode()
    return None


def keys(values: Iterable[Any], kind: pa.DataType) -> list[Any]:
    """The keys of some values of a type."""
    return key_list(_key_type(pa.array(values, kind)))


class Batches:
    """The batches of a table, and which of them a filter has to look into."""

    def __init__(self, table: pa.Table) -> None:
        self.tables = [pa.Table.from_batches([batch]) for batch in table.to_batches()]
        self._measured: dict[tuple[int, str | int], tuple[Measure, pa.DataType]] = {}

    def possible(self, predicate: Predicate) -> list[int]:
        """The ordinals of those whose bounds and null counts leave room for a row that is wanted."""
        return [i for i in range(len(self.tables)) if any(self._conjunction(i, terms) for terms in predicate)]

    def measured(self, ordinal: int, column: str | int) -> tuple[Measure, pa.DataType]:
        if (ordinal, column) not in self._measured:
            values = leaf(self.tables[ordinal], column)
            self._measured[ordinal, column] = (measure(values.combine_chunks()), values.type)
        return self._measured[ordinal, column]

    def _conjunction(self, ordinal: int, terms: Sequence[Term]) -> bool:
        ranges: dict[str | int, list[Term]] = {}
        for term in terms:
            term = term.like or term
            if term.op in _RANGES:
                ranges.setdefault(term.column, []).append(term)
            elif not _single(*self.measured(ordinal, term.column), term):
                return False
        return all(_meet(*self.measured(ordinal, column), of_one) for column, of_one in ranges.items())


_RANGES = frozenset({"=", "==", "<", "<=", ">", ">=", "starts with"})


def _single(m: Measure, kind: pa.DataType, term: Term) -> bool:
    """Whether a term that is no range may be true of a row."""
    if term.op == "is null":
        return m.nulls > 0
    if term.op == "is not null":
        return m.nulls < m.rows
    if term.op == "never" or term.meaning is None:
        return False
    if term.op == "!=":
        return m.nan or (m.values and not (keys([term.meaning], kind)[0] == m.least == m.greatest))
    if term.op == "in":
        listed = keys([w for w in term.meaning if w is not None], kind)
        return m.values and any(m.least <= w and (not m.bounded or w <= m.greatest) for w in listed)
    assert term.op == "not in", term
    if not term.meaning:
        return m.rows > 0
    if None in term.meaning:
        return False
    return m.nan or (m.values and not _all_listed(m, set(keys(term.meaning, kind))))


def _all_listed(m: Measure, listed: set[Any]) -> bool:
    if not isinstance(m.least, int):
        return m.least == m.greatest and m.least in listed
    return m.greatest - m.least < len(listed) and all(v in listed for v in range(m.least, m.greatest + 1))


def _meet(m: Measure, kind: pa.DataType, terms: Sequence[Term]) -> bool:
    """Whether all ranges of one column and its bounds have a value in common."""
    if not m.values or any(term.meaning is None for term in terms):
        return False
    lower, upper = [(m.least, False)], [(m.greatest, False)] if m.bounded else []
    for term in terms:
        if term.op == "starts with":
            prefix = term.meaning if isinstance(term.meaning, bytes) else term.meaning.encode()
            lower.append((prefix, False))
            if stem := prefix.rstrip(b"\xff"):
                upper.append((stem[:-1] + bytes([stem[-1] + 1]), True))
            continue
        (key,) = keys([term.meaning], kind)
        if isinstance(key, float) and math.isnan(key):
            return False
        if term.op != "<" and term.op != "<=":
            lower.append((key, term.op == ">"))
        if term.op != ">" and term.op != ">=":
            upper.append((key, term.op == "<"))
    return all(_before(low, high) for low in lower for high in upper)


def _before(low: tuple[Any, bool], high: tuple[Any, bool]) -> bool:
    """Whether a value lies above ``low`` and below ``high``, each with whether it is itself left out."""
    if isinstance(low[0], int):
        return low[0] + low[1] <= high[0] - high[1]
    return low[0] < high[0] or (low[0] == high[0] and not (low[1] or high[1]))
