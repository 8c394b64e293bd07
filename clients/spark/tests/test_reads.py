"""Reads: the answers are those that Spark gives over Parquet, and the plan and the server show what was not read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import tables
from service import Client, counted
from sparkling import Twins, explained, final_plan, flights, lineitem, without_metadata


def test_flat(twins: Twins, name: str) -> None:
    twin = twins.make(name, tables.table("flat", 200_000))
    assert without_metadata(twin.ours.toArrow()) == without_metadata(twin.data)  # values and order
    twin.agree("SELECT count(*), sum(v), max(s3), min(s1) FROM {t} WHERE k BETWEEN 100 AND 300")
    twin.agree("SELECT k, count(*), max(s3), min(s2), sum(id) FROM {t} WHERE s1 LIKE 'str%7' GROUP BY k")
    twin.agree("SELECT max(upper(s3)), max(s2), min(s2) FROM {t} WHERE v % 3 = 0")
    twin.agree("SELECT a.k, count(*) FROM {t} a JOIN {t} b ON a.id = b.id + 1 WHERE b.k < 50 GROUP BY a.k")
    twin.agree("SELECT s1, s2 FROM {t} WHERE id IN (3, 77, 199999, null)")


def test_nested(twins: Twins, name: str) -> None:
    twin = twins.make(name, tables.table("nested", 30_000))
    assert without_metadata(twin.ours.toArrow()) == without_metadata(twin.data)
    twin.agree("SELECT sum(deep.n.v), max(sc.b), count(wide.q) FROM {t}")
    twin.agree("SELECT deep, wide.r FROM {t} WHERE sc.a < 40 AND wide.p IS NOT NULL")
    twin.agree("SELECT * FROM {t} WHERE deep.n.w = 'sw_17'")


def test_lineitem(twins: Twins, name: str, tmp_path: Path) -> None:
    twin = twins.make(name, lineitem(tmp_path, 0.02))
    assert without_metadata(twin.ours.toArrow()) == without_metadata(twin.data)
    twin.agree("""
        SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice),
          sum(l_extendedprice * (1 - l_discount)), sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)),
          avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*)
        FROM {t} WHERE l_shipdate <= date '1998-12-01' - interval 90 days GROUP BY l_returnflag, l_linestatus""")
    twin.agree("""
        SELECT sum(l_extendedprice * l_discount) FROM {t} WHERE l_shipdate >= date '1994-01-01'
          AND l_shipdate < date '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24""")
    twin.agree("SELECT l_shipmode, count(*) FROM {t} WHERE l_shipmode IN ('MAIL', 'SHIP') GROUP BY l_shipmode")
    twin.agree("SELECT min(l_shipdate), max(l_comment), max(l_extendedprice) FROM {t}")


def test_flights(twins: Twins, name: str) -> None:
    twin = twins.make(name, flights())
    twin.agree("SELECT count(*), bit_xor(xxhash64(*)) FROM {t}")
    twin.agree("SELECT carrier, count(*), avg(dep_delay), max(tailnum) FROM {t} WHERE dest <> 'LAX' GROUP BY carrier")
    twin.agree("SELECT origin, dest, dep_delay FROM {t} WHERE dep_delay > 600 ORDER BY dep_delay DESC")
    twin.agree("SELECT * FROM {t} WHERE tailnum IS NULL AND month = 2")


def test_only_needed_columns_and_rows_are_sent(twins: Twins, client: Client, name: str) -> None:
    twin = twins.make(name, tables.table("flat", 200_000), wire="none")
    sizes = {c["name"]: c["decoded_bytes"] for c in client.describe(name)["columns"]}

    frame = twin.ours.selectExpr("sum(v)")
    assert "Columns: [v: BIGINT]" in explained(frame)
    with counted(client) as grown:
        frame.collect()
    plan = final_plan(frame)
    assert plan.index("ColumnarToRow") < plan.index("BatchScan")  # the scan is below, and columnar
    # The plain buffers of one column, their padding and the headers of the messages.
    assert sizes["v"] <= grown["bytes_out"] < sizes["v"] * 1.1

    with counted(client) as grown:
        assert twin.ours.where("id = 150001").select("s1").collect() == [("str_a_50001",)]
    assert grown["batches_sent"] == 1
    assert grown["rows_out"] == 1
    assert grown["bytes_out"] < 5_000


