"""Filters: whatever is pushed, the rows are those of Spark over Parquet."""

from __future__ import annotations

import datetime as dt
import decimal

import pyarrow as pa
import pytest

from service import Client, counted
from sparkling import Twin, Twins, explained

NAN, INF = float("nan"), float("inf")
_DAY = dt.date(2024, 2, 29)
_TIME = dt.datetime(2024, 2, 29, 12, 30, 15, 123456)

COLUMNS = {
    "b": (pa.bool_(), [True, False, None]),
    "i8": (pa.int8(), [-128, 127, 0, None, 5]),
    "i32": (pa.int32(), [-(2**31), 2**31 - 1, 0, None, 5, 6, 7]),
    "i64": (pa.int64(), [-(2**63), 2**63 - 1, 0, None, 5]),
    "u8": (pa.uint8(), [0, 255, None, 128]),
    "u32": (pa.uint32(), [0, 2**32 - 1, None, 5]),
    "u64": (pa.uint64(), [0, 2**64 - 1, None, 2**63]),
    "f32": (pa.float32(), [0.0, -0.0, 0.1, NAN, INF, -INF, None, 5.0]),
    "f64": (pa.float64(), [0.0, -0.0, 0.1, NAN, INF, -INF, None, 5.0, -5.0]),
    "clean": (pa.float64(), [0.5, 1.5, None, 2.5]),
    "dec": (pa.decimal128(9, 2), [decimal.Decimal(s) for s in ("1.50", "-1.50", "0.00", "9999999.99")] + [None]),
    "wide": (pa.decimal128(38, 4), [decimal.Decimal("1" * 34 + ".2345"), None, decimal.Decimal("-1.0000")]),
    "day": (pa.date32(), [_DAY, dt.date(1969, 12, 31), dt.date(9999, 12, 31), dt.date(1, 1, 1), None]),
    "ts": (pa.timestamp("us", "UTC"), [_TIME, dt.datetime(1969, 12, 31, 23, 59, 59, 999999), None]),
    "ntz": (pa.timestamp("us"), [_TIME, dt.datetime(1970, 1, 1), None]),
    "s": (pa.string(), ["", "a", "A", "ab", "ä", "zz", "a'b\\c\"", "\U0001f600", None]),
    "bin": (pa.binary(), [b"", b"a", b"\xff\x00", None]),
}

EXACT = """
b | NOT b | b = false | b <=> null | b IS NULL | b <> true
i8 = 5 | i8 <> 5 | i8 < 0 | i8 <=> 5 | NOT (i8 <=> 5) | i8 IN (5, 127, null) | i8 NOT IN (5, 127) | 5 >= i8
i32 > 2147483646 | i32 <= -2147483648 | i32 BETWEEN 5 AND 6 | i32 NOT BETWEEN 5 AND 6 | i32 IS NOT NULL
i64 = 9223372036854775807 | i64 < -9223372036854775807 | i64 >= 5 AND i64 < 9223372036854775807
u8 > 127 | u8 = 255 | u32 > 4294967294 | u32 IN (0, 5) | u64 = 18446744073709551615
u64 > 9223372036854775807
dec = 1.50 | dec > -1.5 | dec < 0 | dec IN (0, 9999999.99) | wide > 1 | wide = -1 | wide < 0
day = date '2024-02-29' | day > date '1969-12-31' | day < date '1000-01-01' | day <> date '9999-12-31'
ts = timestamp '2024-02-29 12:30:15.123456' | ts < timestamp '1970-01-01'
ts > timestamp '2024-02-29 12:30:15.123455'
ntz = timestamp_ntz '2024-02-29 12:30:15.123456' | ntz <= timestamp_ntz '1970-01-01'
s = '' | s = 'ä' | s > 'a' | s < 'a' | s >= 'zz' | s IN ('a', 'A', null) | s NOT IN ('a', 'A')
s LIKE 'a%' | s LIKE '😀%'
s = 'a\\'b\\\\c"' | s <> 'a' | NOT (s > 'a') | s <=> null
bin = X'61' | bin > X'61' | bin = X'FF00' | bin <> X''
i8 = 5 OR s = 'a' | NOT (i8 = 5 OR s = 'a') | NOT (i8 = 5 AND s = 'a')
(i8 = 5 OR s = 'a') AND (b OR i32 > 0)
i8 = 5 OR i8 IS NULL AND s IS NULL | st.a = 3 | st.t IS NULL | st.t LIKE 't1%' AND st.a > 10 | st IS NULL
s IS NULL OR NOT (i8 < 0 AND (b OR dec > 0)) | true AND i8 > 1
"""
"""Predicates that the server applies exactly: no filter is left in the plan."""

