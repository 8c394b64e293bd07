"""Reads in parts: endpoints of nearly equal size, in order, that together are the whole read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.flight as fl
import pytest

import filter_tables
import tables
from compare import assert_same
from predicate_oracle import filters
from predicates import PREDICATES
from service import Client, Server, chunked, counted

DATASET = "partitions/flat"
ROWS = 200_000
BATCHES = 20


@pytest.fixture(scope="module")
def data() -> pa.Table:
    return tables.table("flat", ROWS)


@pytest.fixture(scope="module", autouse=True)
def _stored(server: Server, data: pa.Table) -> Iterator[None]:
    with server.client() as client:
        client.put(DATASET, data, batching="keep")
        yield


def parts(client: Client, info: fl.FlightInfo) -> list[pa.Table]:
    return [client.flight.do_get(endpoint.ticket).read_all() for endpoint in info.endpoints]


def facts(info: fl.FlightInfo) -> list[dict[str, Any]]:
    return [json.loads(endpoint.app_metadata) for endpoint in info.endpoints]


@pytest.mark.parametrize("count", [2, 3, 7, 10, 19, 20])
@pytest.mark.parametrize("columns", [["id", "s3"], ["s1", "v", "k"], ["id"]])
def test_parts_are_the_whole_in_order(client: Client, data: pa.Table, columns: list[str], count: int) -> None:
    info = client.info(DATASET, columns=columns, partitions=count)
    assert len(info.endpoints) == count
    assert info.ordered
    assert all(endpoint.locations == [] for endpoint in info.endpoints)
    got = parts(client, info)
    assert_same(pa.concat_tables(got), data.select(columns))
    told = facts(info)
    assert [t["rows"] for t in told] == [part.num_rows for part in got]
    assert [t["decoded_bytes"] for t in told] == [tables.plain_bytes(chunked(part, 10_000)) for part in got]
    assert sum(t["batches"] for t in told) == BATCHES
    assert sum(t["decoded_bytes"] for t in told) == info.total_bytes
    assert info.total_records == ROWS


@pytest.mark.parametrize("count", [2, 3, 4, 7, 10])
def test_parts_are_nearly_equal(client: Client, count: int) -> None:
    info = client.info(DATASET, partitions=count)
    sizes = [t["decoded_bytes"] for t in facts(info)]
    largest_batch = info.total_bytes / BATCHES * 1.1
    assert max(sizes) - min(sizes) <= largest_batch
    assert all(abs(size - info.total_bytes / count) <= largest_batch for size in sizes)


def test_parts_of_uneven_batches_are_cut_by_bytes(client: Client, name: str) -> None:
    lengths = [1, 30_000, 1, 1, 30_000, 10, 10, 10, 30_000, 1]
    whole = pa.table({"n": pa.array(range(sum(lengths)), pa.int64())})
    starts = [sum(lengths[:i]) for i in range(len(lengths))]
    pieces = [whole.slice(start, length) for start, length in zip(starts, lengths, strict=True)]
    client.put_batches(name, whole.schema, [p.to_batches()[0] for p in pieces], batching="keep")
    info = client.info(name, partitions=3)
    assert [t["rows"] // 30_000 for t in facts(info)] == [1, 1, 1]
    assert_same(pa.concat_tables(parts(client, info)), whole)


@pytest.mark.parametrize(("asked", "given"), [(1, 1), (21, BATCHES), (10_000, BATCHES)])
def test_there_are_no_more_parts_than_batches(client: Client, data: pa.Table, asked: int, given: int) -> None:
    info = client.info(DATASET, columns=["v"], partitions=asked)
    assert len(info.endpoints) == given
    assert_same(pa.concat_tables(parts(client, info)), data.select(["v"]))


@pytest.mark.parametrize("limit", [0, 1, 15_000, ROWS - 1])
def test_a_limit_has_one_part(client: Client, data: pa.Table, limit: int) -> None:
    info = client.info(DATASET, columns=["id"], partitions=4, limit=limit)
    assert len(info.endpoints) == 1
    assert_same(parts(client, info)[0], data.select(["id"]).slice(0, limit))


@pytest.mark.parametrize("count", [0, -1, 1.5, "2"])
def test_no_number_of_parts_is_refused(client: Client, count: object) -> None:
    with pytest.raises(pa.ArrowInvalid, match="partitions"):
        client.info(DATASET, partitions=count)


@pytest.mark.parametrize("count", [1, 2, 5, 16, 40])
@pytest.mark.parametrize("keys", [{}, {"prune_only": True}, {"columns": ["row", "dict", "view"]}], ids=json.dumps)
def test_parts_of_filtered_reads(client: Client, keys: dict[str, Any], count: int) -> None:
    dataset = "partitions/filtered"
    client.put(dataset, filter_tables.lay_out("clustered", 16, 4), batching="keep")
    for wanted in map(filters, (PREDICATES[n] for n in ("a range", "four lists", "below int8", "true or null"))):
        whole = client.get(dataset, filters=wanted, **keys)
        with counted(client) as alone:
            client.get(dataset, filters=wanted, **keys)
        info = client.info(dataset, filters=wanted, partitions=count, **keys)
        assert len(info.endpoints) == min(count, 16)
        assert_same(pa.concat_tables(parts(client, info)), whole)
        with counted(client) as grown:
            parts(client, info)
        assert grown["batches_pruned"] == alone["batches_pruned"]
        if count > 1:
            told = facts(info)
            assert sum(t["rows"] for t in told) == json.loads(info.app_metadata)["rows_max"]
            assert sum(t["batches"] for t in told) == 16


def test_pruned_batches_weigh_nothing(client: Client, name: str) -> None:
    numbers = pa.table({"n": pa.array(range(160_000), pa.int64())})
    client.put(name, chunked(numbers, 10_000), batching="keep")
    info = client.info(name, filters=[["n", ">=", 120_000]], partitions=4)
    assert [t["rows"] for t in facts(info)] == [10_000] * 4
    assert [part.num_rows for part in parts(client, info)] == [10_000] * 4


@pytest.mark.parametrize("count", [2, 4])
def test_dictionaries_come_with_each_part_that_needs_them(client: Client, name: str, count: int) -> None:
    batches = [
        pa.record_batch({"d": pa.array([f"{i % 3}{j}" for j in range(100)]).dictionary_encode()}) for i in range(8)
    ]
    client.put_batches(name, batches[0].schema, batches, batching="keep")
    info = client.info(name, partitions=count)
    assert len(info.endpoints) == count
    whole = [v for b in batches for v in b.column(0).to_pylist()]
    assert [v for part in parts(client, info) for v in part["d"].to_pylist()] == whole


def test_tickets_may_be_read_again_and_in_any_order(client: Client, data: pa.Table) -> None:
    info = client.info(DATASET, columns=["k"], partitions=5)
    forward = parts(client, info)
    for number in (4, 0, 2, 2, 1, 3):
        assert client.flight.do_get(info.endpoints[number].ticket).read_all().equals(forward[number])
