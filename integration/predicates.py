"""The filters that the tests ask for, over the tables of ``filter_tables``: every operator and every type."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Iterator
from typing import Any

from filter_tables import NOON
from predicate_oracle import Predicate, Term

OPERATORS = ("=", "!=", "<", "<=", ">", ">=")

D = decimal.Decimal
HOUR = dt.timedelta(hours=1)
_HIGH = "\U0010ffff"


def _one(*arguments: Any, like: tuple[str, Any] | None = None) -> Predicate:
    term = Term(*arguments)
    if like is None:
        return [[term]]
    return [[Term(*arguments, like=Term(term.column, *like))]]


def _all_operators() -> Iterator[tuple[str, Predicate]]:
    """Each operator with a value that rows have, for one column of each kind of comparison."""
    values = {
        "i16": (-3000, -3000),
        "u64": (17 * 10**16, 17 * 10**16),
        "f64": (-0.5, -0.5),
        "d64": ("-3.75", D("-3.75")),
        "d256": (2.5, D("2.5")),
        "date32": ("2024-02-28", NOON.date() - dt.timedelta(1)),
        "ts_us": ("2024-03-02T06:00:00", NOON + 42 * HOUR),
        "s": ("k031", "k031"),
        "bin": ("ICA=", b"\x20\x20"),
        "dict": ("ключ", "ключ"),
    }
    for column, (literal, value) in values.items():
        for op in OPERATORS:
            yield f"{column} {op}", _one(column, op, literal, value)
    yield "i16 ==", _one("i16", "==", -3000)


def _integers() -> Iterator[tuple[str, Predicate]]:
    for bits in (8, 16, 32, 64):
        least, greatest, unsigned = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 2**bits - 1
        yield f"the least int{bits}", _one(f"i{bits}", "<=", least)
        yield f"the greatest int{bits}", _one(f"i{bits}", "=", greatest)
        yield f"all but the greatest uint{bits}", _one(f"u{bits}", "<", unsigned)
        yield f"the greatest uint{bits}", _one(f"u{bits}", ">=", unsigned)
        yield f"zero of uint{bits}", _one(f"u{bits}", "<=", 0)
        yield f"below int{bits}", _one(f"i{bits}", "<", least - 1, like=("never", None))
        yield f"beyond int{bits}", _one(f"i{bits}", "!=", greatest + 1, like=("is not null", None))
        yield f"beyond uint{bits}", _one(f"u{bits}", "<", unsigned + 1, like=("is not null", None))
        yield f"negative and uint{bits}", _one(f"u{bits}", "in", [-1, 0], like=("=", 0))
    yield "a fraction below", _one("i8", ">", 4.5, like=(">=", 5))
    yield "a fraction is no integer", _one("i8", "=", 4.5, like=("never", None))
    yield "a whole number with a fraction", _one("i8", "=", 8.0, 8)
    yield "a huge number", _one("i64", ">", 2**70, like=("never", None))
    yield "every digit of an int64", _one("i64", "=", 2**63 - 1)
    yield "next to the greatest", _one("i64", ">", 2**63 - 2)
    yield "a decimal of integers", _one("u32", "<=", 12.5e6, like=("<=", 12_500_000))


def _floats() -> Iterator[tuple[str, Predicate]]:
    infinity, nan = float("inf"), float("nan")
    for bits in (16, 32, 64):
        yield f"zero, float{bits}", _one(f"f{bits}", "=", 0)
        yield f"minus zero, float{bits}", _one(f"f{bits}", ">=", -0.0)
        yield f"not zero, float{bits}", _one(f"f{bits}", "!=", -0.0)
        yield f"infinity, float{bits}", _one(f"f{bits}", "=", "Infinity", infinity)
        yield f"less than infinity, float{bits}", _one(f"f{bits}", "<", "Infinity", infinity)
        yield f"minus infinity, float{bits}", _one(f"f{bits}", "<=", "-Infinity", -infinity)
        yield f"NaN equals nothing, float{bits}", _one(f"f{bits}", "=", "NaN", nan)
        yield f"NaN differs from all, float{bits}", _one(f"f{bits}", "!=", "NaN", nan)
        yield f"no list has NaN, float{bits}", _one(f"f{bits}", "in", ["NaN", 1.5], [nan, 1.5])
        yield f"NaN is in no list, float{bits}", _one(f"f{bits}", "not in", ["NaN", 1.5], [nan, 1.5])
    yield "greater than one, beside NaN", _one("f64", ">", 13)
    yield "lists of zeros", _one("f64", "in", [-0.0, 2.5])
    yield "not in lists of zeros", _one("f64", "not in", [0.0, 2.5])
    yield "a tenth is no float32", _one("f32", "=", 0.1)
    yield "the greatest float64", _one("f64", ">=", 1.7976931348623157e308)


def _decimals() -> Iterator[tuple[str, Predicate]]:
    for bits, digits, scale in ((32, 9, 2), (64, 18, 4), (128, 38, 10), (256, 76, 20)):
        greatest = D((0, (9,) * digits, -scale))
        second = D((1, (9,) * (digits - 1) + (8,), -scale))
        yield f"the greatest decimal{bits}", _one(f"d{bits}", "=", f"{greatest:f}", greatest)
        yield f"the least decimal{bits}", _one(f"d{bits}", "<", f"{second:f}", second)
        yield f"a negative decimal{bits}", _one(f"d{bits}", "<=", "-12.50", D("-12.5"))
        yield f"a list of decimal{bits}", _one(f"d{bits}", "in", ["1.25", 2.5], [D("1.25"), D("2.5")])
    yield "more digits than the scale", _one("d32", "<", "1.2500001", like=("<=", D("1.25")))
    yield "less than a unit", _one("d32", "=", "0.001", like=("never", None))
    yield "a negative scale", _one("thousands", ">", 3500, like=(">", D(3)))
    yield "a negative scale, a list", _one("thousands", "in", ["7000", 8500], like=("=", D(7)))


def _times() -> Iterator[tuple[str, Predicate]]:
    early, day = dt.datetime(1700, 1, 1), NOON.date()
    for kind in ("date32", "date64"):
        yield f"a leap day, {kind}", _one(kind, "=", "2024-02-29", day)
        yield f"the first day, {kind}", _one(kind, "<=", "0001-01-01", dt.date.min)
        yield f"the last day, {kind}", _one(kind, ">", "9999-12-30", dt.date.max - dt.timedelta(1))
        yield (
            f"days in a list, {kind}",
            _one(kind, "in", ["2024-03-01", "2024-02-27"], [day + dt.timedelta(1), day - dt.timedelta(2)]),
        )
    for unit in ("s", "ms", "us", "ns"):
        yield f"a time, {unit}", _one(f"time_{unit}", ">=", "16:40:00", dt.time(16, 40))
        yield f"the last time, {unit}", _one(f"time_{unit}", "=", "23:59:59", dt.time(23, 59, 59))
        yield f"a timestamp, {unit}", _one(f"ts_{unit}", "<", "2024-02-29T12:00:00", NOON)
        yield f"the first timestamp, {unit}", _one(f"ts_{unit}", "=", "1700-01-01 00:00", early)
        yield f"a day for a timestamp, {unit}", _one(f"ts_{unit}", ">=", "2024-03-01", dt.datetime(2024, 3, 1))
        yield f"a duration, {unit}", _one(f"dur_{unit}", ">", "PT3M", dt.timedelta(minutes=3))
        yield f"a negative duration, {unit}", _one(f"dur_{unit}", "<=", "-P1000D", dt.timedelta(-1000))
    yield "between two seconds", _one("ts_s", ">", "2024-02-29T11:59:59.5", like=(">=", NOON))
    yield "a nanosecond", _one("ts_ns", ">", "2024-02-29T11:59:59.999999999", like=(">=", NOON))
    yield "a time with a fraction", _one("time_ms", "<", "00:20:00.0005", like=("<=", dt.time(0, 20)))
    for zone in ("utc", "east", "south"):
        yield f"an instant in {zone}", _one(f"ts_{zone}", "=", "2024-02-29T13:00:00+01:00", NOON)
        yield f"after an instant in {zone}", _one(f"ts_{zone}", ">", "2024-02-29T12:00:00Z", NOON)


def _texts() -> Iterator[tuple[str, Predicate]]:
    for column in ("s", "large", "view", "dict", "dict_null", "st.n.c"):
        yield f"{column} empty", _one(column, "=", "")
        yield f"{column} starts with", _one(column, "starts with", "k01")
        yield f"{column} starts high", _one(column, "starts with", _HIGH)
        yield f"{column} after z", _one(column, ">", "z")
        yield f"{column} in", _one(column, "in", ["漢字", "k005", "none"])
        yield f"{column} not in", _one(column, "not in", ["k001", "k002", "k003"])
    yield "starts with anything", _one("s", "starts with", "")
    yield "two bytes and four", _one("s", "starts with", "zo")
    yield "beyond every text", _one("s", ">", _HIGH * 3)
    yield "a long text", _one("long", "=", "p" * 70 + "007")
    yield "longer than a bound", _one("long", ">", "p" * 70)
    yield "starts longer than a bound", _one("long", "starts with", "q" * 61 + "é" * 4)
    yield "long and high", _one("long", ">=", _HIGH * 20)
    yield "before the long ones", _one("long", "<", "p" * 64)
    yield "binary", _one("bin", "starts with", "FA==", b"\x14")
    yield "binary of 0xFF", _one("bin", ">=", "/////w==", b"\xff" * 4)
    yield "starts with 0xFF", _one("bin", "starts with", "//8=", b"\xff\xff")
    yield "a binary view", _one("bin_view", "<=", "EBA=", b"\x10\x10")
    yield "binary from a byte that is no text", _one("bin", ">=", "qA==", b"\xa8")
    yield "starts with a byte that is no text", _one("bin", "starts with", "qKg=", b"\xa8\xa8")
    yield "binary in", _one("bin", "in", ["", "BAQ="], [b"", b"\x04\x04"])
    yield "fixed", _one("fixed", "<", "Bf8A", b"\x05\xff\x00")
    yield "fixed, shorter", _one("fixed", ">", "OA==", like=(">", b"8\0\0"))


def _nulls_and_lists() -> Iterator[tuple[str, Predicate]]:
    for column in ("i8", "f64", "d128", "s", "view", "dict", "dict_null", "dict_int", "st", "st.a", "st.n", "st.n.c"):
        yield f"{column} is null", _one(column, "is null")
        yield f"{column} is not null", _one(column, "is not null")
    yield "nothing is null", _one("nothing", "is null")
    yield "nothing is not null", _one("nothing", "is not null")
    yield "a flag", _one("flag", "=", True)
    yield "not a flag", _one("flag", "!=", True)
    yield "less than true", _one("flag", "<", True)
    yield "flags in", _one("flag", "in", [True, False])
    yield "flags not in", _one("flag", "not in", [True, False])
    yield "equals null", _one("i8", "=", None)
    yield "differs from null", _one("s", "!=", None)
    yield "in null", _one("i32", "in", [None, 40 * 10**7 - 28 * 10**7])
    yield "not in null", _one("i32", "not in", [None, 1])
    yield "in nothing", _one("i8", "in", [])
    yield "not in nothing", _one("i8", "not in", [])
    yield "in one", _one("u16", "in", [9000])
    yield "in 10,000", _one("u16", "in", list(range(20_000, 30_000)))
    yield "not in 10,000", _one("u16", "not in", list(range(20_000, 30_000)))
    yield "in 10,000 texts", _one("s", "in", [f"k{i:03}" for i in range(20, 10_020)])
    yield "an ordinal", _one(2, "<=", -100)
    yield "a leaf", _one("st.a", "<", 100)
    yield "a dictionary of integers", _one("dict_int", ">=", 120)


def _combined() -> Iterator[tuple[str, Predicate]]:
    low, high = Term("i32", ">=", -5 * 10**7), Term("i32", "<", 5 * 10**7)
    text, null = Term("s", "starts with", "k04"), Term("f64", "is null")
    flag, other = Term("flag", "=", True), Term("st.a", "not in", [7, 140])
    yield "a range", [[low, high]]
    yield "outside of a range", [[Term("i32", "<", -5 * 10**7)], [Term("i32", ">=", 5 * 10**7)]]
    yield "a range and a text", [[low, high, Term("s", "!=", "k029"), flag]]
    yield "an empty range", [[Term("i64", ">", 5), Term("i64", "<", 6)]]
    yield "a range of one float", [[Term("f64", ">=", 2.5), Term("f64", "<=", 2.5)]]
    yield "an empty range of texts", [[Term("s", ">", "k020"), Term("s", "<", "k020")]]
    yield "either", [[text], [null]]
    yield "four lists", [[text, flag], [null, flag], [low, high, other], [Term("u8", "in", [0, 255])]]
    yield "true or null", [[Term("i8", ">", 0)], [Term("i8", "<=", 0)], [Term("i8", "is null")]]
    yield "null and not null", [[Term("i8", "is null"), Term("u8", "is not null")]]
    yield "ten thousand and a range", [[Term("u16", "in", list(range(10_000))), low]]


def _table() -> dict[str, Predicate]:
    table: dict[str, Predicate] = {}
    for part in (_all_operators, _integers, _floats, _decimals, _times, _texts, _nulls_and_lists, _combined):
        for name, predicate in part():
            assert name not in table, name
            table[name] = predicate
    return table


PREDICATES = _table()