def test_one_of_16_columns(twins: Twins, client: Client, name: str) -> None:
    twin = twins.make(name, pa.table({f"c{i}": pa.array(range(i, 1000 + i)) for i in range(16)}))
    for column in ("c0", "c15"):
        with counted(client) as grown:
            twin.agree(f"SELECT {column} FROM {{t}}")
        assert grown["bytes_decoded"] + grown["bytes_out"] < 3 * 8 * 1000


def test_what_is_stored_as_zstd_is_sent_so(twins: Twins, client: Client, name: str) -> None:
    data = tables.table("flat", 100_000)
    for codec, wire, shrinks in [("zstd", "stored", True), ("zstd", "none", False), ("lz4", "stored", False)]:
        twin = twins.make(f"{name}/{codec}", data, {"codec": codec}, wire=wire)
        with counted(client) as grown:
            assert without_metadata(twin.ours.toArrow()) == without_metadata(data)
        assert (grown["bytes_out"] < data.nbytes / 3) == shrinks
        assert (grown["bytes_decoded"] == 0) == shrinks


def test_fields_of_structs_are_chosen(twins: Twins, client: Client, name: str) -> None:
    twin = twins.make(name, tables.table("nested", 50_000), wire="none")
    with counted(client) as grown:
        twin.ours.selectExpr("sum(deep.n.v)").collect()
    # 8 bytes a value, and a bitmap for it, for n, and for deep.
    assert 8 * 50_000 <= grown["bytes_out"] < 9 * 50_000
    assert "Columns: [deep: STRUCT<n: STRUCT<v: BIGINT>>]" in explained(twin.ours.select("deep.n.v"))


def test_structs_in_lists(twins: Twins, name: str) -> None:
    """The server sends lists whole; Spark then sees the fields that it wants."""
    kind = pa.list_(pa.struct({"a": pa.int32(), "b": pa.string(), "c": pa.struct({"d": pa.int64(), "e": pa.bool_()})}))
    rows = [[{"a": i, "b": f"b{i}", "c": {"d": i, "e": None}}, None] if i % 3 else None for i in range(1000)]
    twin = twins.make(name, pa.table({"x": pa.array(rows, kind), "i": range(1000)}))
    twin.agree("SELECT i, x.b, x.c.d FROM {t}")
    twin.agree("SELECT sum(size(x)), max(x[0].c.d) FROM {t} WHERE x IS NOT NULL")
    twin.agree("SELECT i, y.c.e, y.a FROM {t} LATERAL VIEW explode(x) AS y")


def test_maps(twins: Twins, name: str) -> None:
    rows = [{f"k{j}": j if j % 2 else None for j in range(i % 4)} if i % 5 else None for i in range(1000)]
    table = pa.table({"m": pa.array([r and list(r.items()) for r in rows], pa.map_(pa.string(), pa.int64()))})
    twin = twins.make(name, table)
    twin.agree("SELECT m['k1'], map_keys(m), map_values(m) FROM {t}")


def test_limit_ends_the_read(twins: Twins, client: Client, name: str) -> None:
    twin = twins.make(name, tables.table("flat", 200_000), batch_rows="1000")
    with counted(client) as grown:
        rows = twin.ours.limit(7).collect()
    assert rows == twin.theirs.limit(7).collect()
    assert grown["rows_out"] == 7
    assert "PushedLimit: 7" in explained(twin.ours.limit(7))
    with counted(client) as grown:
        assert len(twin.ours.where("k = 5").limit(3).collect()) == 3
    assert grown["rows_out"] == 3
    # What Spark filters by itself has to see all rows.
    assert "PushedLimit" not in explained(twin.ours.where("length(s1) = 8").limit(3))
    assert len(twin.ours.where("length(s1) = 8").limit(3).collect()) == 3


