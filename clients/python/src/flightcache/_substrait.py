"""A pyarrow expression as the server takes it: exactly, in part, or not at all.

``Expression.to_substrait`` does not keep all that an expression means: ``is_in``, which is true or false for a null,
becomes a list of comparisons, which are null for one. Under a negation that is another answer. So the message is read
once more: its calls must be those that the server has, and a list gets back what it lost. Conjuncts that cannot be
written so are left out; the filter is then applied by pyarrow to the rows that the server sends for the others.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ._binding import plain
from ._protobuf import FIXED32, FIXED64, field, fields, messages, number

FUNCTIONS = frozenset(
    (
        "equal",
        "not_equal",
        "lt",
        "lte",
        "gt",
        "gte",
        "is_null",
        "is_not_null",
        "is_nan",
        "not",
        "and",
        "or",
        "starts_with",
    )
)
"""What the server evaluates, by Substrait's names."""
MOST_BYTES = 700_000
"""The server takes commands of up to a MiB, in which the message stands in base64. Longer ones are not sent."""
MOST_NODES = 15_000
"""Calls and literals of an expression. The server takes 20,000."""

_AS_WRITTEN = [([b"case_sensitivity"], [b"CASE_SENSITIVE"])]
# ExtendedExpression
_EXTENSIONS, _REFERRED, _SCHEMA = 2, 3, 4
# Expression
_LITERAL, _SELECTION, _FUNCTION, _IF_THEN, _OR_LIST, _CAST = 1, 2, 3, 6, 8, 11
# Expression.Literal
_FP32, _FP64, _NULL = 10, 11, 29


class _Inexact(Exception):
    """The server cannot be told this so that it means the same."""


@dataclass(frozen=True)
class Pushed:
    """What of a filter goes to the server."""

    message: bytes
    exact: bool
    """Nothing is left for the client to do."""


