"""COUNT, MIN and MAX: from statistics, and only where they are those of Spark."""

from __future__ import annotations

import pyarrow as pa

from service import Client, counted
from sparkling import Twins, explained
from test_filters import COLUMNS, NAN, data  # noqa: F401


def test_count_sends_no_batch(twins: Twins, client: Client, name: str, data: pa.Table) -> None:  # noqa: F811
    twin = twins.make(name, data)
    with counted(client) as grown:
        assert twin.ours.count() == data.num_rows
        twin.agree("SELECT count(*) FROM {t} WHERE i8 = 5 AND s IS NOT NULL")
        twin.agree("SELECT count(s), count(st), count(*) FROM {t}")
    assert grown["gets"] == 0
    assert grown["batches_sent"] == 0


def test_bounds_of_every_type(twins: Twins, client: Client, name: str, data: pa.Table) -> None:  # noqa: F811
    twin = twins.make(name, data)
    pushed = []
    for column in COLUMNS:
        with counted(client) as grown:
            twin.agree(f"SELECT min({column}), max({column}), count({column}) FROM {{t}}")
        if grown["gets"] == 0:
            pushed.append(column)
    assert pushed == list(COLUMNS)


def test_bounds_that_statistics_do_not_have(twins: Twins, client: Client, name: str) -> None:
    long = "x" * 100
    table = pa.table(
        {
            "long": [long + "a", long + "b", None],
            "zero": [0.0, -0.0, 1.0],
            "nan": pa.array([NAN, NAN, None]),
            "null": pa.array([None] * 3, pa.int32()),
        }
    )
    twin = twins.make(name, table)
    for column in table.column_names:
        twin.agree(f"SELECT min({column}), max({column}), count({column}) FROM {{t}}")
    assert "LocalTableScan" not in explained(twin.ours.selectExpr("max(long)"))
    assert "LocalTableScan" in explained(twin.ours.selectExpr("max(`null`)", "count(long)"))


def test_other_aggregates_read_rows(twins: Twins, name: str, data: pa.Table) -> None:  # noqa: F811
    twin = twins.make(name, data)
    twin.agree("SELECT count(DISTINCT i8), sum(i32) FROM {t}")
    twin.agree("SELECT i8, max(i32), count(*) FROM {t} GROUP BY i8")
    twin.agree("SELECT max(i32), count(*) FROM {t} WHERE i8 = 5")
    twin.agree("SELECT count(*) FROM {t} WHERE f64 > 1.0D")
    twin.agree("SELECT max(i32) FILTER (WHERE i8 = 5), max(i8 + 1) FROM {t}")
    twin.agree("SELECT max(st.a), min(st.t) FROM {t}")


def test_of_dictionaries(twins: Twins, client: Client, name: str) -> None:
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2], pa.int8()), pa.array(["a", None, "b"]))
    client.put(name, pa.table({"d": coded}))
    frame = twins.read(name)
    assert frame.selectExpr("count(d)", "min(d)", "max(d)").collect() == [(2, "a", "b")]
    assert [r.d for r in frame.collect()] == ["a", None, None, "b"]
