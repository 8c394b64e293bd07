"""Filters in lists, as the server takes them in JSON."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import math
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Filters = pc.Expression | list[Any] | None
"""A pyarrow expression; or the lists that ``pyarrow.parquet.read_table`` takes, with SQL's nulls."""


def _value(value: Any) -> Any:
    """A literal as JSON has it."""
    if isinstance(value, pa.Scalar):
        value = value.as_py()
    if not isinstance(value, (str, bytes, bool, int, float)) and hasattr(value, "item"):
        value = value.item()  # of numpy
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_value(v) for v in value]
    if isinstance(value, (dt.date, dt.time)):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    return value


def _is_term(part: Any) -> bool:
    return len(part) in (2, 3) and isinstance(part[0], (str, int)) and isinstance(part[1], str)


def written(filters: list[Any]) -> list[Any]:
    """The lists with each value as JSON has it."""
    out = []
    for part in filters:
        if _is_term(part):
            out.append([part[0], part[1], *map(_value, part[2:])])
        else:
            out.append(written(part))
    return out
