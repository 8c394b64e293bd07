"""DataFusion over a registered dataset: the answers of the local table, read in parallel parts."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pyarrow as pa
import pytest
from datafusion import SessionContext

import flightcache
import tables
from conftest import counted, nothing_left
from flightcache import Client
from service import Server

ROWS = 120_000
LOCAL = {"flat": tables.table("flat", ROWS), "nested": tables.table("nested", ROWS)}


@pytest.fixture(scope="module", autouse=True)
def _stored(server: Server) -> Iterator[None]:
    with flightcache.connect(server.address) as client:
        for kind, table in LOCAL.items():
            client.put(f"datafusion/{kind}", table, batching="keep")
        yield
        all_is_let_go(client)


def all_is_let_go(client: Client) -> None:
    """What DataFusion drops in its own threads, reads included, goes when Python next calls it."""
    gc.collect()
    nothing_left(client, lambda: SessionContext().sql("SELECT 1").collect())


def context(source: object) -> SessionContext:
    engine = SessionContext()
    if isinstance(source, pa.Table):
        engine.register_record_batches("t", [source.to_batches()])
    else:
        engine.register_dataset("t", source)
    return engine


def rows_of(query: str, source: object) -> list[dict[str, object]]:
    frame = context(source).sql(query)
    batches = frame.collect()
    return [row for batch in batches for row in batch.to_pylist()]


QUERIES = {
    "flat": [
        "SELECT * FROM t",
        "SELECT count(*) AS n FROM t",
        "SELECT k, v FROM t WHERE id = 77777",
        "SELECT s1, s3 FROM t WHERE id >= 119990 OR k = 3",
        "SELECT * FROM t WHERE s2 = 'str_b_17' AND v < 50000",
        "SELECT id FROM t WHERE k IN (1, 5, 9) AND s1 IS NOT NULL",
        "SELECT id FROM t WHERE k NOT IN (1, 5, 9) AND id < 100",
        "SELECT id FROM t WHERE s3 LIKE 'str_c_1199%'",
        "SELECT id FROM t WHERE v IS NULL AND k <> 2 AND id < 1000",
        "SELECT id, s1 FROM t WHERE id % 1000 = 7",
        "SELECT k, count(*) AS n, sum(v) AS s, min(s3) AS m FROM t WHERE id > 60000 GROUP BY k ORDER BY k",
        "SELECT a.id, b.v FROM t a JOIN t b ON a.v = b.id WHERE a.k = 20 AND b.k = 21",
        "SELECT id FROM t ORDER BY id DESC NULLS LAST LIMIT 5",
        "SELECT count(*) AS n FROM t WHERE id > 60000",
        "SELECT id FROM t WHERE id > 200000",
    ],
    "nested": [
        "SELECT * FROM t",
        "SELECT sc['a'] AS a, deep['n']['w'] AS w FROM t WHERE sc['a'] > 119990",
        "SELECT id FROM t WHERE deep['n']['v'] = 4444",
        "SELECT wide['p'] AS p, count(*) AS n, sum(id) AS s FROM t WHERE wide['q'] < 5000 GROUP BY wide['p']",
        "SELECT id, d FROM t WHERE d > 39999.5 OR tail = 't_5'",
        "SELECT deep FROM t WHERE tail LIKE '%77' AND id > 5000",
        "SELECT deep, id FROM t ORDER BY id NULLS LAST LIMIT 5 OFFSET 9000",
    ],
}


@pytest.mark.parametrize(("kind", "query"), [(kind, query) for kind, queries in QUERIES.items() for query in queries])
def test_answers_are_those_over_the_local_table(client: Client, kind: str, query: str) -> None:
    got = rows_of(query, client.dataset(f"datafusion/{kind}"))
    expected = rows_of(query, LOCAL[kind])
    if "ORDER BY" in query:
        assert got == expected
    else:
        assert sorted(map(repr, got)) == sorted(map(repr, expected))
    assert len(expected) > 0 or "200000" in query


def test_only_what_is_needed_is_sent(client: Client) -> None:
    stored = {c["path"]: c["stored_bytes"] for c in client.statistics("datafusion/flat")["columns"]}
    flat = client.dataset("datafusion/flat")
    with counted(client) as grown:
        assert rows_of("SELECT sum(v) AS s FROM t", flat)
    assert stored["v"] < grown["bytes_out"] < stored["v"] + 16_000
    assert grown["gets"] > 1  # the parts of the dataset, at once
    with counted(client) as grown:
        assert len(rows_of("SELECT s3 FROM t WHERE id >= 70000 AND id < 80000", flat)) == 8750
    assert grown["batches_pruned"] == 11
    assert grown["rows_out"] == 8750
    with counted(client) as grown:
        assert rows_of("SELECT count(*) AS n FROM t", flat) == [{"n": ROWS}]
    assert grown["bytes_out"] < 8_000


def test_limit_stops_the_read(client: Client) -> None:
    with counted(client) as grown:
        assert len(rows_of("SELECT * FROM t LIMIT 10", client.dataset("datafusion/flat"))) == 10
        all_is_let_go(client)
    assert grown["batches_sent"] <= 12


def test_planning_reads_nothing(client: Client) -> None:
    engine = context(client.dataset("datafusion/flat"))
    with counted(client) as grown:
        frame = engine.sql("SELECT v FROM t WHERE id > 5")
        assert "TableScan" in str(frame.optimized_logical_plan())
        assert "DatasetExec" in frame.execution_plan().display_indent()
    assert grown["gets"] == 0
    all_is_let_go(client)


def test_again_and_after_a_replacement(client: Client, name: str) -> None:
    client.put(name, LOCAL["flat"].slice(0, 30_000), batching="keep")
    engine = context(client.dataset(name))
    frame = engine.sql("SELECT count(v) AS n FROM t")
    assert frame.to_pylist() == [{"n": 26_250}]
    assert frame.to_pylist() == [{"n": 26_250}]
    client.put(name, LOCAL["flat"].slice(0, 8_000))
    assert frame.to_pylist() == [{"n": 7_000}]


def test_errors_are_told(client: Client, name: str) -> None:
    client.put(name, LOCAL["flat"].slice(0, 100))
    engine = context(client.dataset(name))
    client.drop(name)
    with pytest.raises(Exception, match="no such dataset"):
        engine.sql("SELECT v FROM t").collect()
