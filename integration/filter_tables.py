"""Tables to filter: 64 rows with a column of every type that a filter can compare, in several orders.

Column by column the rows ascend, from the least value of the type to the greatest; in the same rows they are null, and
floats are NaN. ``lay_out`` repeats them and puts them in an order: what statistics can tell of a batch depends on it.
"""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

ROWS = 64
NULLS = frozenset({13, 30, 58, 59, 60, 61, 62, 63})
"""In batches of 4 rows: one has only nulls, three have some."""

LAYOUTS = ("sorted", "shuffled", "clustered")
LAST = 57
"""The last row that is not null."""


def _each(kind: pa.DataType, value: Callable[[int], object], first: object = None, last: object = None) -> pa.Array:
    """Rows that are ``value`` of their number, but for the first, the last and the nulls."""
    values = [None if i in NULLS else value(i) for i in range(ROWS)]
    values[0] = values[0] if first is None else first
    values[LAST] = values[LAST] if last is None else last
    return pa.array(values, kind)


def _integers() -> dict[str, pa.Array]:
    made = {}
    for bits, step in ((8, 4), (16, 1000), (32, 10**7), (64, 10**16)):
        greatest = 2 ** (bits - 1) - 1
        made[f"i{bits}"] = _each(
            getattr(pa, f"int{bits}")(), lambda i, step=step: (i - 28) * step, -greatest - 1, greatest
        )
        made[f"u{bits}"] = _each(getattr(pa, f"uint{bits}")(), lambda i, step=step: i * step, 0, 2**bits - 1)
    return made


def _floats() -> dict[str, pa.Array]:
    made = {}
    for bits in (16, 32, 64):
        numpy_type = np.dtype(f"float{bits}").type
        values = ((np.arange(ROWS) - 28) / 2).astype(numpy_type)
        values[[0, 1, 27, 28]] = [-np.inf, np.finfo(numpy_type).min, -0.0, 0.0]
        values[[29, 54, 55, 56, LAST]] = [np.nan, np.finfo(numpy_type).max, np.inf, np.nan, np.nan]
        made[f"f{bits}"] = pa.array(values, mask=np.isin(np.arange(ROWS), list(NULLS)), from_pandas=False)
    return made


def _decimals() -> dict[str, pa.Array]:
    made = {}
    for bits, precision, scale in ((32, 9, 2), (64, 18, 4), (128, 38, 10), (256, 76, 20)):
        greatest = decimal.Decimal((0, (9,) * precision, -scale))
        kind = getattr(pa, f"decimal{bits}")(precision, scale)
        made[f"d{bits}"] = _each(kind, lambda i: decimal.Decimal(i - 28) * 5 / 4, greatest.copy_negate(), greatest)
    thousands = _each(pa.decimal128(38, 0), lambda i: decimal.Decimal(i - 28))
    return made | {"thousands": thousands.view(pa.decimal128(38, -3))}


NOON = dt.datetime(2024, 2, 29, 12)
ZONES = {"utc": "UTC", "east": "+07:30", "south": "America/Argentina/Buenos_Aires"}


def _instant(i: int) -> dt.datetime:
    return NOON + (i - 28) * dt.timedelta(hours=10, minutes=30)


def _times() -> dict[str, pa.Array]:
    def day(i: int) -> dt.date:
        return NOON.date() + dt.timedelta(days=i - 28)

    def clock(i: int) -> dt.time:
        return (dt.datetime.min + i * dt.timedelta(minutes=20)).time()

    made = {kind: _each(getattr(pa, kind)(), day, dt.date.min, dt.date.max) for kind in ("date32", "date64")}
    for unit in ("s", "ms", "us", "ns"):
        time = pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
        made[f"time_{unit}"] = _each(time, clock, None, dt.time(23, 59, 59))
        early, late = dt.datetime(1700, 1, 1), dt.datetime(2200, 12, 31, 23, 59, 59)
        made[f"ts_{unit}"] = _each(pa.timestamp(unit), _instant, early, late)
        made[f"dur_{unit}"] = _each(
            pa.duration(unit),
            lambda i: dt.timedelta(seconds=90 * (i - 28)),
            dt.timedelta(days=-1000),
            dt.timedelta(days=1000),
        )
    return made | {f"ts_{name}": _each(pa.timestamp("ms", zone), _instant) for name, zone in ZONES.items()}


