"""Writes: rows are there once, as a whole, or not at all."""

from __future__ import annotations

import datetime as dt
import threading

import pyarrow as pa
import pyarrow.compute as pc
import pyspark.sql.functions as F
import pytest
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import tables
from service import Client, wait
from sparkling import HAS_TIME, Twins, without_metadata


def write(frame: DataFrame, twins: Twins, dataset: str, mode: str, **options: str) -> None:
    writer = frame.write.format("flightcache").option("address", twins.address).option("dataset", dataset).mode(mode)
    for key, value in options.items():
        writer = writer.option(key.replace("_", "."), value)
    writer.save()


def nothing_staged(client: Client) -> bool:
    """Whether the server keeps nothing of any write that is not committed."""
    stats = client.stats()
    return stats["transactions"] == 0 and stats["staged_bytes"] == 0


def test_append_creates_and_appends_in_order(twins: Twins, client: Client, name: str) -> None:
    data = tables.table("flat", 100_000)
    twin = twins.make(name + "/source", data)
    copy = name + "/copy"
    write(twin.ours, twins, copy, "append")
    assert without_metadata(client.get(copy)) == without_metadata(data)
    write(twin.theirs, twins, copy, "append")
    assert without_metadata(client.get(copy)) == without_metadata(pa.concat_tables([data, data]))
    assert client.describe(copy)["batches"] < 30  # full batches, joined where small


def test_partitions_keep_their_order(twins: Twins, client: Client, name: str) -> None:
    frame = twins.spark.range(0, 10_000, numPartitions=7).orderBy(F.col("id").desc())
    write(frame, twins, name, "overwrite", batch_rows="100")
    assert client.get(name)["id"].to_pylist() == list(range(9_999, -1, -1))


def test_overwrite_replaces_rows_and_columns(twins: Twins, client: Client, name: str) -> None:
    client.put(name, pa.table({"old": [1, 2, 3]}))
    write(twins.spark.range(5), twins, name, "overwrite")
    assert client.get(name).to_pydict() == {"id": [0, 1, 2, 3, 4]}
    first = client.describe(name)["generation"]
    write(twins.spark.range(0), twins, name, "overwrite")
    facts = client.describe(name)
    assert facts["rows"] == 0
    assert facts["generation"] != first
    assert [c["name"] for c in facts["columns"]] == ["id"]


def test_append_keeps_the_datasets_types(twins: Twins, client: Client, name: str) -> None:
    """Columns are found by name; they are written in the types that the dataset has, if these hold the values."""
    kinds = {
        "u8": pa.uint8(), "u64": pa.uint64(), "half": pa.float16(), "large": pa.large_string(),
        "view": pa.string_view(), "s": pa.timestamp("s", "Europe/Oslo"), "fixed": pa.binary(2),
        "d64": pa.date64(), "dec": pa.decimal256(50, 2), "list": pa.large_list(pa.uint16()),
        "pair": pa.list_(pa.int8(), 2), "ns": pa.timestamp("ns"),
    }  # fmt: skip
    schema = pa.schema(kinds)
    client.put(name, schema.empty_table())
    rows = twins.spark.sql("""
        SELECT timestamp '2024-02-29 12:00:00' AS s, 200S AS u8, 18446744073709551615BD AS u64, 0.5F AS half,
          'l' AS large, 'a view of more than twelve bytes' AS view, X'0102' AS fixed, date '2024-02-29' AS d64,
          cast(1.25 AS decimal(38, 2)) AS dec, array(1, 65535) AS list, array(1Y, null) AS pair,
          timestamp_ntz '2024-02-29 12:00:00.000001' AS ns""")
    write(rows, twins, name, "append")
    got = client.get(name)
    assert got.schema == schema
    (row,) = got.to_pylist()
    assert (row["u8"], row["u64"], row["half"], row["large"]) == (200, 2**64 - 1, 0.5, "l")
    assert (row["list"], row["pair"], row["fixed"]) == ([1, 65535], [1, None], b"\x01\x02")
    assert str(row["dec"]) == "1.25"
    assert [str(row[c])[:23] for c in ("s", "ns")] == ["2024-02-29 13:00:00+01:", "2024-02-29 12:00:00.000"]
    assert twins.read(name).collect() == rows.select(*got.column_names).collect()

    for column, value in {"u8": "300S", "half": "0.1F", "fixed": "X'01'", "pair": "array(1Y)", "u64": "-1BD"}.items():
        cells = [
            f"cast({value} AS {dict(twins.read(name).dtypes)[column]}) AS {column}" if c == column else c for c in kinds
        ]
        with pytest.raises(Exception, match=rf"{name}: column {column} .*which cannot hold"):
            write(twins.read(name).selectExpr(*cells), twins, name, "append")
    assert client.describe(name)["rows"] == 1


