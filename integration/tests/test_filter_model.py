"""Random tables and filters, compared with pyarrow row by row: 10,000 filters a run.

``FILTER_SEED`` repeats a run, ``FILTER_ROUNDS`` makes it longer.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import json
import os
import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import filter_tables
from compare import assert_same
from predicate_oracle import Batches, Term, filters, keys, matches, rows_of
from service import Client, counted

SEED = int(os.environ.get("FILTER_SEED", random.randrange(2**32)))
ROUNDS = int(os.environ.get("FILTER_ROUNDS", "10000"))
DATASETS = 20

COLUMNS = [c for c in filter_tables.pool().column_names if c not in ("st", "nothing", "thousands")] + ["st.a", "st.n.c"]
NULLABLE = [*COLUMNS, "st", "st.n", "nothing"]
WIRES = ("none", "stored", "zstd", "lz4")
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")


def iso(length: dt.timedelta) -> str:
    return ("-" if length < dt.timedelta() else "") + f"PT{abs(length) // dt.timedelta(seconds=1)}S"


def literal(value: Any, kind: pa.DataType) -> Any:
    """A value as the JSON of a filter has it."""
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
        return value
    if isinstance(value, decimal.Decimal):
        return f"{value:f}"
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dt.timedelta):
        return iso(value)
    if isinstance(value, dt.datetime):
        text = value.replace(tzinfo=None).isoformat() if kind.tz is None else value.astimezone(dt.UTC).isoformat()
        return text
    return value.isoformat() if isinstance(value, (dt.date, dt.time)) else value


class Values:
    """Values of each column: those of the pool, and near ones that no row has."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.pool = filter_tables.pool()
        self.known: dict[str, tuple[list[Any], pa.DataType]] = {}
        for name in COLUMNS:
            root, *path = name.split(".")
            column = self.pool[root]
            for step in path:
                column = pc.struct_field(column, step)
            if pa.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            plain = column
            if pa.types.is_floating(column.type):
                plain = column.cast(pa.float64())
            elif pa.types.is_temporal(column.type) and getattr(column.type, "unit", "") == "ns":
                plain = column.cast(_MICROSECONDS[type(column.type)])
            self.known[name] = ([v for v in plain.to_pylist() if v is not None], column.type)

    def pick(self, name: str) -> tuple[Any, Any]:
        """A literal and its value."""
        values, kind = self.known[name]
        value = self.rng.choice(values)
        if self.rng.random() < 0.3:
            value = self._near(value, kind)
        return literal(value, kind), value

    def _near(self, value: Any, kind: pa.DataType) -> Any:
        step = self.rng.choice((-1, 1))
        if pa.types.is_integer(kind):
            least, greatest = (
                (-(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1)
                if pa.types.is_signed_integer(kind)
                else (0, 2**kind.bit_width - 1)
            )
            return min(max(value + step, least), greatest)
        if isinstance(value, float):
            return value + step / 4
        if isinstance(value, str):
            return value + "x" if step > 0 else value[:-1]
        if isinstance(value, bytes) and not pa.types.is_fixed_size_binary(kind):
            return value + b"\0" if step > 0 else value[:-1]
        return value

    def start(self, name: str) -> tuple[Any, Any]:
        value = self.rng.choice(self.known[name][0])
        value = value[: self.rng.randint(0, len(value))]
        return literal(value, self.known[name][1]), value

    def term(self, names: Sequence[str] = ()) -> Term:
        """A term of any column, or of some."""
        if not names and self.rng.random() < 0.12:
            return Term(self.rng.choice(NULLABLE), self.rng.choice(("is null", "is not null")))
        name = self.rng.choice(names or COLUMNS)
        kind = self.known[name][1]
        choice = self.rng.random()
        if choice < 0.25:
            pairs = [self.pick(name) for _ in range(self.rng.choice((0, 1, 2, 3, 40)))]
            pairs += [(None, None)] if self.rng.random() < 0.1 else []
            literals, values = [p[0] for p in pairs], [p[1] for p in pairs]
            return Term(name, self.rng.choice(("in", "not in")), literals, values)
        if (
            choice < 0.4
            and isinstance(self.known[name][0][0], (str, bytes))
            and not pa.types.is_fixed_size_binary(kind)
        ):
            return Term(name, "starts with", *self.start(name))
        return Term(name, self.rng.choice(COMPARISONS), *self.pick(name))

    def predicate(self) -> list[list[Term]]:
        return [
            [self.term() for _ in range(self.rng.choice((1, 1, 2, 3)))] for _ in range(self.rng.choice((1, 1, 2, 4)))
        ]


_MICROSECONDS = {
    pa.Time64Type: pa.time64("us"),
    pa.TimestampType: pa.timestamp("us"),
    pa.DurationType: pa.duration("us"),
}


@pytest.mark.parametrize("number", range(DATASETS))
def test_random_filters(client: Client, name: str, number: int) -> None:
    rng = random.Random(f"{SEED}/{number}")
    print(f"FILTER_SEED={SEED}, dataset {number}")
    layout, batches = rng.choice(filter_tables.LAYOUTS), rng.choice((1, 3, 16, 40))
    rows = rng.choice((1, 3, 4, 64, 65, 200))
    data = filter_tables.lay_out(layout, batches, rows, rng.randrange(2**32))
    split = rng.randrange(batches) * rows
    for part, mode in ((data.slice(0, split), "replace"), (data.slice(split), "append")):
        client.put(name, part, mode=mode, batching="keep", codec=rng.choice(("none", "lz4", "zstd")))
    known, values = Batches(data), Values(rng)
    for _ in range(ROUNDS // DATASETS):
        predicate = values.predicate()
        mask = matches(data, predicate)
        wanted = filters(predicate)
        columns = ["row", *rng.sample(data.column_names[1:], 2)]
        expected = rows_of(data.select(columns), mask)
        limit = rng.choice((None, None, None, 0, 1, 7, 10**6))
        command: dict[str, Any] = {"columns": columns, "filters": wanted, "wire": rng.choice(WIRES)}
        if limit is not None:
            command["limit"] = limit
            expected = expected.slice(0, limit)
        with counted(client) as grown:
            got = client.get(name, **command)
        assert got["row"].equals(expected["row"]), json.dumps(wanted)
        assert_same(got, expected)
        kept = batches - grown["batches_pruned"]
        assert kept <= len(known.possible(predicate)), json.dumps(wanted)
        if limit is None:
            assert grown["batches_sent"] <= kept, json.dumps(wanted)
            if len(predicate) == len(predicate[0]) == 1:
                assert kept == len(known.possible(predicate)), json.dumps(wanted)
    client.drop(name)


SORTED = ("i64", "-i64", "u8", "-s", "s", "date32", "-d128", "ts_us", "-flag", "dur_ms", "bin")


@pytest.mark.parametrize("key", SORTED)
def test_random_filters_of_a_declared_order(client: Client, name: str, key: str) -> None:
    """Batches of a sorted column are looked up, not judged one by one: with the same result."""
    rng = random.Random(f"{SEED}/{key}")
    print(f"FILTER_SEED={SEED}, sorted by {key}")
    column = key.removeprefix("-")
    rows = rng.choice((1, 4, 64))
    shuffled = filter_tables.lay_out("shuffled", 30, rows, rng.randrange(2**32)).drop_columns(["view", "bin_view"])
    found = keys(shuffled[column].to_pylist(), shuffled[column].type)
    valid = [i for i, k in enumerate(found) if k is not None]
    valid.sort(key=found.__getitem__, reverse=key.startswith("-"))
    nulls = [i for i, k in enumerate(found) if k is None]
    data = shuffled.take(valid + nulls).combine_chunks()
    data = pa.Table.from_batches(data.to_batches(max_chunksize=rows))
    assert client.put(name, data, batching="keep", sorted_by=[key])["sorted_by"] == [key]
    known, values = Batches(data), Values(rng)
    for _ in range(ROUNDS // 200):
        terms = [values.term([column]) for _ in range(rng.choice((1, 1, 2)))]
        predicate = [terms] if rng.random() < 0.7 else [[term] for term in terms]
        with counted(client) as grown:
            got = client.get(name, columns=["row"], filters=filters(predicate))
        assert_same(got, rows_of(data.select(["row"]), matches(data, predicate)))
        kept = 30 - grown["batches_pruned"]
        assert grown["batches_sent"] <= kept <= len(known.possible(predicate)), json.dumps(filters(predicate))
        if len(terms) == 1:
            assert kept == len(known.possible(predicate)), json.dumps(filters(predicate))
    client.drop(name)
