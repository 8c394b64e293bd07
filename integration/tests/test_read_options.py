"""The keys of a read command that shape the stream: limit, max_message_bytes, batch_metadata, generation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.flight as fl
import pytest

import tables
import wiretool
from service import Client, Server, command_of, counted

ROWS = 200_000


@pytest.fixture(scope="module")
def data() -> pa.Table:
    return tables.table("flat", ROWS)


@pytest.fixture(scope="module", params=["none", "lz4", "zstd"])
def stored(request: pytest.FixtureRequest, server: Server, data: pa.Table) -> Iterator[str]:
    dataset = f"options/{request.param}"
    with server.client() as client:
        client.put(dataset, data, codec=request.param)
        yield dataset
        client.drop(dataset)


@pytest.mark.parametrize("limit", [0, 1, 9_999, 65_537, ROWS, ROWS + 1])
def test_limit_cuts_the_stream_and_the_totals(client: Client, stored: str, data: pa.Table, limit: int) -> None:
    info = client.info(stored, limit=limit)
    assert info.total_records == min(limit, ROWS)
    assert client.get(stored, limit=limit).equals(data.slice(0, limit))
    assert client.flight.do_get(info.endpoints[0].ticket).read_all().equals(data.slice(0, limit))


def test_limit_sends_no_more_batches_than_it_needs(client: Client, stored: str) -> None:
    with counted(client) as grown:
        client.get(stored, limit=10)
    assert grown["batches_sent"] == 1
    assert grown["rows_out"] == 10


@pytest.mark.parametrize("wire", ["stored", "none"])
def test_messages_are_no_larger_than_asked(
    server: Server, stored: str, data: pa.Table, tmp_path: Path, wire: str
) -> None:
    ticket = command_of(stored, max_message_bytes=100_000, wire=wire)
    report = wiretool.get(server.address, ticket, tmp_path / "small")
    assert report["code"] == "OK"
    assert report["largest"] <= 100_000
    with pa.OSFile(str(tmp_path / "small"), "rb") as source:
        assert pa.ipc.open_stream(source).read_all().equals(data)


def test_batch_metadata_tells_of_each_batch(client: Client, stored: str) -> None:
    chunks = list(client.flight.do_get(fl.Ticket(command_of(stored, batch_metadata=True))))
    facts = [json.loads(chunk.app_metadata.to_pybytes()) for chunk in chunks]
    assert [f["rows"] for f in facts] == [chunk.data.num_rows for chunk in chunks]
    assert facts[0]["batch"] == 0
    assert all(chunk.app_metadata is None for chunk in client.flight.do_get(fl.Ticket(command_of(stored))))


def test_a_generation_can_be_named_while_it_lives(client: Client, stored: str, data: pa.Table) -> None:
    generation = client.describe(stored)["generation"]
    assert client.info(stored, generation=generation).total_records == ROWS
    assert client.get(stored, generation=generation, columns=["k"]).equals(data.select(["k"]))


def test_a_running_read_can_be_cancelled(client: Client, stored: str, data: pa.Table) -> None:
    for _ in range(50):
        reader = client.flight.do_get(fl.Ticket(stored.encode()))
        assert reader.read_chunk().data.num_rows > 0
        reader.cancel()
    charge = client.describe(stored)["stored_bytes"]
    assert client.get(stored).equals(data)
    assert client.settled_charge(client.charged()) >= charge
