"""Types: every type of Spark comes back, and every type of Arrow is read as exactly as Spark can hold it."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

import zoo
from service import Client
from sparkling import Twins

EVERY_TYPE = """
  true AS b, 1Y AS i8, 2S AS i16, 3 AS i32, 4L AS i64, 1.5F AS f, double('NaN') AS d, 1.25 AS dec,
  cast('12345678901234567890123456789012345678' AS decimal(38, 0)) AS wide, 'text' AS s, X'00FF' AS bin, null AS v,
  date '0001-01-01' AS day, timestamp '1582-10-04 23:59:59.999999' AS ts,
  timestamp_ntz '9999-12-31 23:59:59.999999' AS ntz,
  time '23:59:59.999999' AS t6, cast('12:30:15' AS time(0)) AS t0,
  interval '1-2' year to month AS ym, interval '3' year AS y, interval '1 02:03:04.000005' day to second AS ds,
  interval '5' hour AS h, make_interval(1, 2, 3, 4, 5, 6, 7.5) AS ci,
  array(1, null, 3) AS a, map('k', array(named_struct('x', 1L, 'y', null)), 'l', null) AS m,
  named_struct('n', named_struct('a', 1, 'b', 'c'), 'e', array()) AS st, parse_json('{"a": [1, "x", null]}') AS var,
  array(parse_json('1'), null) AS vars, 'Straße' COLLATE UTF8_LCASE AS lc"""


def test_every_type_of_spark_comes_back(twins: Twins, client: Client, name: str) -> None:
    spark = twins.spark
    row = spark.sql(f"SELECT {EVERY_TYPE}")
    nulls = row.selectExpr(*(f"CASE WHEN b THEN null ELSE `{c}` END AS `{c}`" for c in row.columns))
    rows = row.union(nulls).union(row)
    writer = rows.coalesce(1).write.format("flightcache").option("address", twins.address).option("dataset", name)
    writer.mode("append").save()
    back = twins.read(name)
    assert back.schema == rows.schema
    shown = [f"to_json(struct(`{c}`)) AS `{c}`" if c in ("var", "vars") else c for c in rows.columns]
    # Spark's Python has no calendar intervals.
    shown = [f"cast({c} AS string) AS {c}" if c == "ci" else c for c in shown]
    assert repr(back.selectExpr(*shown).collect()) == repr(rows.selectExpr(*shown).collect())
    assert back.where("lc = 'STRASSE' OR lc = 'straße'").count() == 2
    again = back.write.format("flightcache").option("address", twins.address).option("dataset", name)
    again.mode("append").save()
    assert client.describe(name)["rows"] == 6
    assert back.where("ym = interval '1-2' year to month AND y IS NOT NULL AND ds > interval '1' day").count() == 4
    assert back.where("t6 = time '23:59:59.999999' AND h < interval '6' hour").count() == 4


def test_char_and_varchar(spark: SparkSession, client: Client, name: str) -> None:
    table = "fc." + name.replace("/", ".`") + "`"
    spark.sql(f"CREATE TABLE {table} (c CHAR(4), v VARCHAR(4), a ARRAY<CHAR(2)>) ")
    spark.sql(f"INSERT INTO {table} VALUES ('ab', 'ab', array('x'))")
    assert spark.sql(f"SELECT c, v, a FROM {table} WHERE c = 'ab'").collect() == [("ab  ", "ab", ["x "])]
    assert [r[1] for r in spark.sql(f"DESCRIBE {table}").collect()] == ["char(4)", "varchar(4)", "array<char(2)>"]


def test_metadata_of_columns_comes_back(twins: Twins, name: str) -> None:
    frame = twins.spark.range(3)
    noted = frame.select(frame.id.alias("id", metadata={"comment": "a key", "ml": {"n": 1}}))
    noted.write.format("flightcache").option("address", twins.address).option("dataset", name).mode("append").save()
    assert twins.read(name).schema["id"].metadata == {"comment": "a key", "ml": {"n": 1}}


def _plain(value: Any, kind: pa.DataType) -> Any:
    """A value of pyarrow as Spark's Python shows it."""
    if value is None:
        return None
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(value, kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _plain(value, kind.value_type)
    if pa.types.is_struct(kind):
        return tuple(_plain(value[f.name], f.type) for f in kind)
    if pa.types.is_map(kind):
        return {_plain(k, kind.key_type): _plain(v, kind.item_type) for k, v in value}
    if isinstance(value, list):
        return [_plain(v, kind.value_type) for v in value]
    if pa.types.is_uint64(kind):
        return decimal.Decimal(value)
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return value


def _shown(value: Any) -> Any:
    """A value of Spark's Python, comparable."""
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, tuple):
        return tuple(_shown(v) for v in value)
    if isinstance(value, list):
        return [_shown(v) for v in value]
    if isinstance(value, dict):
        return {_shown(k): _shown(v) for k, v in value.items()}
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, dt.datetime) and value.tzinfo is None:
        return value
    return value


UNREADABLE = {
    "decimal256 of scale 76": "a decimal of scale 76",
    "sparse union": "a union",
    "dense union": "a union",
    "of dense union": "a union",
}
"""What Spark has no type for, and what the error calls it."""

BEYOND = {
    "decimal256 of scale 0", "decimal256 of scale 2", "decimal256 of scale -3", "decimal128 of scale -3",
    "duration s", "duration ms", "duration ns", "timestamp s", "timestamp ms", "timestamp ns", "interval",
}  # fmt: skip
"""Columns with values that Spark cannot hold, beside others that it can."""

AS_STRINGS = {"date32", "date64", "timestamp us", *(f"timestamp {z}" for z in zoo.ZONES), "duration us"}
"""Values beyond those of Python: the extremes of microseconds are compared as integers."""
