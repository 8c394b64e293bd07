"""Types: every type of Spark comes back, and every type of Arrow is read as exactly as Spark can hold it."""

from __future__ import annotations

import datetime as dt
import math
import re
import uuid
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import zoo
from service import Client
from sparkling import HAS_TIME, Twins

EVERY_TYPE = """
  true AS b, 1Y AS i8, 2S AS i16, 3 AS i32, 4L AS i64, 1.5F AS f, double('NaN') AS d, 1.25 AS dec,
  cast('12345678901234567890123456789012345678' AS decimal(38, 0)) AS wide, 'text' AS s, X'00FF' AS bin, null AS v,
  date '0001-01-01' AS day, timestamp '1582-10-04 23:59:59.999999' AS ts,
  timestamp_ntz '9999-12-31 23:59:59.999999' AS ntz,
  interval '1-2' year to month AS ym, interval '3' year AS y, interval '1 02:03:04.000005' day to second AS ds,
  interval '5' hour AS h,
  array(1, null, 3) AS a, map('k', array(named_struct('x', 1L, 'y', null)), 'l', null) AS m,
  named_struct('n', named_struct('a', 1, 'b', 'c'), 'e', array()) AS st, parse_json('{"a": [1, "x", null]}') AS var,
  array(parse_json('1'), null) AS vars, 'Straße' COLLATE UTF8_LCASE AS lc"""


TIMES = "time '23:59:59.999999' AS t6, cast('12:30:15' AS time(0)) AS t0"


def test_every_type_of_spark_comes_back(twins: Twins, client: Client, name: str) -> None:
    spark = twins.spark
    row = spark.sql(f"SELECT {TIMES}, {EVERY_TYPE}" if HAS_TIME else f"SELECT {EVERY_TYPE}")
    nulls = row.selectExpr(*(f"CASE WHEN b THEN null ELSE `{c}` END AS `{c}`" for c in row.columns))
    rows = row.union(nulls).union(row)
    writer = rows.coalesce(1).write.format("flightcache").option("address", twins.address).option("dataset", name)
    writer.mode("append").save()
    back = twins.read(name)
    assert back.dtypes == rows.dtypes
    assert back.schema["lc"].dataType == rows.schema["lc"].dataType
    # Spark's Python has no intervals of months.
    texts = {"var": "to_json(var)", "vars": "to_json(vars)", "ym": "string(ym)", "y": "string(y)"}
    shown = [texts.get(c, c) for c in rows.columns]
    assert repr(back.selectExpr(*shown).collect()) == repr(rows.selectExpr(*shown).collect())
    assert back.where("lc = 'STRASSE' OR lc = 'straße'").count() == 2
    again = back.write.format("flightcache").option("address", twins.address).option("dataset", name)
    again.mode("append").save()
    assert client.describe(name)["rows"] == 6
    assert back.where("ym = interval '1-2' year to month AND y IS NOT NULL AND ds > interval '1' day").count() == 4
    assert back.where("h < interval '6' hour").count() == 4
    if HAS_TIME:
        assert back.where("t6 = time '23:59:59.999999' AND t0 IS NOT NULL").count() == 4


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


def _plain(array: pa.Array) -> list[Any]:
    """Values of pyarrow as Spark's Python shows them: of extension types, what they are stored as."""
    array = array.storage if isinstance(array, pa.ExtensionArray) else array
    return [_value(v, array.type) for v in array.to_pylist(maps_as_pydicts="strict")]


