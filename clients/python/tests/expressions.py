"""Random pyarrow expressions over the tables of filter_tables: of all types, with nulls, NaNs and odd literals."""

from __future__ import annotations

import operator
import random

import pyarrow as pa
import pyarrow.compute as pc

import filter_tables

f = pc.field
POOL = filter_tables.pool()
PLAIN = [n for n in POOL.column_names if n not in ("st", "nothing")]
COMPARED = [n for n in PLAIN if n not in ("view", "bin_view", "thousands", "f16") and not n.startswith("dict")]
TEXTS = ["s", "large", "view", "long", "dict", "dict_null"]
FLOATS = ["f32", "f64"]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


def _scalar(rng: random.Random, name: str) -> pa.Scalar:
    """A value of the column, hardly ever a null."""
    value = POOL[name][rng.randrange(filter_tables.ROWS)]
    if isinstance(value, pa.DictionaryScalar):
        value = value.value
    if value.type in (pa.string_view(), pa.binary_view()):
        value = pa.scalar(value.as_py(), pa.string() if value.type == pa.string_view() else pa.binary())
    return value


def _values(rng: random.Random, name: str) -> pa.Array:
    values = [_scalar(rng, name) for _ in range(rng.choice((0, 1, 2, 5)))]
    kind = values[0].type if values else pa.int8() if name.startswith(("i", "u", "f")) else pa.string()
    return pa.array([v.as_py() for v in values], kind) if values else pa.array([], kind)


def _compare(rng: random.Random) -> pc.Expression:
    name, compare = rng.choice(PLAIN), rng.choice(COMPARISONS)
    how = rng.random()
    if how < 0.75:
        value = pc.scalar(_scalar(rng, name))
    elif how < 0.85:
        value = pc.scalar(rng.choice((0, 1, -3, 2.5, float("nan"), "k010", True, 10**6)))
    else:
        value = f(rng.choice((name, rng.choice(COMPARED))))
    return compare(f(name), value) if rng.random() < 0.9 else compare(value, f(name))


def _isin(rng: random.Random) -> pc.Expression:
    name = rng.choice([n for n in PLAIN if n not in ("f16", "thousands")])
    return pc.is_in(f(name), value_set=_values(rng, name), skip_nulls=rng.random() < 0.2)


def _null(rng: random.Random) -> pc.Expression:
    name = rng.choice(POOL.column_names)
    how = rng.randrange(4)
    if how == 0:
        return f(name).is_valid()
    if how == 1:
        return f(rng.choice(FLOATS)).is_null(nan_is_null=True)
    return f(name).is_null()


def _text(rng: random.Random) -> pc.Expression:
    name = rng.choice(TEXTS)
    start = rng.choice(("k0", "K0", "", "z", "ключ", "kk"))
    if rng.random() < 0.6:
        return pc.starts_with(f(name), start, ignore_case=rng.random() < 0.3)
    if rng.random() < 0.5:
        return pc.match_substring(f(name), start)
    return pc.utf8_length(f(name)) > rng.randrange(6)


def _nested(rng: random.Random) -> pc.Expression:
    how = rng.randrange(4)
    if how == 0:
        return f("st", "a") > rng.randrange(450)
    if how == 1:
        return f("st", "n", "c") <= f"k0{rng.randrange(60):02}"
    if how == 2:
        return f("st", "n").is_null()
    return pc.is_in(f("st", "a"), value_set=pa.array([7, None, 14, 0][: rng.randrange(5)], pa.int64()))


def _odd(rng: random.Random) -> pc.Expression:
    how = rng.randrange(8)
    if how == 0:
        return f(rng.choice(("i8", "i16"))) + rng.randrange(5) > rng.randrange(20)
    if how == 1:
        return f(rng.choice(("i8", "u8", "i32"))).cast(pa.int64(), safe=False) > rng.randrange(50)
    if how == 2:
        return pc.is_nan(f(rng.choice(FLOATS)))
    if how == 3:
        return pc.is_finite(f("f64"))
    if how == 4:
        return pc.scalar(rng.choice((True, False)))
    if how == 5:
        return f("flag")
    if how == 6:
        return f("flag") == rng.choice((True, False))
    return pc.coalesce(f("flag"), pc.scalar(rng.choice((True, False))))


def expression(rng: random.Random, depth: int = 0) -> pc.Expression:
    """Any expression; many cannot be computed by pyarrow either."""
    choice = rng.random()
    if depth < 3 and choice < 0.5:
        left, right = expression(rng, depth + 1), expression(rng, depth + 1)
        if choice < 0.14:
            return ~left
        if choice < 0.19:
            return pc.if_else(left, right, expression(rng, depth + 1))
        if choice < 0.21:
            return pc.xor(left, right)
        return left & right if choice < 0.36 else left | right
    makes = [_compare, _compare, _compare, _isin, _isin, _null, _text, _nested, _odd]
    return rng.choice(makes)(rng)
