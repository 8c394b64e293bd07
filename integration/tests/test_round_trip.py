"""What is put is what is read: every codec, batching and projection, schema metadata included."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pyarrow as pa
import pyarrow.flight as fl
import pytest

import compare
import tables
from service import Client, Server, chunked, command_of

ROWS = 200_000
CODECS = ["none", "lz4", "zstd"]
BATCH_ROWS = [10_000, 65_536, None]
COLUMNS = {
    "flat": [None, ["id", "k", "s3"], ["s1"], ["s3", "k", "id", "s2", "v", "s1"], ["k", "k"]],
    "nested": [
        None,
        ["id", "sc.a", "deep.n.v"],
        ["deep.n.w"],
        ["d", "tail", "wide", "deep", "sc", "id"],
        ["wide.r", "id", "wide.p"],
        ["deep.n.v", "deep"],
    ],
}


def _with_metadata(table: pa.Table) -> pa.Table:
    fields = [f.with_metadata({"position": str(i)}) for i, f in enumerate(table.schema)]
    return table.cast(pa.schema(fields, metadata={"origin": "test", "bytes": b"\x00\xff"}))


@cache
def source(kind: str) -> pa.Table:
    return _with_metadata(tables.table(kind, ROWS))


@pytest.fixture(scope="module")
def reader(server: Server) -> Iterator[Client]:
    with server.client() as connected:
        yield connected


@pytest.fixture(
    scope="module",
    params=[(kind, codec, rows) for kind in COLUMNS for codec in CODECS for rows in BATCH_ROWS],
    ids=lambda p: f"{p[0]}-{p[1]}-{p[2] or 'whole'}",
)
def stored(request: pytest.FixtureRequest, reader: Client) -> Iterator[tuple[str, str]]:
    """A table put under one codec in one batching: its kind and its dataset's name."""
    kind, codec, rows = request.param
    dataset = f"round/{kind}/{codec}/{rows}"
    facts = reader.put(dataset, chunked(source(kind), rows), codec=codec)
    assert facts["rows"] == ROWS
    assert facts["codec"] == codec
    yield kind, dataset
    reader.drop(dataset)


def test_projections_equal_the_source(reader: Client, stored: tuple[str, str]) -> None:
    kind, dataset = stored
    for columns in COLUMNS[kind]:
        keys = {} if columns is None else {"columns": columns}
        want = compare.expected(source(kind), columns)
        got = reader.get(dataset, **keys)
        got.validate(full=True)
        assert got.schema.equals(want.schema, check_metadata=True), columns
        assert got.equals(want), columns
        info = reader.info(dataset, **keys)
        assert info.schema.equals(want.schema, check_metadata=True), columns
        assert info.total_records == ROWS


def test_no_columns_are_rows_alone(reader: Client, stored: tuple[str, str]) -> None:
    kind, dataset = stored
    chunks = list(reader.flight.do_get(fl.Ticket(command_of(dataset, columns=[]))))
    assert sum(c.data.num_rows for c in chunks) == ROWS
    assert all(c.data.num_columns == 0 for c in chunks)
    info = reader.info(dataset, columns=[])
    assert (info.total_records, info.total_bytes) == (ROWS, 0)
    assert info.schema.equals(pa.schema([], metadata=source(kind).schema.metadata), check_metadata=True)


def test_ordinals_are_columns_too(reader: Client, stored: tuple[str, str]) -> None:
    kind, dataset = stored
    assert reader.get(dataset, columns=[5, 0]).equals(source(kind).select([5, 0]))


def test_tickets_of_flight_info_read_the_same(reader: Client, stored: tuple[str, str]) -> None:
    kind, dataset = stored
    info = reader.info(dataset, columns=["id"])
    assert len(info.endpoints) == 1
    assert list(info.endpoints[0].locations) == []
    got = reader.flight.do_get(info.endpoints[0].ticket).read_all()
    assert got.equals(source(kind).select(["id"]))


def test_a_plain_name_is_a_ticket(reader: Client, stored: tuple[str, str]) -> None:
    kind, dataset = stored
    assert reader.flight.do_get(fl.Ticket(dataset.encode())).read_all().equals(source(kind))


def test_schema_call_agrees(reader: Client, stored: tuple[str, str]) -> None:
    kind, dataset = stored
    answer = reader.flight.get_schema(fl.FlightDescriptor.for_path(*dataset.split("/")))
    assert answer.schema.equals(source(kind).schema, check_metadata=True)


@pytest.mark.parametrize("codec", CODECS)
def test_kept_batches_are_counted_to_the_byte(client: Client, name: str, codec: str) -> None:
    data = chunked(source("flat"), 10_000)
    facts = client.put(name, data, codec=codec, batching="keep")
    assert facts["batches"] == ROWS // 10_000
    assert facts["decoded_bytes"] == tables.plain_bytes(data)
    assert client.info(name).total_bytes == tables.plain_bytes(data)
    for column in data.column_names:
        assert client.info(name, columns=[column]).total_bytes == tables.plain_bytes(data.select([column]))
    sizes = [c.data.num_rows for c in client.flight.do_get(fl.Ticket(name.encode()))]
    assert sizes == [10_000] * (ROWS // 10_000)


def test_slices_are_stored_as_their_rows(client: Client, name: str) -> None:
    data = source("nested").slice(12_345, 54_321)
    client.put(name, data)
    assert client.get(name).equals(data)
