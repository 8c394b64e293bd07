"""Spark over flightcache, beside the same Spark over Parquet and over its own in-memory cache."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from contenders import ROOT, Contender, flightcache
from report import Section
from rounds import Work, interleave
from sources import CACHE, Sizes

VERSION = "4.3.0"
QUERIES = (
    "1 of 6 columns",
    "6 of 6 columns",
    "one in 1,000 by k, 3 columns",
    "a twentieth by id, 3 columns",
)


class Spark:
    """The process that runs the queries. It ends with the block."""

    def __init__(self, *flags: object) -> None:
        python = CACHE / f"spark-{VERSION}" / "bin" / "python"
        (jar,) = (ROOT / "clients" / "spark" / "target").glob("flightcache-spark-*.jar")
        command = [python, ROOT / "bench" / "peers" / "spark_queries.py", "--jar", jar, *flags]
        self._process = subprocess.Popen(
            list(map(str, command)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.pid: int = self._answer()["pid"]

    def _answer(self) -> Any:
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("Spark ended before it answered: run bench/peers/spark_queries.py by itself to see why")
        return json.loads(line)

    def ask(self, place: str, query: str) -> Any:
        print(json.dumps([place, query]), file=self._process.stdin, flush=True)
        return self._answer()

    def __enter__(self) -> Spark:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.wait(60)


def measure(z: Sizes, table: pa.Table) -> Section:
    """The flat table of int64 and strings: one column, all of them, and filtered ones."""
    s = Section(
        "Spark",
        f"Spark {VERSION} on two cores asks for every row of some columns of the flat table, and forgets them: from "
        "flightcache by the connector, from a Parquet file, which the system has in memory, and from its own cache "
        "(`DataFrame.cache`). The answers were compared before. *Server CPU* is that of Spark's process here.",
    )
    path = CACHE / f"flat-{table.num_rows}.parquet"
    if not path.exists():
        pq.write_table(table, path, row_group_size=500_000)
    with flightcache() as server:
        names = {}
        for codec in ("zstd", "none"):
            contender = Contender(f"flightcache {codec}", server.address, server.pid, codec)
            contender.put(table)
            names[contender.name] = contender.dataset
        datasets = [flag for name in names.values() for flag in ("--dataset", name)]
        with Spark("--address", server.address, "--parquet", path, "--rows", table.num_rows, *datasets) as spark:
            places = names | {"Parquet": "parquet", "Spark's cache": "cache"}
            for query in QUERIES:
                answers = {name: spark.ask(place, f"check {query}") for name, place in places.items()}
                if len({tuple(a) for a in answers.values()}) != 1:
                    raise AssertionError(f"{query}: {answers}")
                works = [
                    Work(name, spark.pid, lambda place=place, query=query: spark.ask(place, query))
                    for name, place in places.items()
                ]
                s.figures[query] = interleave(works, z.other_rounds)
                for name in names:
                    for peer in ("Parquet", "Spark's cache"):
                        s.ratio(query, name, peer=peer, prefix="Spark, ")
    return s