def test_append_of_times(twins: Twins, client: Client, name: str) -> None:
    """In the unit that the dataset has; a Spark without times says so."""
    noon = dt.time(12, 30, 15, 125_000)
    client.put(name, pa.table({"t": pa.array([noon], pa.time32("ms")), "n": [1]}))
    if HAS_TIME:
        write(twins.spark.sql("SELECT time '12:30:15.125' AS t, 2L AS n"), twins, name, "append")
        assert client.get(name).to_pydict() == {"t": [noon, noon], "n": [1, 2]}
    else:
        with pytest.raises(PySparkException, match=r"column t is a time of day, which Spark has from version 4\.1 on"):
            twins.read(name).collect()
        assert twins.read(name).select("n").collect() == [(1,)]


def test_append_of_other_columns_is_refused(twins: Twins, client: Client, name: str) -> None:
    client.put(name, pa.table({"id": [1], "s": ["a"]}))
    spark = twins.spark
    for rows, says in [
        (spark.sql("SELECT 1L AS id"), "the rows have no column s"),
        (spark.sql("SELECT 1L AS id, 'a' AS s, 2 AS x"), "has no column x"),
        (spark.sql("SELECT 1 AS id, 'a' AS s"), "column id is BIGINT, and INT in the rows; cast it"),
    ]:
        with pytest.raises(PySparkException, match=says):
            write(rows, twins, name, "append")
    with pytest.raises(PySparkException, match='either the "Append" or "Overwrite" mode'):
        write(spark.sql("SELECT 1L AS id, 'a' AS s"), twins, name, "error")
    required = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    client.put(name, pa.table([[1]], schema=required))
    with pytest.raises(Exception, match="column id takes no nulls, and a row has one"):
        write(spark.sql("SELECT cast(null AS bigint) AS id"), twins, name, "append")
    coded = pa.table({"d": pa.array(["a", "b"]).dictionary_encode()})
    client.put(name, coded)
    with pytest.raises(PySparkException, match="column d is dictionary-encoded, which the connector does not write"):
        write(spark.sql("SELECT 'a' AS d"), twins, name, "append")
    assert client.get(name).to_pydict() == {"d": ["a", "b"]}


def failing(attempts: int, dies: bool = False) -> object:
    """A function that fails in the middle of the first attempts of partition 1, and may take its process down with it.

    It has no type hints, which Spark would read, and is made here, so that it goes to the workers as it is.
    """

    def same(i):
        context = TaskContext.get()
        if context.partitionId() == 1 and context.attemptNumber() < attempts and i % 1000 == 700:
            if dies:
                import os

                os._exit(1)
            raise ValueError("it fails")
        return i

    return F.udf(same, "bigint")


@pytest.mark.parametrize("dies", [False, True])
def test_a_task_that_is_tried_again_writes_once(twins: Twins, client: Client, name: str, dies: bool) -> None:
    frame = twins.spark.range(0, 4000, numPartitions=4).select(failing(1, dies)("id").alias("id"))
    write(frame, twins, name, "append", batch_rows="100")
    assert client.get(name)["id"].to_pylist() == list(range(4000))


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_job_that_fails_leaves_nothing(twins: Twins, client: Client, name: str, mode: str) -> None:
    frame = twins.spark.range(0, 4000, numPartitions=4).select(failing(99)("id").alias("id"))
    with pytest.raises(PySparkException, match="it fails"):
        write(frame, twins, name, mode, batch_rows="100")
    assert name not in client.names()
    client.put(name, pa.table({"id": [7]}))
    before = client.describe(name)["generation"]
    with pytest.raises(PySparkException, match="it fails"):
        write(frame, twins, name, mode, batch_rows="100")
    assert client.get(name).to_pydict() == {"id": [7]}
    assert client.describe(name)["generation"] == before
    wait(lambda: nothing_staged(client))


