"""What a predicate of polars says that a filter of pyarrow can say as well."""

from __future__ import annotations

import json
import operator
import warnings
from collections.abc import Callable
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

Node = Any
"""One node of an expression, as ``Expr.meta.serialize(format="json")`` has it."""

_COMPARE: dict[str, Callable[[Any, Any], pc.Expression]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtEq": operator.le,
    "Gt": operator.gt,
    "GtEq": operator.ge,
}
_FLIPPED = {"Eq": "Eq", "NotEq": "NotEq", "Lt": "Gt", "LtEq": "GtEq", "Gt": "Lt", "GtEq": "LtEq"}
_OPPOSITE = {"Eq": "NotEq", "NotEq": "Eq", "Lt": "GtEq", "LtEq": "Gt", "Gt": "LtEq", "GtEq": "Lt"}
_CLOSED = {"Both": ("GtEq", "LtEq"), "Left": ("GtEq", "Lt"), "Right": ("Gt", "LtEq"), "None": ("Gt", "Lt")}


class _Unknown(Exception):
    """Nothing is known that must hold."""


# The form of a serialized expression is polars' own and may change: what is not as expected is not known.
_UNKNOWN = (_Unknown, pa.ArrowException, pl.exceptions.PolarsError, LookupError, AttributeError, TypeError, ValueError)


def necessary(predicate: pl.Expr, schema: pa.Schema) -> pc.Expression | None:
    """A filter that holds for every row that the predicate keeps; None if there is none but the one that keeps all."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = json.loads(predicate.meta.serialize(format="json"))
        return _Reader(schema).read(tree, True)
    except _UNKNOWN:
        return None


class _Reader:
    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def read(self, node: Node, wanted: bool) -> pc.Expression:
        """What must hold where the node is ``wanted``."""
        ((kind, body),) = node.items()
        if kind == "BinaryExpr":
            return self._binary(body, wanted)
        if kind == "Function":
            return self._function(body["function"], body["input"], wanted)
        if kind == "Column":
            column, type_ = self._column(node)
            if not pa.types.is_boolean(type_):
                raise _Unknown
            return column if wanted else ~column
        if kind == "Alias":
            return self.read(body[0], wanted)
        raise _Unknown

    def _binary(self, body: Node, wanted: bool) -> pc.Expression:
        op = body["op"]
        if op in ("And", "LogicalAnd", "Or", "LogicalOr"):
            both = (op in ("And", "LogicalAnd")) == wanted
            return self._junction([body["left"], body["right"]], both, wanted)
        if op not in _COMPARE:
            raise _Unknown
        op = op if wanted else _OPPOSITE[op]
        left, right = body["left"], body["right"]
        if not self._has_column(left):
            left, right, op = right, left, _FLIPPED[op]
        column, kind = self._column(left)
        return self._compare(op, column, kind, self._literal(right, kind))

    def _junction(self, nodes: list[Node], both: bool, wanted: bool) -> pc.Expression:
        """Of conjuncts what is known of one is something; of disjuncts all must be known."""
        known = []
        for node in nodes:
            try:
                known.append(self.read(node, wanted))
            except _UNKNOWN:
                if not both:
                    raise _Unknown from None
        if not known:
            raise _Unknown
        out = known[0]
        for one in known[1:]:
            out = out & one if both else out | one
        return out

    def _function(self, name: Node, inputs: list[Node], wanted: bool) -> pc.Expression:
        if not isinstance(name, dict):
            raise _Unknown
        ((family, which),) = name.items()
        if family == "StringExpr" and which == "StartsWith" and wanted:
            column, kind = self._column(inputs[0])
            prefix = self._literal(inputs[1], kind)
            if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()):
                raise _Unknown
            return pc.starts_with(column, prefix.as_py())
        if family != "Boolean":
            raise _Unknown
        if which in ("IsNull", "IsNotNull"):
            column, _ = self._column(inputs[0])
            return column.is_null() if (which == "IsNull") == wanted else column.is_valid()
        if which == "Not":
            return self.read(inputs[0], not wanted)
        if not isinstance(which, dict) or not wanted:
            raise _Unknown
        column, kind = self._column(inputs[0])
        ((what, options),) = which.items()
        if what == "IsBetween":
            low, high = _CLOSED[options["closed"]]
            return self._compare(low, column, kind, self._literal(inputs[1], kind)) & self._compare(
                high, column, kind, self._literal(inputs[2], kind)
            )
        if what == "IsIn" and not options.get("nulls_equal") and not pa.types.is_floating(kind):
            values = self._evaluated(inputs[1])
            if pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
                values = values.flatten()
            return column.isin(values.cast(_plain(kind)).drop_null())
        raise _Unknown

    def _has_column(self, node: Node) -> bool:
        ((kind, body),) = node.items()
        return kind == "Column" or (kind == "Function" and any(self._has_column(i) for i in body["input"]))

    def _column(self, node: Node) -> tuple[pc.Expression, pa.DataType]:
        """A column, or a field in one, and its type."""
        path: list[str] = []
        while "Column" not in node:
            function = node["Function"]
            path.insert(0, function["function"]["StructExpr"]["FieldByName"])
            (node,) = function["input"]
        name = node["Column"]
        kind = self._schema.field(name).type
        for part in path:
            kind = kind.field(part).type
        return pc.field(name, *path) if path else pc.field(name), kind

    def _evaluated(self, node: Node) -> pa.Array:
        """The value of a node without columns, with polars' own type for it."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expression = pl.Expr.deserialize(json.dumps(node).encode(), format="json")
        if expression.meta.root_names():
            raise _Unknown
        return pl.select(expression).to_series().to_arrow()

    def _literal(self, node: Node, kind: pa.DataType) -> pa.Scalar:
        """A literal as a value of the column's type. One that the type cannot hold is nothing that is known."""
        (value,) = self._evaluated(node)
        if not value.is_valid or (pa.types.is_floating(value.type) and value.as_py() != value.as_py()):
            raise _Unknown
        return value.cast(_plain(kind))

    def _compare(self, op: str, column: pc.Expression, kind: pa.DataType, value: pa.Scalar) -> pc.Expression:
        told = _COMPARE[op](column, pc.scalar(value))
        if pa.types.is_floating(kind) and op in ("Gt", "GtEq", "NotEq"):
            return told | pc.is_nan(column)
        return told


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type of literals for a column."""
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    return pa.string() if kind == pa.string_view() else pa.binary() if kind == pa.binary_view() else kind