def _value(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if isinstance(kind, pa.BaseExtensionType):
        return _value(value.bytes if isinstance(value, uuid.UUID) else value, kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _value(value, kind.value_type)
    if pa.types.is_struct(kind):
        return tuple(_value(value[f.name], f.type) for f in kind)
    if pa.types.is_map(kind):
        return {_value(k, kind.key_type): _value(v, kind.item_type) for k, v in value.items()}
    if isinstance(value, list):
        return [_value(v, kind.value_type) for v in value]
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return value


def _shown(value: Any) -> Any:
    """Values of Spark's Python, comparable."""
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
    return value


UNREADABLE = {
    "decimal256 of scale 76": "a decimal of scale 76",
    "sparse union": "a union",
    "dense union": "a union",
    "of dense union": "a union",
    "fixed size binary of width 0": "binary of width 0",
    "of fixed size binary of width 0": "binary of width 0",
    **{f"decimal{bits} of scale {s}": f"decimal{bits}" for bits in (32, 64) for s in (0, 2, -3, 9 * bits // 32)},
}
"""What Spark has no type for, and what the error calls it."""

if not HAS_TIME:
    _UNITS = ("time32 s", "time32 ms", "time64 us", "time64 ns")
    UNREADABLE |= {name: "a time of day, which Spark has from version 4.1 on" for name in _UNITS}

BEYOND = {
    "decimal256 of scale 0", "decimal256 of scale 2", "decimal256 of scale -3", "decimal128 of scale -3",
    "duration s", "duration ms", "duration ns", "timestamp s", "timestamp ms", "timestamp ns", "interval",
}  # fmt: skip
"""Columns with values that Spark cannot hold, beside others that it can."""

WHOLE = {"date": "unix_date({})", "timestamp": "unix_micros(cast({} AS timestamp))"}
"""Values beyond those of Python, and what makes integers of them."""


def _whole(column: str) -> str | None:
    return next((f for kind, f in WHOLE.items() if column.removeprefix("of ").startswith(kind)), None)


def _integers(array: pa.Array) -> list[int | None]:
    array = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    whole = array.view(pa.int32() if pa.types.is_date32(array.type) else pa.int64()).to_pylist()
    return [v if v is None or not pa.types.is_date64(array.type) else v // 86_400_000 for v in whole]


def _quoted(name: str) -> str:
    return f"`{name}`"


GROUPS = zoo.GROUPS | {"dictionaries": zoo.DICTIONARIES}
_NOT_UTF8 = "list that may not hold nulls"
"""Has metadata that is no UTF-8: Arrow's Java library cannot read such a schema at all."""


@pytest.mark.parametrize("group", list(GROUPS))
def test_every_type_of_arrow_is_read(twins: Twins, client: Client, name: str, group: str) -> None:
    data = pa.table({c: make(23) for c, make in GROUPS[group].items() if c != _NOT_UTF8})
    client.put(name, pa.Table.from_batches(data.combine_chunks().to_batches(max_chunksize=10)), batching="keep")
    frame = twins.read(name)
    assert frame.columns == data.column_names
    readable = [c for c in data.column_names if c not in UNREADABLE and c not in BEYOND]
    # The unreadable ones are named and described, and in nobody's way.
    shown = [_whole(c).format(_quoted(c)) if _whole(c) else _quoted(c) for c in readable]
    rows = frame.selectExpr(*shown).collect()
    wrong = []
    for i, column in enumerate(readable):
        source = data[column].chunk(0)
        expected = _integers(source) if _whole(column) else _plain(source)
        got = [_shown(r[i]) for r in rows]
        if got != expected:
            wrong.append((column, got, expected))
    assert wrong == []
    for column in data.column_names:
        if column in UNREADABLE:
            says = rf"dataset {name}: column {re.escape(column)} is {UNREADABLE[column]}"
            assert frame.selectExpr(f"count({_quoted(column)})").schema is not None
        elif column in BEYOND:
            says = rf"column {re.escape(column)} has .*(Spark can|beyond)"
        else:
            continue
        with pytest.raises(Exception, match=says):
            frame.select(_quoted(column)).collect()


def test_other_units_of_intervals(twins: Twins, client: Client, name: str) -> None:
    client.put(name, zoo.TABLES["intervals"](5))
    rows = twins.read(name).selectExpr("cast(months AS string) AS m", "`days and milliseconds` AS d").collect()
    assert [r.m for r in rows] == [
        None,
        "INTERVAL '-0-1' YEAR TO MONTH",
        "INTERVAL '-178956970-8' YEAR TO MONTH",
        "INTERVAL '178956970-7' YEAR TO MONTH",
        "INTERVAL '0-0' YEAR TO MONTH",
    ]
    # The 64 bits of -1 are -1 day and -1 ms, those of the least number 0 days and the least milliseconds.
    days = [dt.timedelta(days=-1, milliseconds=-1), dt.timedelta(milliseconds=-(2**31))]
    days += [dt.timedelta(days=-1, milliseconds=2**31 - 1), dt.timedelta(0)]
    assert [r.d for r in rows] == [None, *days]


def test_a_schema_that_java_cannot_read(twins: Twins, client: Client, name: str) -> None:
    client.put(name, pa.table({"x": zoo.ARRAYS[_NOT_UTF8](3)}))
    assert twins.read(name).dtypes == [("x", "void")]
    with pytest.raises(PySparkException, match=rf"dataset {name}: column x is list<.*select the other columns"):
        twins.read(name).collect()
    client.put(name, pa.table({"x": [1]}).replace_schema_metadata({b"\xff": b""}))
    with pytest.raises(PySparkException, match=rf"dataset {name} at .*Arrow's Java library cannot read"):
        twins.read(name)


def test_nanoseconds_may_be_cut_off(twins: Twins, client: Client, name: str) -> None:
    whole = dt.datetime(2024, 2, 29, 12, 0, 0, 123456)
    table = pa.table({"t": pa.array([1_709_208_000_123_456_789, -1], pa.timestamp("ns")), "n": [1, 2]})
    client.put(name, table)
    with pytest.raises(Exception, match=r"column t has the value 1709208000123456789 ns.*timestamp.nanos=truncate"):
        twins.read(name).collect()
    cut = twins.read(name, timestamp_nanos="truncate")
    assert cut.collect() == [(whole, 1), (dt.datetime(1969, 12, 31, 23, 59, 59, 999999), 2)]
    # The server compares what was cut off: the filter is Spark's then.
    assert cut.where(f"t = timestamp_ntz '{whole}'").select("n").collect() == [(1,)]
    assert cut.selectExpr("max(t)").collect() == [(whole,)]


def test_names_that_are_odd(twins: Twins, client: Client, name: str) -> None:
    client.put(name, zoo.TABLES["names that are empty, repeated, dotted or numbers"](3))
    frame = twins.read(name)
    assert frame.selectExpr("`a.b`", "`0`").collect() == [(4, 5), (14, 15), (24, 25)]
    assert frame.where("`a.b` > 10").select("`0`").collect() == [(15,), (25,)]
    with pytest.raises(PySparkException, match="AMBIGUOUS_REFERENCE"):
        frame.select("n")
    with pytest.raises(PySparkException, match=rf"dataset {name} has two columns of the name"):
        frame.collect()


def test_a_table_with_an_unreadable_column_is_readable_without_it(twins: Twins, client: Client, name: str) -> None:
    union = zoo.ARRAYS["sparse union"](100)
    inner = pa.StructArray.from_arrays([pa.array(range(100)), union], ["a", "u"])
    client.put(name, pa.table({"n": range(100), "u": union, "s": inner}))
    frame = twins.read(name)
    assert dict(frame.dtypes)["u"] == "void"
    assert frame.schema["u"].metadata["comment"] == "not readable: a union"
    assert frame.count() == 100
    assert frame.where("n < 3").select("n", "s.a").collect() == [(i, i) for i in range(3)]
    for columns in (["*"], ["u"], ["s"], ["s.u"]):
        with pytest.raises(
            PySparkException, match=rf"dataset {name}: column (u|s.u) is a union.*select the other columns"
        ):
            frame.select(*columns).collect()