def test_a_job_that_is_cancelled_leaves_nothing(twins: Twins, client: Client, name: str) -> None:
    """Its tasks are killed in the midst of their puts."""
    spark = twins.spark
    failures = []

    def run() -> None:
        try:
            write(spark.range(0, 10**9, numPartitions=2), twins, name, "append", batch_rows="1000")
        except Exception as e:
            failures.append(str(e))

    job = threading.Thread(target=run, daemon=True)
    job.start()
    wait(lambda: client.stats()["staged_bytes"] > 0 and spark.sparkContext.statusTracker().getActiveJobsIds() != [])
    spark.sparkContext.cancelAllJobs()
    job.join(60)
    assert not job.is_alive()
    assert failures
    assert name not in client.names()
    wait(lambda: nothing_staged(client))


def test_a_speculative_duplicate_changes_nothing(twins: Twins, client: Client, name: str) -> None:
    """Two attempts of a partition put all of their rows, and Spark chooses the second.

    The job is driven by hand: a Spark on one machine starts no duplicates.
    """
    jvm, new_array = twins.spark._jvm, twins.spark.sparkContext._gateway.new_array
    schema = twins.spark.range(0)._jdf.schema()
    given = jvm.java.util.HashMap()
    for key, value in {"address": twins.address, "dataset": name, "batch.rows": "10"}.items():
        given.put(key, value)
    none = new_array(jvm.org.apache.spark.sql.connector.expressions.Transform, 0)
    table = jvm.flightcache.spark.FlightcacheProvider().getTable(schema, none, given)
    options = jvm.org.apache.spark.sql.util.CaseInsensitiveStringMap(given)
    empty = jvm.java.util.Optional.empty()
    info = jvm.org.apache.spark.sql.connector.write.LogicalWriteInfoImpl("q", schema, options, empty, empty)
    job = table.newWriteBuilder(info).build().toBatch()
    factory = job.createBatchWriterFactory(jvm.org.apache.spark.sql.connector.write.PhysicalWriteInfoImpl(2))

    def row(i: int) -> object:
        made = jvm.org.apache.spark.sql.catalyst.expressions.GenericInternalRow(1)
        made.setLong(0, i)
        return made

    slow, quick, other = (factory.createWriter(p, task) for p, task in ((0, 10), (0, 12), (1, 11)))
    for i in range(35):
        slow.write(row(i))
        quick.write(row(i))
        other.write(row(100 + i))
    messages = new_array(jvm.org.apache.spark.sql.connector.write.WriterCommitMessage, 2)
    slow.commit()
    messages[0], messages[1] = quick.commit(), other.commit()
    assert name not in client.names()
    job.commit(messages)
    for writer in (slow, quick, other):
        writer.close()
    assert client.get(name)["id"].to_pylist() == [*range(35), *range(100, 135)]
    late = factory.createWriter(0, 13)
    late.write(row(0))
    with pytest.raises(Exception, match="transaction"):
        late.commit()
    late.abort()
    late.close()
    assert client.describe(name)["rows"] == 70
    wait(lambda: nothing_staged(client))


def test_a_read_may_be_written_over(twins: Twins, client: Client, name: str) -> None:
    """What is read stays the generation that it was."""
    client.put(name, tables.table("flat", 50_000))
    frame = twins.read(name)
    write(frame.where("k < 500").select("id", "k"), twins, name, "overwrite")
    expected = without_metadata(tables.table("flat", 50_000).select(["id", "k"]))
    assert without_metadata(client.get(name)) == expected.filter(pc.less(expected["k"], 500)).combine_chunks()


def test_an_open_transaction_of_a_lost_driver_is_seen_by_nobody(twins: Twins, client: Client, name: str) -> None:
    """The staged puts of a job are invisible; a second job is not in its way."""
    transaction = client.action("begin", dataset=name, mode="append")["transaction"]
    client.put(name, pa.table({"id": [1]}), transaction=transaction, put_id="partition-0-task-0")
    write(twins.spark.range(3), twins, name, "append")
    assert client.get(name)["id"].to_pylist() == [0, 1, 2]
    assert client.action("abort", dataset=name, transaction=transaction)["aborted"]


def test_wide_values_are_cut_into_batches(twins: Twins, client: Client, name: str) -> None:
    frame = twins.spark.range(0, 40, numPartitions=1).selectExpr("id", "repeat(char(97 + id % 26), 1000000) AS text")
    write(frame, twins, name, "append")
    assert [len(t) for t in client.get(name)["text"].to_pylist()] == [1_000_000] * 40
    assert twins.read(name).selectExpr("sum(length(text))").collect() == [(40_000_000,)]


def test_a_name_that_is_none(twins: Twins, spark: SparkSession, name: str) -> None:
    with pytest.raises(PySparkException, match="bad//name"):
        write(spark.range(3), twins, "bad//name", "append")