PARTLY = """
f64 = 0.0D | f64 > 1.0D | f64 >= double('NaN') | f64 = double('NaN') | f64 <> 5.0D | f64 < 0.0D
f64 <= 0.0D | f64 IN (0.0D, 5.0D)
f64 NOT IN (0.0D, 5.0D) | NOT (f64 > 1.0D) | NOT (f64 < 1.0D) | f64 < double('NaN') | f64 <> double('NaN')
f64 > double('-Infinity')
f32 = float(0.1) | f32 > float(0.1) | f32 <= float('Infinity') | f32 = -0.0F | f32 NOT IN (0.0F)
f32 >= float('Infinity')
clean > 0.75D | clean >= 2.5D AND i8 = 5 | clean < 1.0D OR i8 = 5
i8 = 5 AND length(s) > 1 | length(s) = 1 OR i8 = 5 | s LIKE '%b' | s LIKE '%b%' AND i8 IS NOT NULL
i8 + 1 = 6 | upper(s) = 'A'
NOT (s LIKE 'a%') | s > cast(i8 AS string) | i32 = i8 | dec * 2 = 3 | b <> (i8 = 5) | i8 IN (5) AND n % 2 = 0
s COLLATE UTF8_LCASE = 'a' | s || 'x' = 'ax' | cast(i8 AS string) = '5' | year(day) = 2024 | st.a % 3 = 0
"""
"""Predicates that Spark looks at itself, wholly or in part."""


def predicates(text: str) -> list[str]:
    return [p.strip() for line in text.strip().splitlines() for p in line.split(" | ")]


@pytest.fixture(scope="module")
def data() -> pa.Table:
    rows = 2000
    columns = {}
    for number, (column, (kind, values)) in enumerate(COLUMNS.items()):
        # Each column goes through its values at a pace of its own.
        columns[column] = pa.array([values[(i // (1 + number % 4)) % len(values)] for i in range(rows)], kind)
    inner = [None if i % 11 == 0 else {"a": i % 17, "t": None if i % 3 else f"t{i % 20}"} for i in range(rows)]
    columns["st"] = pa.array(inner, pa.struct({"a": pa.int32(), "t": pa.string()}))
    columns["n"] = pa.array(range(rows), pa.int64())
    return pa.table(columns)


def _hits(twin: Twin, cases: list[str]) -> list[list[int]]:
    """The rows of all cases over Parquet, from one query."""
    lists = ", ".join(f"collect_list(CASE WHEN {p} THEN n END)" for p in cases)
    (row,) = twin.spark.sql(f"SELECT {lists} FROM {twin.names[1]}").collect()
    return [sorted(ids) for ids in row]


@pytest.mark.parametrize("cases", [EXACT, PARTLY], ids=["exact", "partly"])
def test_rows_are_those_over_parquet(twins: Twins, name: str, data: pa.Table, cases: str) -> None:
    twin = twins.make(name, data.combine_chunks(), {"batching": "keep"})
    listed = predicates(cases)
    wrong = []
    for predicate, expected in zip(listed, _hits(twin, listed), strict=True):
        frame = twin.ours.where(predicate).select("n")
        if sorted(r.n for r in frame.collect()) != expected:
            wrong.append(f"{predicate}: other rows")
        filtered = "Filter " in explained(frame)
        if filtered != (cases is PARTLY):
            wrong.append(f"{predicate}: {explained(frame)}")
    assert wrong == []


def test_filters_on_few_batches_prune(twins: Twins, client: Client, name: str) -> None:
    """Floats, too: where there are no NaNs, and where what is compared leaves them out."""
    values = [float(i) for i in range(1000)]
    data = pa.table({"f": values, "g": [NAN if i % 100 == 5 else v for i, v in enumerate(values)], "n": range(1000)})
    batches = pa.Table.from_batches(data.to_batches(max_chunksize=100))
    twin = twins.make(name, batches, {"batching": "keep"})
    for predicate, batches_sent in [("f > 850.0D", 2), ("f < 50.0D", 1), ("g < 50.0D", 1), ("g > 850.0D", 10)]:
        with counted(client) as grown:
            ours = sorted(twin.ours.where(predicate).select("n").collect())
        assert ours == sorted(twin.theirs.where(predicate).select("n").collect())
        assert grown["batches_sent"] == batches_sent, predicate


def test_a_nan_that_came_later_is_found(twins: Twins, client: Client, name: str) -> None:
    """What is known of a generation is not used for the next one."""
    client.put(name, pa.table({"f": [1.0, 2.0]}))
    frame = twins.read(name)
    client.put(name, pa.table({"f": [1.0, NAN]}))
    assert frame.where("f > 1.5D").count() == 1


def test_filters_show_in_the_plan(twins: Twins, name: str, data: pa.Table) -> None:
    twin = twins.make(name, data)
    plan = explained(twin.ours.where("i8 = 5 AND (s = 'a' OR i32 > 6)").select("n"))
    assert 'PushedFilters: [i8 is not null AND i8 = 5 AND s = "a" OR i8 is not null AND i8 = 5 AND i32 > 6]' in plan


def test_a_filter_that_is_too_long_is_left_to_spark(twins: Twins, name: str, data: pa.Table) -> None:
    twin = twins.make(name, data)
    long = " AND ".join(f"(n = {i} OR n > {i} + 0 OR i8 = {i % 100})" for i in range(12))
    twin.agree(f"SELECT n FROM {{t}} WHERE {long}")
    many = ", ".join(str(i) for i in range(0, 4000, 3))
    twin.agree(f"SELECT n FROM {{t}} WHERE n IN ({many})")
