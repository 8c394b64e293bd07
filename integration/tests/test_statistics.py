"""Statistics after puts of every kind: no bound lies, and what is said to be exact is."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import filter_tables
from compare import assert_same
from predicate_oracle import Measure, Predicate, filters, key_list, keys, leaf, matches, measure, rows_of
from predicates import PREDICATES
from service import Client

LEAVES = [name for name in filter_tables.pool().column_names if name != "nothing"]
LEAVES[LEAVES.index("st") :] = ["st", "st.a", "st.n", "st.n.c", "nothing"]
"""Every column and every field within one, as a depth-first walk finds them."""

SOME: list[Predicate] = [
    PREDICATES[name]
    for name in ("a range", "s starts with", "NaN differs from all, float64", "i8 is null", "long and high")
]


def told(client: Client, name: str) -> dict[str, dict[str, Any]]:
    """What is told of each leaf, from the read of statistics, as one batch for the whole dataset."""
    table = client.get(name, statistics=True)
    rows = [dict(entries) for entries in table["statistics"].to_pylist()]
    assert table["column"].to_pylist() == [None, *range(len(LEAVES))]
    return {"": rows[0], **dict(zip(LEAVES, rows[1:], strict=True))}


def bound(facts: dict[str, Any], which: str, of: pa.DataType, scale: int) -> tuple[Any, bool] | None:
    """A bound as a key, and whether it is exact."""
    for exactness in ("exact", "approximate"):
        key = f"ARROW:{which}_value:{exactness}"
        if key in facts:
            value = facts[key]
            return keys([value.scaleb(scale) if scale else value], of)[0], exactness == "exact"
    return None


def check_leaf(name: str, facts: dict[str, Any], data: pa.Table) -> None:
    values = leaf(data, name)
    assert facts["ARROW:null_count:exact"] == values.null_count, name
    if pa.types.is_nested(values.type) or pa.types.is_null(values.type):
        assert not [key for key in facts if "_value:" in key]
        return
    m: Measure = measure(values.combine_chunks())
    assert facts.get("flightcache:has_nan:exact", False) == m.nan, name
    scale = -3 if name == "thousands" else 0
    least, greatest = (bound(facts, which, values.type, scale) for which in ("min", "max"))
    assert (least is not None) == m.values, name
    assert (greatest is not None) == m.bounded, name
    present = {k for k in key_list(values.combine_chunks()) if k is not None} if isinstance(m.least, bytes) else None
    for got, want in ((least, m.least), (greatest, m.greatest)):
        if got is not None:
            assert got[0] == want, name
            assert got[1] == (present is None or want in present), name


def check(client: Client, name: str, data: pa.Table) -> None:
    facts = told(client, name)
    assert facts[""]["ARROW:row_count:exact"] == data.num_rows
    for path in LEAVES:
        check_leaf(path, facts[path], data)
    for predicate in SOME:
        expected = rows_of(data, matches(data, predicate))
        assert_same(client.get(name, filters=filters(predicate)), expected)


@pytest.mark.parametrize("batching", ["keep", "auto"])
@pytest.mark.parametrize("layout", filter_tables.LAYOUTS)
def test_statistics_of_a_put(client: Client, name: str, layout: str, batching: str) -> None:
    data = filter_tables.lay_out(layout, 16, 4).drop_columns(["row"])
    client.put(name, data, batching=batching)
    check(client, name, data)


@pytest.mark.parametrize("seed", range(6))
def test_statistics_after_appends_and_replacements(client: Client, name: str, seed: int) -> None:
    rng = random.Random(seed)
    pool = filter_tables.lay_out("sorted", 16, 4).drop_columns(["row"])
    held = pool.schema.empty_table()
    for step in range(8):
        start = rng.randrange(filter_tables.ROWS)
        part = pool.slice(start, rng.choice((1, 4, 20, 64)))
        mode = "replace" if step == 0 or rng.random() < 0.25 else "append"
        client.put(name, part, mode=mode, batching=rng.choice(("keep", "auto")), codec=rng.choice(("none", "zstd")))
        held = part if mode == "replace" else pa.concat_tables([held, part])
        check(client, name, held)


def test_a_narrower_replacement_narrows_the_bounds(client: Client, name: str) -> None:
    client.put(name, pa.table({"n": [-100, 100], "s": ["", "zz"]}))
    client.put(name, pa.table({"n": [5, 6], "s": ["m", "n"]}))
    n, s = client.describe(name)["columns"]
    assert (n["min"], n["max"], n["exact"]) == (5, 6, True)
    assert (s["min"], s["max"], s["exact"]) == ("m", "n", True)
    assert client.info(name, filters=[["n", "=", 100]]).total_records == 0


def test_a_failed_append_leaves_no_trace(client: Client, name: str) -> None:
    client.put(name, pa.table({"n": [5, 6]}))
    before = client.describe(name)
    with pytest.raises(pa.ArrowInvalid):
        client.put(name, pa.table({"n": [1000]}), mode="append", rows=2)
    assert client.describe(name) == before
    assert client.info(name, filters=[["n", "=", 1000]]).total_records == 0


def test_nulls_alone_have_no_bounds_until_a_value_comes(client: Client, name: str) -> None:
    nulls = pa.table({"n": pa.nulls(1000, pa.int64()), "f": pa.array([float("nan")] * 1000)})
    client.put(name, nulls)
    n, f = client.describe(name)["columns"]
    assert (n["null_count"], "min" in n, "max" in n) == (1000, False, False)
    assert ("min" in f, "max" in f, f["has_nan"]) == (False, False, True)
    assert client.get(name, filters=[["n", "is null"]]).num_rows == 1000
    assert client.info(name, filters=[["n", "is null"]]).total_records == 1000
    assert client.info(name, filters=[["n", ">", 6]]).total_records == 0
    assert client.info(name, filters=[["f", ">", 6]]).total_records == 0
    assert client.info(name, filters=[["f", "!=", 6]]).total_records == 1000
    client.put(name, pa.table({"n": [7], "f": [-0.0]}), mode="append")
    n, f = client.describe(name)["columns"]
    assert (n["min"], n["max"], n["null_count"]) == (7, 7, 1000)
    assert (f["min"], f["max"], f["has_nan"]) == (0, 0, True)
    assert client.get(name, filters=[["n", ">", 6]]).num_rows == 1
    assert client.get(name, filters=[["f", "=", 0.0]]).num_rows == 1