def _wire_type(kind: pa.DataType) -> pa.DataType:
    """The type that a filter is written for: the server compares by value whatever the layout is."""
    if pa.types.is_dictionary(kind):
        return _wire_type(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([f.with_type(_wire_type(f.type)) for f in kind])
    return plain(kind)


class _Message:
    """One message, with what its references mean."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.nodes = 0
        self.names: dict[int, str] = {}
        for extension in messages(raw, _EXTENSIONS):
            for function in messages(extension, 3):
                (name,) = messages(function, 3)
                self.names[number(function, 2)] = name.decode().partition(":")[0]
        self.anchors = {name: anchor for anchor, name in self.names.items()}

    def call(self, name: str, *arguments: bytes) -> bytes:
        """A call of a function that the message declares."""
        nullable_bool = field(1, field(2, 1))
        values = b"".join(field(4, field(3, a)) for a in arguments)
        return field(_FUNCTION, field(1, self.anchors[name]) + field(3, nullable_bool) + values)

    def parts(self, expression: bytes, name: str) -> list[bytes]:
        """The arguments of calls of ``name`` within each other, or the expression itself."""
        out: list[bytes] = []
        waiting = [expression]
        while waiting:
            one = waiting.pop()
            kind, body = self._form(one)
            if kind == _FUNCTION and self.names.get(number(body, 1)) == name:
                waiting.extend(reversed([messages(a, 3)[0] for a in messages(body, 4)]))
            else:
                out.append(one)
        return out

    def _form(self, expression: bytes) -> tuple[int, bytes]:
        (one,) = fields(expression)
        if not isinstance(one[2], bytes):
            raise _Inexact
        return one[0], one[2]

    def exact(self, expression: bytes) -> bytes:
        """The expression, so that the server's answer is that of pyarrow."""
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise _Inexact
        kind, body = self._form(expression)
        if kind in (_LITERAL, _SELECTION):
            return expression
        if kind == _FUNCTION:
            name = self.names.get(number(body, 1), "")
            options = [(messages(o, 1), messages(o, 2)) for o in messages(body, 5)]
            if name not in FUNCTIONS or (options and (name, options) != ("starts_with", _AS_WRITTEN)):
                raise _Inexact
            # field 4: the arguments, FunctionArgument{value = 3}
            return field(_FUNCTION, self._rewritten(body, {4: lambda a: field(3, self.exact(messages(a, 3)[0]))}))
        if kind == _IF_THEN:
            clause = {1: self.exact, 2: self.exact}
            return field(_IF_THEN, self._rewritten(body, {1: lambda c: self._rewritten(c, clause), 2: self.exact}))
        if kind == _CAST:
            return field(_CAST, self._rewritten(body, {2: self.exact}))
        if kind == _OR_LIST:
            return self._list(body)
        raise _Inexact

    def _rewritten(self, message: bytes, by: Mapping[int, Callable[[bytes], bytes]]) -> bytes:
        out = []
        for n, kind, value in fields(message):
            change = by.get(n)
            out.append(field(n, value if change is None or isinstance(value, int) else change(value), kind))
        return b"".join(out)

    def _list(self, body: bytes) -> bytes:
        """``is_in``: a null is in a list that has one, and not in another. A NaN is in a list that has one, too, and of
        zeros pyarrow tells the signs apart: lists of these stay here."""
        value = self.exact(messages(body, 1)[0])
        options, with_null = [], False
        for option in messages(body, 2):
            self.nodes += 1
            kind, literal = self._form(option)
            if kind != _LITERAL:
                raise _Inexact
            if any(n == _NULL for n, _, _ in fields(literal)):
                with_null = True
            elif any(_odd_float(n, wire, v) for n, wire, v in fields(literal)):
                raise _Inexact
            else:
                options.append(option)
        if self.nodes > MOST_NODES:
            raise _Inexact
        if not options:
            return self.call("is_null", value) if with_null else field(_LITERAL, field(1, 0))  # false
        among = field(_OR_LIST, field(1, value) + b"".join(field(2, o) for o in options))
        if with_null:
            return self.call("or", self.call("is_null", value), among)
        return self.call("and", self.call("is_not_null", value), among)

    def of(self, expression: bytes) -> bytes:
        """This message with another expression."""
        out = []
        for n, kind, value in fields(self.raw):
            if n == _REFERRED and isinstance(value, bytes):
                value = field(1, expression) + b"".join(field(3, name) for name in messages(value, 3))
            out.append(field(n, value, kind))
        return b"".join(out)


def _odd_float(n: int, wire: int, value: int | bytes) -> bool:
    if (n, wire) == (_FP32, FIXED32) and isinstance(value, bytes):
        (decoded,) = struct.unpack("<f", value)
    elif (n, wire) == (_FP64, FIXED64) and isinstance(value, bytes):
        (decoded,) = struct.unpack("<d", value)
    else:
        return False
    return decoded == 0 or math.isnan(decoded)


def push(expression: pc.Expression, schema: pa.Schema) -> Pushed | None:
    """The part of a filter over ``schema`` that the server can apply; None if there is none.

    ``schema`` has the columns that the expression refers to, and may have others.
    """
    matching = set(re.findall(r"null_matching_behavior=(\w+)", str(expression)))
    if matching - {"MATCH"} or not len(schema):
        return None
    written = pa.schema([f.with_type(_wire_type(f.type)).with_nullable(True) for f in schema])
    column = pc.field(written.names[0])
    # Declares the functions that a rewritten list needs.
    declares = column.is_valid() | column.is_null()
    try:
        message = _Message(bytes((declares & expression).to_substrait(written)))
    except (pa.ArrowException, KeyError, TypeError, ValueError, NotImplementedError):
        return None
    (root,) = messages(messages(message.raw, _REFERRED)[0], 1)
    # The first two are what was put before it, in one call.
    kept, exact = [], True
    _, *conjuncts = message.parts(root, "and")
    for conjunct in conjuncts:
        try:
            kept.append(message.exact(conjunct))
        except _Inexact:
            exact = False
    if not kept:
        return None
    whole = kept[0]
    for conjunct in kept[1:]:
        whole = message.call("and", whole, conjunct)
    sent = message.of(whole)
    return Pushed(sent, exact) if len(sent) <= MOST_BYTES else None
