"""Filters as Substrait, as pyarrow writes its own expressions: the rows that Acero chooses when it reads them back.

``FILTER_SEED`` repeats a run, ``FILTER_ROUNDS`` makes it longer.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import os
import random
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.substrait as substrait
import pytest

import filter_tables
from compare import assert_same
from service import Client, Server, counted

DATASET = "substrait/table"
EXPRESSIONS_EACH = int(os.environ.get("FILTER_ROUNDS", "500")) // 10
SEED = int(os.environ.get("FILTER_SEED", random.randrange(2**32)))

# Acero filters no views, and Substrait knows no decimals of 256 bits and no durations.
NOT_IN_ACERO = {"view", "bin_view", "thousands", "d256", "dur_s", "dur_ms", "dur_us", "dur_ns"}
KEPT = [name for name in filter_tables.pool().column_names if name not in NOT_IN_ACERO]

f = pc.field
NOON = filter_tables.NOON

EXPRESSIONS = {
    "equal": f("i8") == 8,
    "not equal": f("i8") != 8,
    "less": f("i64") < 0,
    "at most": f("u64") <= pa.scalar(2 * 10**17, pa.uint64()),
    "greater": f("f64") > 1.5,
    "at least": f("f32") >= pa.scalar(2.0, pa.float32()),
    "flipped": pc.scalar(5) < f("i8"),
    "text": f("s") >= "k03",
    "large text": f("large") == pa.scalar("z", pa.large_string()),
    "binary": f("bin") < b"\x20",
    "flag": f("flag"),
    "not flag": ~f("flag"),
    "flag equals": f("flag") == True,  # noqa: E712
    "null": f("s").is_null(),
    "valid": f("f64").is_valid(),
    "null of a struct": f("st").is_null(),
    "leaf": f("st", "a") > 100,
    "deep leaf": f("st", "n", "c") == "k020",
    "and": (f("i8") > 0) & (f("s") < "k050"),
    "or": (f("i8") > 80) | f("i8").is_null(),
    "not": ~((f("i8") > 0) | (f("s") < "k010")),
    "not null-safe": ~(f("i8") > 0),
    "list": f("i32").isin([0, 10**7, 5]),
    "list of texts": f("s").isin(["k003", "zoé", "none"]),
    "no list": ~f("i32").isin([0, 10**7]),
    "date": f("date32") == dt.date(2024, 2, 29),
    "timestamp": f("ts_us") < pa.scalar(NOON, pa.timestamp("us")),
    "timestamp with a zone": f("ts_utc") >= pa.scalar(NOON, pa.timestamp("ms", "UTC")),
    "time": f("time_us") > pa.scalar(dt.time(16, 40), pa.time64("us")),
    "decimal": f("d128") > pa.scalar(decimal.Decimal("2.5"), pa.decimal128(38, 10)),
    "NaN equals nothing": f("f64") == float("nan"),
    "is NaN": pc.is_nan(f("f64")),
    "starts with": pc.starts_with(f("s"), "k04"),
    "if": pc.if_else(f("i8") > 0, f("s") < "k040", f("f64") < 0),
    "a wider type": f("i8").cast(pa.int64(), safe=False) > 5,
    "always": pc.scalar(True),
    "never": pc.scalar(False),
}


@pytest.fixture(scope="module")
def data() -> pa.Table:
    return filter_tables.lay_out("clustered", 16, 4).select(["row", *KEPT])


@pytest.fixture(scope="module", autouse=True)
def _stored(server: Server, data: pa.Table) -> Iterator[None]:
    with server.client() as client:
        client.put(DATASET, data, batching="keep")
        yield


def written(expression: pc.Expression, schema: pa.Schema) -> str:
    """The expression as a command has it."""
    return base64.b64encode(expression.to_substrait(schema)).decode()


def read_back(message: str) -> pc.Expression:
    """What Acero makes of the message: is_in, say, which is true or false for nulls, comes back as a disjunction."""
    return substrait.deserialize_expressions(base64.b64decode(message)).expressions["expression"]


def check(client: Client, data: pa.Table, expression: pc.Expression) -> None:
    message = written(expression, data.schema)
    expected = data.filter(read_back(message))
    with counted(client) as grown:
        assert_same(client.get(DATASET, substrait=message), expected)
    kept = 16 - grown["batches_pruned"]
    assert grown["batches_sent"] <= kept
    info = client.info(DATASET, substrait=message)
    assert info.total_records in (-1, expected.num_rows)
    assert client.info(DATASET, substrait=message, count="exact").total_records == expected.num_rows
    whole = client.get(DATASET, substrait=message, prune_only=True)
    assert whole.num_rows == 4 * kept
    assert set(expected["row"].to_pylist()) <= set(whole["row"].to_pylist())


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_rows_are_those_of_acero(client: Client, data: pa.Table, name: str) -> None:
    check(client, data, EXPRESSIONS[name])


def random_expression(rng: random.Random, depth: int = 0) -> pc.Expression:
    choice = rng.random()
    if depth < 3 and choice < 0.5:
        left, right = random_expression(rng, depth + 1), random_expression(rng, depth + 1)
        if choice < 0.1:
            return ~left
        if choice < 0.15:
            return pc.if_else(left, right, random_expression(rng, depth + 1))
        return left & right if choice < 0.33 else left | right
    name = rng.choice(("i8", "i64", "f64", "s", "flag", "ts_us", "d128"))
    value = filter_tables.pool()[name][rng.randrange(filter_tables.ROWS)]
    if choice > 0.9 or not value.is_valid:
        return f(name).is_null()
    if choice > 0.8 and name not in ("flag", "f64"):
        others = [filter_tables.pool()[name][i] for i in range(0, 57, 13)]
        return f(name).isin(pa.array([v.as_py() for v in others if v.is_valid], value.type))
    compare = rng.choice(("__eq__", "__ne__", "__lt__", "__ge__"))
    return getattr(f(name), compare)(value)


@pytest.mark.parametrize("number", range(10))
def test_random_expressions(client: Client, data: pa.Table, number: int) -> None:
    print(f"FILTER_SEED={SEED}, number {number}")
    rng = random.Random(f"{SEED}/{number}")
    for _ in range(EXPRESSIONS_EACH):
        check(client, data, random_expression(rng))


def test_the_message_may_know_fewer_columns_in_another_order(client: Client, data: pa.Table) -> None:
    schema = pa.schema([data.schema.field(n) for n in ("s", "st", "i8")])
    message = base64.b64encode(((f("i8") > 0) & (f("st", "a") < 300)).to_substrait(schema)).decode()
    expected = data.filter((f("i8") > 0) & (f("st", "a") < 300))
    assert_same(client.get(DATASET, substrait=message, columns=["row"]), expected.select(["row"]))


@pytest.mark.parametrize(
    ("text", "hint"),
    [("", "empty"), ("AA", "base64"), ("AAAA", "substrait"), (base64.b64encode(b"\xff" * 100).decode(), "substrait")],
)
def test_what_is_no_message_is_refused(client: Client, text: str, hint: str) -> None:
    with pytest.raises(pa.ArrowInvalid, match=hint):
        client.get(DATASET, substrait=text)


def test_filters_and_substrait_do_not_go_together(client: Client, data: pa.Table) -> None:
    message = written(f("i8") > 0, data.schema)
    with pytest.raises(pa.ArrowInvalid, match="filters"):
        client.get(DATASET, substrait=message, filters=[["i8", ">", 0]])


def test_columns_that_are_not_there_are_named(client: Client) -> None:
    message = base64.b64encode((f("velocity") > 1).to_substrait(pa.schema({"velocity": pa.int64()}))).decode()
    with pytest.raises(pa.ArrowInvalid, match="velocity"):
        client.get(DATASET, substrait=message)


def test_functions_that_are_not_known_are_refused_by_name(client: Client, data: pa.Table) -> None:
    message = written(f("i8") + 1 > 5, data.schema)
    with pytest.raises(pa.ArrowNotImplementedError, match="add"):
        client.get(DATASET, substrait=message)