def test_partitions(twins: Twins, name: str) -> None:
    data = tables.table("flat", 200_000)
    twin = twins.make(name, data, {"batching": "keep"}, partitions="5")
    assert twin.ours.rdd.getNumPartitions() == 5
    assert without_metadata(twin.ours.toArrow()) == without_metadata(data)
    sizes = twin.ours.selectExpr("spark_partition_id() AS p").groupBy("p").count().collect()
    assert sorted(n for _, n in sizes) == [40_000] * 5
    # By themselves: 13 MB are read by both cores, one column of 1.6 MB by one.
    assert twins.read(name).rdd.getNumPartitions() == 2
    assert twins.read(name).select("v").rdd.getNumPartitions() == 1


def test_no_columns(twins: Twins, client: Client, name: str) -> None:
    """Where statistics cannot count, rows are counted without any column."""
    twin = twins.make(name, tables.table("flat", 50_000))
    with counted(client) as grown:
        assert twin.ours.groupBy().count().crossJoin(twin.ours.limit(1)).count() == 1
        assert twin.ours.selectExpr("1 AS one").groupBy("one").count().collect() == [(1, 50_000)]
    assert grown["bytes_out"] < 10_000


def test_an_empty_dataset(twins: Twins, name: str) -> None:
    twin = twins.make(name, tables.table("flat", 0))
    assert twin.ours.collect() == []
    assert twin.ours.count() == 0
    twin.agree("SELECT max(v), min(s1), count(k) FROM {t}")


@pytest.mark.parametrize(("threshold", "broadcast"), [(1_000_000, False), (2_000_000, True)])
def test_decoded_sizes_decide_what_is_broadcast(
    twins: Twins, client: Client, name: str, threshold: int, broadcast: bool
) -> None:
    """A column of 175,000 equal numbers: 1.4 MB for Spark, next to nothing for the server."""
    client.put(name, pa.table({"id": pa.array([7] * 175_000, pa.int64())}))
    facts = client.describe(name)
    assert facts["decoded_bytes"] == 1_400_000
    assert facts["stored_bytes"] < 100_000
    small = twins.read(name)
    large = twins.spark.range(10_000_000)
    twins.spark.conf.set("spark.sql.autoBroadcastJoinThreshold", threshold)
    try:
        joined = large.join(small, "id").selectExpr("count(*)")
        assert ("BroadcastHashJoin" in explained(joined)) == broadcast
    finally:
        twins.spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")


def test_order_is_used_where_it_is_true(twins: Twins, name: str) -> None:
    rows = sorted((i * 7919 % 1000, i) for i in range(5000))
    data = pa.table({"x": [x for x, _ in rows], "y": [float(y) for _, y in rows]})
    twin = twins.make(name, data, {"sorted_by": ["x"]}, partitions="1")
    sorted_ours = twin.ours.sortWithinPartitions(twin.ours.x.asc_nulls_last())
    assert "Sort" not in explained(sorted_ours)
    assert [r.x for r in sorted_ours.collect()] == [x for x, _ in rows]
    assert "Sort" in explained(twin.ours.sortWithinPartitions(twin.ours.x.desc()))
    by_floats = twins.make(name + "/floats", pa.table({"y": [1.0, 2.0, float("nan")]}), {"sorted_by": ["y"]})
    assert "Sort" in explained(by_floats.ours.sortWithinPartitions(by_floats.ours.y.asc_nulls_last()))


def test_a_scan_that_is_used_twice_is_read_once(twins: Twins, client: Client, name: str) -> None:
    twin = twins.make(name, tables.table("flat", 200_000))
    first, second = (twins.read(name).where("k < 500").groupBy("k").count() for _ in range(2))
    both = first.union(second)
    with counted(client) as grown:
        rows = both.collect()
    assert len(rows) == 2 * len({r.k for r in rows})
    assert "ReusedExchange" in final_plan(both)
    assert grown["rows_out"] == twin.theirs.where("k < 500").count()
