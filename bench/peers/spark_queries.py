"""A Spark that runs the benchmark's queries over one table from several places.

It is started with the Python of the Spark tests. Its first line tells, as JSON, its JVM's process id. Then each line in
names a place and a query, and is answered by a line with the seconds that it took; a query whose name begins with
``check `` is answered with the number of its rows and a hash of them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time

from pyspark.sql import DataFrame, SparkSession

QUERIES = {
    "1 of 6 columns": lambda t: t.select("v"),
    "6 of 6 columns": lambda t: t,
    "one in 1,000 by k, 3 columns": lambda t: t.where("k = 7").select("id", "k", "v"),
    "a twentieth by id, 3 columns": lambda t: t.where(f"id >= {t.least} AND id < {t.most}").select("id", "k", "v"),
}


def places(spark: SparkSession, arguments: argparse.Namespace) -> dict[str, DataFrame]:
    """The table from every place; the cache is filled."""
    made = {}
    for name in arguments.dataset:
        reader = spark.read.format("flightcache").option("address", arguments.address)
        made[name] = reader.load(name)
    made["parquet"] = spark.read.parquet(arguments.parquet)
    made["cache"] = spark.read.parquet(arguments.parquet).cache()
    made["cache"].count()
    for frame in made.values():
        frame.least, frame.most = 9 * arguments.rows // 10, 95 * arguments.rows // 100
    return made


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--address", required=True)
    parser.add_argument("--dataset", action="append", required=True)
    parser.add_argument("--parquet", required=True)
    parser.add_argument("--jar", required=True)
    parser.add_argument("--rows", type=int, required=True)
    arguments = parser.parse_args()
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", arguments.jar)
        .config("spark.driver.memory", "3g")
        .config("spark.log.level", "OFF")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    tables = places(spark, arguments)
    print(json.dumps({"pid": spark._jvm.java.lang.ProcessHandle.current().pid()}), flush=True)
    for line in sys.stdin:
        place, query = json.loads(line)
        frame = QUERIES[query.removeprefix("check ")](tables[place])
        if query.startswith("check "):
            answer = list(frame.selectExpr("count(*)", "bit_xor(xxhash64(*))").collect()[0])
        else:
            start = time.perf_counter()
            # Every row of every column is asked for, and forgotten.
            frame.write.format("noop").mode("overwrite").save()
            answer = time.perf_counter() - start
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