_HIGH = "\U0010ffff"
_WORDS = ["z", "zoé", "é", "ключ", "漢字", "\uffee", "😀", _HIGH * 2]
"""The last words, in the order of their bytes."""


def _text(i: int) -> str:
    return _WORDS[i - 50] if i in range(50, 58) else f"k{i:03}"


def _long_text(i: int) -> str:
    if i >= 55:
        return _HIGH * 20 + "x" * i
    return ("p" * 70 if i < 30 else "q" * 61 + "é" * 5) + f"{i:03}"


def _texts() -> dict[str, pa.Array]:
    text = _each(pa.string(), _text, "")
    data = _each(pa.binary(), lambda i: bytes([4 * i]) * (i % 3 + 1), b"", b"\xff" * 70)
    return {
        "s": text,
        "large": text.cast(pa.large_string()),
        "view": text.cast(pa.string_view()),
        "long": _each(pa.string(), _long_text),
        "bin": data,
        "bin_view": data.cast(pa.binary_view()),
        "fixed": _each(pa.binary(3), lambda i: bytes([i, 255, 0]), b"\0\0\0", b"\xff\xff\xff"),
    }


def _dictionaries() -> dict[str, pa.Array]:
    text = _each(pa.string(), _text, "")
    indices = [None if i in (13, 60) else 1 if i in NULLS else i for i in range(ROWS)]
    values = [None if i in NULLS or i == 1 else _text(i) for i in range(ROWS)]
    return {
        "dict": text.dictionary_encode(),
        "dict_null": pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), pa.array(values, pa.string())),
        "dict_int": _each(pa.int64(), lambda i: i * 3).dictionary_encode(),
    }


def _struct() -> pa.Array:
    rows = []
    for i in range(ROWS):
        inner = None if i in (30, 59) else {"c": None if i in NULLS else _text(i)}
        rows.append(None if i in (13, 58, 60, 61) else {"a": None if i in NULLS else i * 7, "n": inner})
    return pa.array(rows, pa.struct({"a": pa.int64(), "n": pa.struct({"c": pa.string()})}))


def pool() -> pa.Table:
    """The 64 rows in ascending order."""
    flags = _each(pa.bool_(), lambda i: i >= 40 or (i >= 20 and i % 3 == 0))
    columns = {"flag": flags, **_integers(), **_floats(), **_decimals(), **_times(), **_texts(), **_dictionaries()}
    return pa.table({**columns, "st": _struct(), "nothing": pa.nulls(ROWS)})


def order(layout: str, batches: int, rows: int, seed: int) -> Sequence[int]:
    """For each row of so many batches, which of the pool's rows it is."""
    random = np.random.default_rng(seed)
    spread = np.arange(batches * rows) * ROWS // (batches * rows)
    if layout == "shuffled":
        random.shuffle(spread)
    elif layout == "clustered":  # narrow batches, in no order, each with a stranger
        spread = random.permutation(spread.reshape(batches, rows))
        spread[:, 0] = random.integers(0, ROWS, batches)
        spread = spread.reshape(-1)
    return spread


def lay_out(layout: str, batches: int, rows: int, seed: int = 7) -> pa.Table:
    """The pool's rows in so many batches of so many rows; the first column, ``row``, numbers them."""
    picked = order(layout, batches, rows, seed)
    views = {"view": pa.string(), "bin_view": pa.binary()}
    source = pool()
    columns: dict[str, pa.Array] = {"row": pa.array(np.arange(batches * rows))}
    for name in source.column_names:
        column = source[name].combine_chunks()
        taken = column.cast(views.get(name, column.type)).take(pa.array(picked))
        columns[name] = taken.cast(column.type)
    whole = pa.table(columns)
    return pa.Table.from_batches(whole.to_batches(max_chunksize=rows), schema=whole.schema)
