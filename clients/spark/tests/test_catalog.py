"""The catalog: datasets as tables of SQL."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from service import Client
from sparkling import VERSION


@pytest.fixture
def space(name: str) -> str:
    """A namespace that no other test has, in SQL."""
    return "fc." + ".".join(f"`{part}`" for part in name.split("/"))


def rows(spark: SparkSession, query: str) -> list[tuple]:
    return [tuple(r) for r in spark.sql(query).collect()]


def test_tables_are_listed_and_described(spark: SparkSession, client: Client, name: str, space: str) -> None:
    client.put(f"{name}/a", pa.table({"x": [1, 2], "s": ["a", "b"]}))
    client.put(f"{name}/b.c", pa.table({"y": [1.5]}))
    # Arrow's Java library cannot read this one's schema, which hides no other.
    client.put(f"{name}/c", pa.table({"x": [1]}).replace_schema_metadata({b"\xff": b""}))
    client.put(f"{name}/deeper/d", pa.table({"y": [1.5]}))
    assert [r[1] for r in rows(spark, f"SHOW TABLES IN {space}")] == ["a", "b.c", "c"]
    assert [r[0].split(".")[-1] for r in rows(spark, f"SHOW NAMESPACES IN {space}")] == ["deeper"]
    assert ("spark",) in rows(spark, "SHOW NAMESPACES IN fc")
    assert rows(spark, f"DESCRIBE {space}.a")[:2] == [("x", "bigint", None), ("s", "string", None)]
    extended = dict((r[0], r[1]) for r in rows(spark, f"DESCRIBE EXTENDED {space}.a"))
    assert extended["Provider"] == "flightcache"
    assert f"dataset={name}/a" in extended["Table Properties"]
    assert rows(spark, f"SELECT * FROM {space}.`b.c`") == [(1.5,)]
    spark.sql(f"USE {space}")
    try:
        assert rows(spark, "SELECT sum(x) FROM a") == [(3,)]
    finally:
        spark.sql("USE spark_catalog.default")


def test_tables_come_and_go(spark: SparkSession, client: Client, name: str, space: str) -> None:
    spark.sql(f"CREATE TABLE {space}.t (id BIGINT COMMENT 'the key', v VARCHAR(3), d DECIMAL(5, 1))")
    assert client.describe(f"{name}/t")["rows"] == 0
    assert rows(spark, f"DESCRIBE {space}.t") == [
        ("id", "bigint", "the key"), ("v", "varchar(3)", None), ("d", "decimal(5,1)", None),
    ]  # fmt: skip
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        spark.sql(f"CREATE TABLE {space}.t (x INT)")
    spark.sql(f"CREATE TABLE IF NOT EXISTS {space}.t (x INT)")
    spark.sql(f"INSERT INTO {space}.t VALUES (1, 'a', 1.25), (2, 'b', null)")
    # Spark 4.0 takes no rows that leave a column out.
    shorter = "(v, id) VALUES ('c', 3)" if VERSION > (4, 0) else "(v, id, d) VALUES ('c', 3, null)"
    spark.sql(f"INSERT INTO {space}.t {shorter}")
    assert rows(spark, f"SELECT id, v, cast(d AS string) FROM {space}.t ORDER BY id") == [
        (1, "a", "1.3"), (2, "b", None), (3, "c", None),
    ]  # fmt: skip
    with pytest.raises(PySparkException, match="EXCEED_LIMIT_LENGTH"):
        spark.sql(f"INSERT INTO {space}.t VALUES (4, 'abcd', null)")
    spark.sql(f"INSERT OVERWRITE {space}.t VALUES (9, 'z', 0)")
    assert rows(spark, f"SELECT id, v FROM {space}.t") == [(9, "z")]
    assert rows(spark, f"DESCRIBE {space}.t")[0] == ("id", "bigint", "the key")
    spark.sql(f"TRUNCATE TABLE {space}.t")
    assert client.describe(f"{name}/t")["rows"] == 0
    spark.sql(f"DROP TABLE {space}.t")
    assert client.names(name) == []
    spark.sql(f"DROP TABLE IF EXISTS {space}.t")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(f"SELECT * FROM {space}.t")


def test_tables_of_queries(spark: SparkSession, client: Client, name: str, space: str) -> None:
    spark.sql(f"CREATE TABLE {space}.q AS SELECT id, id * 2 AS twice FROM range(1000)")
    assert client.describe(f"{name}/q")["rows"] == 1000
    spark.sql(f"CREATE OR REPLACE TABLE {space}.q AS SELECT max(twice) AS most FROM {space}.q")
    assert client.get(f"{name}/q").to_pydict() == {"most": [1998]}
    spark.sql(f"REPLACE TABLE {space}.q (x INT)")
    assert client.describe(f"{name}/q")["columns"][0]["name"] == "x"
    with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
        spark.sql(f"CREATE TABLE {space}.never AS SELECT 1 / (id - 500) AS x FROM range(1000)")
    with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
        spark.sql(f"CREATE OR REPLACE TABLE {space}.q AS SELECT 1 / (id - 500) AS x FROM range(1000)")
    assert client.names(name) == [f"{name}/q"]
    spark.range(3).writeTo(f"{space}.w").create()
    spark.range(3).writeTo(f"{space}.w").append()
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        spark.range(3).writeTo(f"{space}.w").create()
    assert rows(spark, f"SELECT count(*) FROM {space}.w") == [(6,)]


def test_a_dataset_that_another_client_replaced(spark: SparkSession, client: Client, name: str, space: str) -> None:
    """Each query reads what is newest, by the columns that it has then."""
    client.put(f"{name}/t", pa.table({"x": [1]}))
    frame = spark.table(f"{space}.t")
    assert frame.collect() == [(1,)]
    client.put(f"{name}/t", pa.table({"x": [2, 3]}))
    assert frame.count() == 2
    assert rows(spark, f"SELECT x FROM {space}.t") == [(2,), (3,)]
    client.put(f"{name}/t", pa.table({"y": ["a"]}))
    assert rows(spark, f"SELECT * FROM {space}.t") == [("a",)]


def test_what_a_catalog_of_datasets_does_not_do(spark: SparkSession, client: Client, name: str, space: str) -> None:
    client.put(f"{name}/t", pa.table({"x": [1]}))
    for statement, says in {
        f"ALTER TABLE {space}.t RENAME TO {space}.u": "keeps its name",
        f"CREATE TABLE {space}.p (a INT) PARTITIONED BY (a)": "no partition columns",
        f"CREATE NAMESPACE {space}.n": "create a table in it",
        f"SELECT * FROM {space}.nothing": "TABLE_OR_VIEW_NOT_FOUND",
        f"SHOW TABLES IN {space}.nowhere": "SCHEMA_NOT_FOUND",
    }.items():
        with pytest.raises(PySparkException, match=says):
            spark.sql(statement).collect()
    with pytest.raises(Exception, match="columns and properties do not change"):
        spark.sql(f"ALTER TABLE {space}.t ADD COLUMN y INT")
