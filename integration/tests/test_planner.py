"""What a planner sees before it reads: schemas, totals, bounds and endpoints, from metadata alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.flight as fl
import pytest

import filter_tables
import tables
from compare import assert_same, expected
from service import TRAP_BINARY, Client, Server, chunked, command_of, counted

FLAT = "planner/flat"
NESTED = "planner/nested"
ROWS = 200_000


@pytest.fixture(scope="module")
def data() -> pa.Table:
    return tables.table("flat", ROWS)


@pytest.fixture(scope="module", autouse=True)
def _stored(server: Server, data: pa.Table) -> Iterator[None]:
    with server.client() as client:
        client.put(FLAT, data, batching="keep")
        client.put(NESTED, tables.table("nested", 50_000))
        yield


def facts_of(info: fl.FlightInfo) -> dict[str, Any]:
    return json.loads(info.app_metadata)


def read(client: Client, info: fl.FlightInfo) -> pa.Table:
    """What the ticket of the only endpoint delivers."""
    (endpoint,) = info.endpoints
    return client.flight.do_get(endpoint.ticket).read_all()


def plain_size(data: pa.Table, batch_rows: int = 10_000) -> int:
    """The bytes of the buffers of ``data`` in batches of so many rows."""
    return tables.plain_bytes(chunked(data, batch_rows))


@pytest.mark.parametrize("columns", [None, ["id"], ["s3", "k"], ["s1", "s2", "s3", "id", "k", "v"], ["id", "id"], []])
def test_totals_are_those_of_the_chosen_columns(client: Client, data: pa.Table, columns: list[str] | None) -> None:
    keys = {} if columns is None else {"columns": columns}
    info = client.info(FLAT, **keys)
    chosen = data if columns is None else data.select(columns)
    assert info.total_records == ROWS
    assert info.total_bytes == (plain_size(chosen) if chosen.num_columns else 0)
    assert info.ordered
    assert len(info.endpoints) == 1
    assert info.endpoints[0].locations == []
    assert "rows_min" not in facts_of(info)
    assert_same(read(client, info), expected(data, columns))


@pytest.mark.parametrize("limit", [0, 1, 10_000, 123_456, ROWS, ROWS + 1, 2**62])
def test_totals_are_clamped_by_a_limit(client: Client, data: pa.Table, limit: int) -> None:
    info = client.info(FLAT, columns=["id", "s1"], limit=limit)
    rows = min(limit, ROWS)
    assert info.total_records == rows
    assert info.total_bytes == plain_size(data.select(["id", "s1"])) * rows // ROWS
    assert read(client, info).num_rows == rows


def test_a_planner_sees_decoded_bytes_and_not_the_stored_ones(client: Client, name: str) -> None:
    keys = pa.table({"k": pa.array(range(60_000), pa.int64())})
    facts = client.put(name, keys)
    assert client.info(name).total_bytes == 480_000 == facts["decoded_bytes"]
    assert facts["stored_bytes"] < 240_000


# The flat table's id is null in every eighth row, beginning with row 0; its v is row + 1. Batches have 10,000 rows.
DECIDED = {
    "no batch, beyond": ([["id", ">=", ROWS]], 0),
    "no batch, below": ([["v", "<", 1]], 0),
    "no batch, contradiction": ([["v", ">", 5], ["v", "<", 6]], 0),
    "no batch, unmatched null": ([["id", "=", None]], 0),
    "no batch, empty list": ([["id", "in", []]], 0),
    "no batch, two columns": ([["id", ">=", 150_000], ["s3", "<", ""]], 0),
    "every batch, a value or null": ([[["k", ">=", 0]], [["k", "is null"]]], ROWS),
    "every batch, empty list": ([["id", "not in", []]], ROWS),
}


@pytest.mark.parametrize("name", DECIDED)
def test_what_statistics_decide_is_exact(client: Client, data: pa.Table, name: str) -> None:
    wanted, rows = DECIDED[name]
    info = client.info(FLAT, filters=wanted)
    assert info.total_records == rows
    assert info.total_bytes == (plain_size(data) if rows else 0)
    facts = facts_of(info)
    assert (facts["rows_min"], facts["rows_max"]) == (rows, rows)
    assert facts["batches_kept"] == (20 if rows else 0)
    with counted(client) as grown:
        assert read(client, info).num_rows == rows
    assert grown["bytes_decoded"] == grown["bytes_encoded"] == 0
    assert grown["batches_pruned"] == 20 - facts["batches_kept"]
    assert grown["batches_considered"] == 20


def test_whole_batches_are_decided_by_their_bounds(client: Client, name: str) -> None:
    numbers = pa.table({"n": pa.array(range(100_000), pa.int64()), "s": pa.array([f"{i:06}" for i in range(100_000)])})
    client.put(name, chunked(numbers, 10_000), batching="keep")
    for wanted in ([["n", ">=", 30_000], ["n", "<", 50_000]], [["s", "starts with", "03"], ["n", "!=", -1]]):
        info = client.info(name, filters=wanted)
        rows = 20_000 if wanted[0][0] == "n" else 10_000
        assert info.total_records == rows
        assert info.total_bytes == plain_size(numbers.slice(30_000, rows))
        with counted(client) as grown:
            assert_same(read(client, info), numbers.slice(30_000, rows))
        assert grown["bytes_decoded"] == grown["bytes_encoded"] == 0
        assert grown["batches_sent"] == rows // 10_000


def test_what_they_do_not_decide_is_unknown_within_bounds(client: Client, data: pa.Table) -> None:
    wanted = [["v", ">", 15_000], ["v", "<=", 42_000]]
    mask = pc.and_(pc.greater(data["v"], 15_000), pc.less_equal(data["v"], 42_000)).fill_null(False)
    rows = pc.sum(mask).as_py()
    info = client.info(FLAT, filters=wanted, columns=["v"])
    assert (info.total_records, info.total_bytes) == (-1, -1)
    facts = facts_of(info)
    assert facts["rows_min"] == 0 <= rows <= facts["rows_max"] == 40_000
    assert facts["batches_kept"] == 4
    assert (facts["rows"], facts["batches"]) == (ROWS, 20), "the facts of the generation stay what they are"
    counted_info = client.info(FLAT, filters=wanted, columns=["v"], count="exact")
    assert counted_info.total_records == rows
    told = facts_of(counted_info)
    assert (told["rows_min"], told["rows_max"], told["batches_kept"]) == (rows, rows, 4)
    assert_same(read(client, info), data.select(["v"]).filter(mask))


def test_counting_decodes_what_the_filter_looks_at_and_no_more(client: Client, name: str) -> None:
    numbers = tables.table("flat", 100_000)
    client.put(name, numbers, batching="keep", codec="zstd")
    with counted(client) as grown:
        client.info(name, filters=[["v", ">", 15_000], ["v", "<=", 42_000]], count="exact")
    assert 0 < grown["bytes_decoded"] <= plain_size(numbers.select(["v"]).slice(10_000, 40_000))
    with counted(client) as grown:
        client.info(name, filters=[["v", ">", 15_000]])
    assert grown["bytes_decoded"] == 0


@pytest.mark.parametrize("limit", [0, 100, 20_000, 10**6])
def test_a_limit_narrows_the_bounds(client: Client, limit: int) -> None:
    info = client.info(FLAT, filters=[["v", ">", 15_000], ["v", "<=", 42_000]], limit=limit)
    facts = facts_of(info)
    assert facts["rows_max"] == min(limit, 40_000)
    got = read(client, info)
    assert facts["rows_min"] <= got.num_rows <= facts["rows_max"]
    assert info.total_records == (0 if limit == 0 else -1)
    exact = client.info(FLAT, filters=[["v", ">", 15_000], ["v", "<=", 42_000]], limit=limit, count="exact")
    assert exact.total_records == got.num_rows


def test_prune_only_totals_are_those_of_whole_batches(client: Client, data: pa.Table) -> None:
    info = client.info(FLAT, filters=[["v", ">", 15_000], ["v", "<=", 42_000]], prune_only=True)
    assert info.total_records == 40_000
    assert info.total_bytes == plain_size(data.slice(10_000, 40_000))
    assert_same(read(client, info), data.slice(10_000, 40_000))


@pytest.mark.parametrize("keys", [{}, {"filters": [["id", "=", 1]]}, {"limit": 5}, {"partitions": 4}, {"columns": []}])
def test_an_empty_dataset_has_an_endpoint(client: Client, data: pa.Table, name: str, keys: dict[str, Any]) -> None:
    client.put(name, data.schema.empty_table())
    info = client.info(name, **keys)
    assert (info.total_records, info.total_bytes) == (0, 0)
    assert len(info.endpoints) == 1
    assert info.schema.equals(data.schema.empty_table().select(keys.get("columns", data.schema.names)).schema)
    assert read(client, info).num_rows == 0


@pytest.mark.parametrize("keys", [{}, {"filters": [["id", "=", 1]]}, {"count": "exact"}, {"partitions": 3}])
def test_an_unknown_dataset_is_not_found_by_any_call(client: Client, keys: dict[str, Any]) -> None:
    descriptor = fl.FlightDescriptor.for_command(command_of("planner/none", **keys))
    for call in (client.flight.get_flight_info, client.flight.get_schema):
        with pytest.raises(KeyError, match="planner/none"):
            call(descriptor)
    with pytest.raises(KeyError, match="planner/none"):
        client.get("planner/none", **keys)


SHAPES: list[dict[str, Any]] = [
    {},
    {"columns": ["st.n.c", "i8", "dict"]},
    {"columns": []},
    {"filters": [["i8", ">", 0]]},
    {"filters": [["i8", ">", 0]], "columns": ["s"], "limit": 3},
    {"filters": [["i8", "=", 5], ["i8", "=", 6]]},
    {"filters": [["i8", ">", 0]], "prune_only": True, "partitions": 5},
    {"dictionaries": "decode", "filters": [["dict", "is not null"]]},
    {"count": "exact", "filters": [["f32", "is null"]]},
]


@pytest.mark.parametrize("keys", SHAPES, ids=json.dumps)
def test_one_schema_in_every_answer(client: Client, name: str, keys: dict[str, Any]) -> None:
    source = filter_tables.lay_out("sorted", 16, 4)
    source = source.replace_schema_metadata({b"made by": b"a planner's test"})
    client.put(name, source, batching="keep")
    info = client.info(name, **keys)
    asked = client.flight.get_schema(fl.FlightDescriptor.for_command(command_of(name, **keys))).schema
    assert asked.equals(info.schema, check_metadata=True)
    assert asked.metadata == source.schema.metadata
    for endpoint in info.endpoints:
        assert client.flight.do_get(endpoint.ticket).read_all().schema.equals(asked, check_metadata=True)
    reader = client.flight.do_get(fl.Ticket(command_of(name, **keys)))
    assert reader.schema.equals(asked, check_metadata=True)


def test_list_flights_tells_totals_and_plain_tickets(client: Client, data: pa.Table) -> None:
    (flight,) = list(client.flight.list_flights(FLAT.encode()))
    assert (flight.total_records, flight.total_bytes) == (ROWS, plain_size(data))
    assert flight.endpoints[0].ticket.ticket == FLAT.encode()


@pytest.mark.parametrize("mode", ["append", "replace"])
def test_tickets_deliver_what_was_counted(client: Client, data: pa.Table, name: str, mode: str) -> None:
    client.put(name, data.slice(0, 30_000), batching="keep")
    wanted = {"filters": [["v", "<=", 25_000]], "columns": ["v"]}
    info = client.info(name, **wanted, count="exact")
    client.put(name, data.slice(0, 10), mode=mode)
    expected = data.select(["v"]).slice(0, 25_000)
    assert info.total_records == pc.count(expected["v"]).as_py()
    assert_same(read(client, info), expected.filter(expected["v"].is_valid()))
    assert client.info(name, **wanted, count="exact").total_records != info.total_records


def test_a_range_of_five_million_rows_reads_few_batches(client: Client) -> None:
    rows = tables.DEFAULT_ROWS["flat"]
    whole = tables.batches("flat")
    first = next(whole)
    facts = client.put_batches("planner/big", first.schema, _chain(first, whole), rows=rows)
    assert facts["rows"] == rows
    wanted = [["id", ">=", 4_500_000], ["id", "<", 4_750_000]]
    with counted(client) as grown:
        got = client.get("planner/big", columns=["id", "k", "v"], filters=wanted)
    numbers = range(4_500_000, 4_750_000)
    assert pc.sum(got["id"]).as_py() == sum(i for i in numbers if i % 8 != 0)
    assert pc.sum(got["k"]).as_py() == sum(i % 1000 for i in numbers if i % 8 not in (0, 1))
    assert pc.sum(got["v"]).as_py() == sum(i + 1 for i in numbers if i % 8 not in (0, 2))
    assert facts["batches"] - grown["batches_pruned"] <= 0.07 * facts["batches"]
    assert grown["batches_sent"] == facts["batches"] - grown["batches_pruned"]
    assert client.info("planner/big", filters=wanted, count="exact").total_records == got.num_rows
    client.drop("planner/big")


def _chain(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
def test_a_filter_that_all_rows_pass_sends_stored_bytes(client: Client, name: str, codec: str) -> None:
    wide = tables.table("wide", 40_000, columns=20)
    client.put(name, wide, batching="keep", codec=codec)
    with counted(client) as plain:
        client.get(name)
    for wanted in ([["c3", ">=", 0]], [["c0", "is not null"], ["c19", "<", 800_000]], [["c5", "!=", 1]]):
        with counted(client) as grown:
            assert_same(client.get(name, filters=wanted), wide)
        assert grown["bytes_encoded"] == grown["batches_pruned"] == 0
        assert grown["bytes_out"] == plain["bytes_out"]
        decided = wanted[0][1] != "!="
        assert client.info(name, filters=wanted).total_records == (40_000 if decided else -1)
        assert (grown["bytes_decoded"] == 0) == (decided or codec == "none")


def test_rows_that_all_pass_are_sent_as_stored_when_only_reading_them_tells(client: Client, data: pa.Table) -> None:
    wanted = [["s3", "!=", "none of them"]]
    got = client.get(FLAT, filters=wanted, columns=["id"])
    assert got.num_rows == ROWS - data["s3"].null_count
    whole = pa.table({"a": pa.array([1, 5] * 500), "s": pa.array(["x"] * 1000)})
    client.put("planner/whole", whole)
    with counted(client) as grown:
        assert_same(client.get("planner/whole", filters=[["a", "!=", 3]]), whole)
    assert grown["bytes_encoded"] == 0


def test_sizes_are_the_same_under_every_codec(client: Client, name: str, data: pa.Table) -> None:
    part = data.slice(0, 50_000)
    told = []
    for codec in ("none", "lz4", "zstd"):
        facts = client.put(name, part, codec=codec, batching="keep")
        told.append([column["decoded_bytes"] for column in facts["columns"]])
        for column, size in zip(part.column_names, told[-1], strict=True):
            assert size == plain_size(part.select([column]))
            assert client.info(name, columns=[column]).total_bytes == size
    assert told[0] == told[1] == told[2]


def test_planning_with_every_payload_unreadable() -> None:
    numbers = pa.table({"n": pa.array(range(100_000), pa.int64()), "s": pa.array([f"{i:06}" for i in range(100_000)])})
    with Server(binary=TRAP_BINARY) as server, server.client() as client:
        client.put("sales", chunked(numbers, 10_000), batching="keep")
        client.action("trap")
        inside = [["n", ">=", 25_000], ["n", "<", 50_000]]
        for keys, rows, kept in (
            ({"filters": [["n", "<", 20_000]]}, 20_000, 2),
            ({"filters": inside}, -1, 3),
            ({"filters": inside, "prune_only": True}, 30_000, 3),
            ({"filters": [["s", "starts with", "07"]], "columns": ["n"], "partitions": 4}, 10_000, 1),
            ({"filters": [["s", "in", ["none", "neither"]]]}, 0, 0),
        ):
            info = client.info("sales", **keys)
            assert info.total_records == rows
            assert facts_of(info)["batches_kept"] == kept
        assert client.get("sales", filters=[["n", "<", 0]]).num_rows == 0
        with pytest.raises(pa.ArrowException):
            client.info("sales", filters=inside, count="exact")
        server.kill()


def test_a_stopped_server_is_unavailable_to_every_call() -> None:
    with Server() as server, server.client() as client:
        client.put("sales", pa.table({"n": [1]}))
        assert server.stop() == 0
        descriptor = fl.FlightDescriptor.for_path("sales")
        for call in (
            lambda: client.flight.get_flight_info(descriptor),
            lambda: client.flight.get_schema(descriptor),
            lambda: client.get("sales"),
            lambda: client.names(),
            lambda: client.stats(),
            lambda: client.put("sales", pa.table({"n": [1]})),
        ):
            # pyarrow's get_schema has a class of its own for it; the code is the same.
            with pytest.raises((fl.FlightUnavailableError, OSError), match="returned unavailable error"):
                call()
