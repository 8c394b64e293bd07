"""Leases: what was planned stays readable, as long as it may be read."""

from __future__ import annotations

import contextlib
import gc
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyspark.sql.functions as F
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from service import Client, Server, counted, wait

LEASE_SECONDS = 2


@pytest.fixture(scope="module")
def short() -> Iterator[Server]:
    """A server whose leases are short."""
    with Server("--memory", "512MiB", "--lease", f"{LEASE_SECONDS}s") as running:
        yield running
        assert running.stop() == 0, running.log()


@pytest.fixture
def client(short: Server) -> Iterator[Client]:
    with short.client() as connected:
        yield connected


def read(spark: SparkSession, short: Server, name: str, **options: str) -> DataFrame:
    reader = spark.read.format("flightcache").option("address", short.address).option("dataset", name)
    return reader.options(**options).load()


def of(value: int, rows: int = 4000) -> pa.Table:
    return pa.Table.from_batches(pa.table({"id": range(rows), "g": [value] * rows}).to_batches(max_chunksize=1000))


def test_a_job_reads_one_generation(
    spark: SparkSession, short: Server, client: Client, name: str, tmp_path: Path
) -> None:
    """Two of its four tasks run when the dataset is replaced; the others begin when the first lease is long over."""
    client.put(name, of(1), batching="keep")
    started, go = str(tmp_path / "started"), tmp_path / "go"
    path = str(go)

    def waits(i):
        import os
        import time

        open(started, "a").close()
        while not os.path.exists(path):
            time.sleep(0.05)
        return i

    frame = read(spark, short, name, partitions="4").select(F.udf(waits, "bigint")("id").alias("id"), "g")
    got: list = []
    job = threading.Thread(target=lambda: got.extend(frame.collect()))
    job.start()
    try:
        wait(Path(started).exists, 60)  # Spark's Python may be slow to start
        client.put(name, of(2), batching="keep")
        client.put(name, of(3), batching="keep")
        time.sleep(2 * LEASE_SECONDS)
    finally:
        go.touch()  # or the tasks would be in the way of all that come after
    job.join(60)
    assert {r.g for r in got} == {1}
    assert sorted(r.id for r in got) == list(range(4000))
    assert read(spark, short, name).where("g = 3").count() == 4000


@contextlib.contextmanager
def replaced_all_the_time(short: Server, name: str) -> Iterator[None]:
    """Within the block, the dataset is of another generation at every moment."""
    stop = threading.Event()

    def replace() -> None:
        with short.client() as another:
            n = 0
            while not stop.is_set():
                n += 1
                another.put(name, of(n))

    replacing = threading.Thread(target=replace)
    replacing.start()
    try:
        yield
    finally:
        stop.set()
        replacing.join()


def test_scans_of_one_query_read_one_generation(spark: SparkSession, short: Server, client: Client, name: str) -> None:
    """Also where they are planned one after the other while the dataset changes all the time."""
    client.put(name, of(0))
    with replaced_all_the_time(short, name):
        for _ in range(5):
            frame = read(spark, short, name)
            joined = frame.alias("a").join(frame.alias("b"), "id").selectExpr("a.g AS x", "b.g AS y")
            pairs = joined.groupBy("x", "y").count().collect()
            assert [p["count"] for p in pairs] == [4000]
            assert pairs[0].x == pairs[0].y


def test_statistics_and_scans_of_one_query_are_of_one_generation(
    spark: SparkSession, short: Server, client: Client, name: str
) -> None:
    """A bound cannot be found anew when the dataset is replaced before its rows are planned: the query says so."""
    client.put(name, of(0))

    def once() -> str:
        """What went wrong."""
        read(spark, short, name).createOrReplaceTempView("replaced")
        query = "SELECT (SELECT max(g) FROM replaced) AS most, g, count(*) AS n FROM replaced GROUP BY g"
        try:
            ((most, g, n),) = spark.sql(query).collect()
        except PySparkException as e:
            return str(e)
        assert (most, n) == (g, 4000)
        return ""

    with replaced_all_the_time(short, name):
        wrong = [once() for _ in range(5)]
    assert all("was replaced while a query was planned" in w for w in wrong if w)
    with counted(client) as grown:
        assert once() == ""
    assert grown["rows_out"] == 4000  # the bound is from statistics


def test_a_lease_ends_with_what_may_be_run(spark: SparkSession, short: Server, client: Client, name: str) -> None:
    def settle() -> bool:
        gc.collect()
        spark._jvm.System.gc()
        return client.stats()["leases"] == 0

    wait(settle)
    client.put(name, of(1))
    frame = read(spark, short, name).where("id % 2 = 0")
    kept = frame.rdd  # a plan that may run at any time
    assert kept.getNumPartitions() == 1
    client.put(name, of(2))
    time.sleep(2 * LEASE_SECONDS)
    assert client.stats()["leases"] > 0
    assert [r.g for r in kept.collect()] == [1] * 2000
    del frame, kept
    wait(settle)


def test_what_is_gone_is_told(spark: SparkSession, client: Client, short: Server, name: str) -> None:
    """A plan that was made for a generation which nobody keeps."""
    client.put(name, of(1))
    ended = client.info(name)
    generation = client.describe(name)["generation"]
    client.cancel(ended)
    client.put(name, of(2))
    with pytest.raises(PySparkException, match=rf"dataset {name} at grpc://.*: NOT_FOUND: .*{generation}"):
        read(spark, short, name, generation=generation).collect()
