"""The driver of the tests' cluster: jobs whose tasks are tried twice at once, or lose the process that they run in.

``python cluster_jobs.py MASTER ADDRESS NAME FOLDER`` writes the datasets NAME/duplicated and NAME/lost, reads
NAME/read while it is replaced, and prints what became of them as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyspark.sql.functions as F
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

from cluster import HOSTS
from service import Client, wait
from sparkling import started
from test_leases import of

ROWS = 4000

LEASE_SECONDS = 8
"""Of the server: long beside the time in which a busy machine renews it."""


def marks(folder):
    """A function that is called with a name and the task, and says so to whoever looks into the folder."""

    def mark(what):
        context = TaskContext.get()
        with open(f"{folder}/{what}-{context.partitionId()}-{context.attemptNumber()}", "a"):
            pass

    return mark


def overtaken(folder):
    """The first attempt of partition 1 stops in its midst until the second, which passes it there, is at its end."""
    mark = marks(folder)

    def same(i):
        import os
        import time

        context = TaskContext.get()
        if context.partitionId() == 1:
            if i == 2700:
                first = context.attemptNumber() == 0
                if first:
                    mark("waits")
                while not os.path.exists(f"{folder}/{'done-1-1' if first else 'waits-1-0'}"):
                    time.sleep(0.02)
            if i == 3999:
                mark("done")
        return i

    return F.udf(same, "bigint")


def killed(folder, partition, row, until):
    """Attempts of a partition that reach a row before there is a file ``until`` wait for it, then end their executors.

    Not only the first attempt: Spark may start a second beside it, which would else end the job without a retry.
    """
    mark = marks(folder)

    def same(i):
        import os
        import signal
        import time

        if TaskContext.get().partitionId() != partition or i != row:
            return i
        if os.path.exists(f"{folder}/{until}"):
            mark("passed")
            return i
        mark("killed")
        while not os.path.exists(f"{folder}/{until}"):
            time.sleep(0.02)
        with open(f"/proc/{os.getppid()}/stat") as stat:  # of the workers' parent, whose parent is the executor
            executor = int(stat.read().rpartition(")")[2].split()[1])
        os.kill(executor, signal.SIGKILL)
        time.sleep(60)
        return i

    return F.udf(same, "bigint")


def attempts(folder: Path, what: str, partition: int) -> list[str]:
    """The attempts of a partition that left a mark."""
    return sorted(path.name.rpartition("-")[2] for path in folder.glob(f"{what}-{partition}-*"))


def write(frame: DataFrame, address: str, name: str) -> None:
    writer = frame.write.format("flightcache").option("address", address).option("batch.rows", "100")
    writer.mode("append").save(name)


def write_while_killed(numbers: DataFrame, address: str, name: str, folder: Path) -> None:
    """A write whose second task loses its executor in the midst of its put."""
    with ThreadPoolExecutor() as pool:
        job = pool.submit(write, numbers.select(killed(str(folder), 1, 2700, "lost")("id").alias("id")), address, name)
        wait((folder / "killed-1-0").exists, 120)  # the first, however many overtook it
        (folder / "lost").touch()
        job.result()


def read_while_replaced(spark: SparkSession, address: str, name: str, folder: Path) -> list[tuple[int, int]]:
    """The rows of a job whose third task loses its executor after the dataset was replaced."""
    with Client(address) as client:
        client.put(name, of(1, ROWS), batching="keep")
        table = spark.read.format("flightcache").option("address", address).option("partitions", "4").load(name)
        frame = table.select(killed(str(folder), 2, 2500, "replaced")("id").alias("id"), "g")
        with ThreadPoolExecutor() as pool:
            job = pool.submit(frame.collect)
            wait((folder / "killed-2-0").exists, 120)  # the first, however many overtook it
            client.put(name, of(2, ROWS), batching="keep")
            time.sleep(LEASE_SECONDS + 1)  # what is not renewed is gone
            (folder / "replaced").touch()
            return sorted((row.id, row.g) for row in job.result())


def main() -> None:
    master, address, name, text = sys.argv[1:]
    folder = Path(text)
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "800m",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.multiplier": "1.01",
        "spark.speculation.quantile": "0.5",
    }
    spark = started(master, address, folder, **settings)
    # Tasks go to one host only until the other is there.
    wait(lambda: len(spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()) == 1 + len(HOSTS), 120)
    numbers = spark.range(0, ROWS, numPartitions=2)
    write(numbers.select(overtaken(text)("id").alias("id")), address, f"{name}/duplicated")
    write_while_killed(numbers, address, f"{name}/lost", folder)
    rows = read_while_replaced(spark, address, f"{name}/read", folder)
    answer = {
        "read": rows,
        "waits": attempts(folder, "waits", 1),
        "done": attempts(folder, "done", 1),
        "killed": [attempts(folder, "killed", partition) for partition in (1, 2)],
        "passed": [attempts(folder, "passed", partition) for partition in (1, 2)],
    }
    spark.stop()
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
