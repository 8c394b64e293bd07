"""Declared orders: checked row by row, told to planners, kept over appends only where they stay true."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from service import Client

ORDERED = pa.table({"k": [1, 2, 2, 5, None], "v": ["b", "c", "a", "z", "x"]})


def told(client: Client, name: str) -> list[str] | None:
    info = client.info(name)
    facts = json.loads(info.app_metadata)
    assert facts.get("sorted_by") == client.describe(name).get("sorted_by")
    return facts.get("sorted_by")


@pytest.mark.parametrize(
    ("keys", "rows"),
    [
        (["k"], {"k": [1, 2, 2, None, None]}),
        (["-k"], {"k": [5, 5, 1, None]}),
        (["k", "-v"], {"k": [1, 1, 2], "v": ["b", "a", "z"]}),
        (["f"], {"f": [float("-inf"), -0.0, 0.0, 1.5, float("nan"), None]}),
        (["s.x"], {"s": [{"x": 1}, {"x": 2}, None]}),
        (["v"], {"v": pa.array(["a", "b", "b", "c"]).dictionary_encode()}),
        (["e"], {"e": pa.array([], pa.int64())}),
    ],
)
def test_rows_in_order_are_taken(client: Client, keys: list[str], rows: dict) -> None:
    for batching in ("auto", "keep"):
        assert client.put("order/good", pa.table(rows), sorted_by=keys, batching=batching)["sorted_by"] == keys
        assert told(client, "order/good") == keys


@pytest.mark.parametrize(
    ("keys", "rows", "row"),
    [
        (["k"], {"k": [1, 3, 2]}, 2),
        (["k"], {"k": [1, None, 2]}, 2),
        (["-k"], {"k": [1, 2]}, 1),
        (["k", "v"], {"k": [1, 1], "v": ["b", "a"]}, 1),
        (["f"], {"f": [float("nan"), 1.0]}, 1),
    ],
)
def test_the_row_that_breaks_the_order_is_named(client: Client, keys: list[str], rows: dict, row: int) -> None:
    with pytest.raises(pa.ArrowInvalid, match=f"row {row} comes before the row above it"):
        client.put("order/bad", pa.table(rows), sorted_by=keys)
    with pytest.raises(KeyError):
        client.describe("order/bad")


def test_across_batches(client: Client) -> None:
    table = pa.table({"k": [*range(100), 50]})
    batches = table.to_batches(max_chunksize=10)
    with pytest.raises(pa.ArrowInvalid, match="row 100 comes before"):
        client.put_batches("order/across", table.schema, batches, sorted_by=["k"], batching="keep")
    facts = client.put_batches("order/across", table.schema, batches[:-1], sorted_by=["k"], batching="keep")
    assert facts["sorted_by"] == ["k"]


@pytest.mark.parametrize("keys", [["nothing"], ["l"], ["s"]])
def test_columns_without_order(client: Client, keys: list[str]) -> None:
    table = pa.table({"l": [[1], [2]], "s": [{"x": 1}, {"x": 2}]})
    with pytest.raises(pa.ArrowInvalid, match="sorted_by"):
        client.put("order/none", table, sorted_by=keys)


def test_appends(client: Client) -> None:
    name = "order/append"
    client.put(name, ORDERED.slice(0, 2), sorted_by=["k"])
    client.put(name, ORDERED.slice(2, 2), mode="append", sorted_by=["k"])
    assert told(client, name) == ["k"]
    client.put(name, ORDERED.slice(4), mode="append")  # it declares nothing, and stays true
    assert told(client, name) == ["k"]
    with pytest.raises(pa.ArrowInvalid, match="sorted by k, and the first row of the append belongs before"):
        client.put(name, ORDERED.slice(0, 1), mode="append", sorted_by=["k"])
    assert told(client, name) == ["k"]
    assert client.put(name, ORDERED.slice(0, 1), mode="append")["order_dropped"] is True
    assert told(client, name) is None
    assert client.get(name).num_rows == 6
    assert "order_dropped" not in client.put(name, ORDERED.slice(0, 1), mode="append")


def test_an_order_that_the_dataset_has_not(client: Client) -> None:
    name = "order/other"
    client.put(name, ORDERED, sorted_by=["k"])
    assert client.put(name, ORDERED.sort_by("v"), mode="append", sorted_by=["v"])["order_dropped"] is True
    facts = client.put(name, ORDERED.sort_by("v"), mode="append", sorted_by=["v"])
    assert (facts.get("sorted_by"), facts["order_dropped"]) == (None, True)
    assert "order_dropped" not in client.put(name, ORDERED, sorted_by=["k"])


def test_columns_that_begin_with_a_sign(client: Client) -> None:
    table = pa.table({"-x": [1, 2, 3], "x": [3, 2, 1], "+x": [1, 1, 2], "++": [5, 4, 4]})
    for keys in (["+-x"], ["-x"], ["+x", "x"], ["-++"], ["--x"], ["+++"], ["-+x"]):
        descending = keys[0].startswith("-")
        name = keys[0][1:] if descending or keys[0][:2] in ("+-", "++") else keys[0]
        order = [(name, "descending" if descending else "ascending")]
        rows = table.sort_by([*order, ("x", "ascending")])
        assert client.put("order/signs", rows, sorted_by=keys)["sorted_by"] == keys
        assert told(client, "order/signs") == keys
        wrong = rows.slice(2)
        if wrong[name][0] != rows[name][0]:
            with pytest.raises(pa.ArrowInvalid, match="row 1 comes before"):
                client.put("order/signs", pa.concat_tables([wrong, rows.slice(0, 1)]), sorted_by=keys)
        first = rows[name][0].as_py()
        got = client.get("order/signs", filters=[[name, "=", first]])
        assert got.num_rows == sum(v == first for v in rows[name].to_pylist())


def test_filters_of_a_sorted_column_read_only_its_batches(client: Client) -> None:
    table = pa.table({"k": list(range(10_000)) + [None] * 500, "v": list(range(10_500))})
    client.put_batches(
        "order/search", table.schema, table.to_batches(max_chunksize=100), sorted_by=["k"], batching="keep"
    )
    for filters, rows, batches in [
        ([["k", "=", 4321]], 1, 1),
        ([["k", ">=", 250], ["k", "<", 350]], 100, 2),
        ([["k", "<", 0]], 0, 0),
        ([["k", ">", 9_950]], 49, 1),
        ([["k", "is null"]], 500, 5),
        ([[["k", "=", 5]], [["k", "=", 9_999]]], 2, 2),
        ([["k", "=", 700], ["v", "=", 701]], 0, 0),
    ]:
        before = client.stats(dataset="order/search")
        assert client.get("order/search", filters=filters).num_rows == rows
        after = client.stats(dataset="order/search")
        assert after["batches_sent"] - before["batches_sent"] == (batches if rows else 0), filters
        pruned = after["batches_pruned"] - before["batches_pruned"]
        assert pruned >= 105 - max(batches, 1), filters
