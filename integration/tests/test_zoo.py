"""What is put comes back exactly, schema metadata included, whatever its type, codec, batching, projection and wire."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.flight as fl
import pytest

import compare
import tables
import wiretool
import zoo
from service import Client, Server, command_of, counted

ROWS = 250
CODECS = ["none", "lz4", "zstd"]
TABLES = {group: zoo.table(arrays, ROWS) for group, arrays in zoo.GROUPS.items()}
TABLES |= {shape: make(ROWS if shape != "5000 columns" else 3) for shape, make in zoo.TABLES.items()}
NO_ROWS = {f"no rows of {name}": table.slice(0, 0) for name, table in TABLES.items()}


def _batches(data: pa.Table, sizes: list[int]) -> list[pa.RecordBatch]:
    """The rows of ``data`` in batches of ``sizes``, which are used again and again."""
    batches, at, turn = [], 0, 0
    whole = data.combine_chunks().to_batches()[0] if data.num_rows else None
    while at < data.num_rows:
        size = sizes[turn % len(sizes)]
        batches.append(whole.slice(at, size))
        at, turn = at + size, turn + 1
    return batches


@pytest.fixture(scope="module")
def reader(server: Server) -> Iterator[Client]:
    with server.client() as connected:
        yield connected


def _projections(data: pa.Table) -> list[list[int]]:
    """Orders of ordinals: all backwards, every other one, one of the middle twice, and none."""
    last = data.num_columns - 1
    if last < 0:
        return [[]]
    return [list(range(last, -1, -1)), list(range(0, last + 1, 2)), [last // 2, last // 2], []]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("table", [*TABLES, *NO_ROWS])
def test_every_read_of_every_put(reader: Client, name: str, table: str, codec: str) -> None:
    data = (TABLES | NO_ROWS)[table]
    for sizes, batching in (([ROWS], "auto"), ([7, 13, 0, 1], "auto"), ([101], "keep")):
        batches = _batches(data, sizes)
        facts = reader.put_batches(name, data.schema, batches, codec=codec, batching=batching)
        assert facts["rows"] == data.num_rows
        compare.assert_same(reader.get(name), data)
        compare.assert_same(reader.get(name, wire="none"), data)
        for columns in _projections(data):
            for wire in ("stored", "none"):
                got = reader.get(name, columns=columns, wire=wire)
                if columns:
                    compare.assert_same(got, data.select(columns))
                else:
                    assert (got.num_rows, got.num_columns) == (data.num_rows, 0)
        info = reader.info(name, columns=_projections(data)[0])
        assert info.schema.equals(compare.as_read(data.select(_projections(data)[0]).schema), check_metadata=True)
        if batching == "keep":
            chunks = reader.flight.do_get(fl.Ticket(command_of(name)))
            assert [c.data.num_rows for c in chunks] == [b.num_rows for b in batches]
    reader.drop(name)


WRITERS = {
    "lz4": pa.ipc.IpcWriteOptions(compression="lz4"),
    "zstd": pa.ipc.IpcWriteOptions(compression="zstd"),
    "metadata of version 4": pa.ipc.IpcWriteOptions(metadata_version=pa.ipc.MetadataVersion.V4),
}


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("table", TABLES)
def test_what_other_writers_send(reader: Client, name: str, table: str, writer: str, codec: str) -> None:
    """Batches that arrive compressed, or in the older version of the format, in which unions have a validity buffer."""
    data, options = TABLES[table], fl.FlightCallOptions(write_options=WRITERS[writer])
    for sizes in ([ROWS], [17]):
        reader.put_batches(name, data.schema, _batches(data, sizes), options, codec=codec)
        for wire in ("stored", "none"):
            compare.assert_same(reader.get(name, wire=wire), data)
    reader.drop(name)


@pytest.fixture(scope="module", params=CODECS)
def everything(request: pytest.FixtureRequest, server: Server) -> Iterator[tuple[str, pa.Table]]:
    """One table with every type side by side, large enough to be cut."""
    data = zoo.table(zoo.ARRAYS, 5000)
    dataset = f"zoo/{request.param}"
    with server.client() as client:
        client.put(dataset, data, codec=request.param)
        yield dataset, data
        client.drop(dataset)


@pytest.mark.parametrize("wire", ["stored", "none"])
def test_messages_cut_small(server: Server, everything: tuple[str, pa.Table], wire: str, tmp_path: Path) -> None:
    dataset, data = everything
    ticket = command_of(dataset, max_message_bytes=65_536, wire=wire)
    report = wiretool.get(server.address, ticket, tmp_path / "cut")
    assert report["code"] == "OK", report
    schema_bytes = len(wiretool.split(data.schema.serialize())[0])
    assert report["largest"] <= max(65_536, schema_bytes + 64)
    assert report["messages"] > 10
    with pa.OSFile(str(tmp_path / "cut"), "rb") as source:
        compare.assert_same(pa.ipc.open_stream(source).read_all(), data)


def test_a_column_of_everything_alone(client: Client, everything: tuple[str, pa.Table]) -> None:
    dataset, data = everything
    for ordinal in range(data.num_columns):
        compare.assert_same(client.get(dataset, columns=[ordinal]), data.select([ordinal]))


@pytest.mark.parametrize("kind", zoo.ARRAYS)
def test_a_small_slice_is_small_on_the_wire(client: Client, name: str, kind: str) -> None:
    whole = zoo.table({"it": zoo.ARRAYS[kind]}, 20_000)
    data = whole.slice(10_001, 10)
    client.put(name, data, codec="none")
    with counted(client) as grown:
        compare.assert_same(client.get(name), data)
    # A schema message, a batch header and ten rows, of which the longest has five levels and some hundred bytes.
    assert grown["bytes_out"] < 6000
    client.drop(name)


def _first_header(stream: Path) -> bytes:
    """The header of the first message of an IPC stream."""
    data = stream.read_bytes()
    return data[8 : 8 + int.from_bytes(data[4:8], "little")]


@pytest.mark.parametrize("table", [*TABLES, "repeated metadata keys"])
def test_the_schema_message_is_the_one_that_was_put(
    server: Server, client: Client, name: str, table: str, tmp_path: Path
) -> None:
    if table == "repeated metadata keys":
        twice = pa.KeyValueMetadata([("k", "1"), ("k", "2"), (b"\xff", b"\x00"), ("k", "")])
        data = pa.Table.from_batches([], pa.schema([pa.field("n", pa.int8(), metadata=twice)], metadata=twice))
    else:
        data = TABLES[table]
    client.put(name, data)
    wiretool.get(server.address, name.encode(), tmp_path / "stream")
    sent, put = _first_header(tmp_path / "stream"), wiretool.split(data.schema.serialize())[0]
    assert sent[: len(put)] == put
    assert not any(sent[len(put) :])  # zeros, which align what comes behind it
    assert len(sent) < len(put) + 15
    client.drop(name)


@pytest.mark.parametrize("codec", CODECS)
def test_metadata_of_a_batch_stays_with_it(
    server: Server, client: Client, name: str, codec: str, tmp_path: Path
) -> None:
    data = tables.table("flat", 30, batch_rows=10)
    notes = [{b"k\xff": b"\x00\xfe", b"": b""}, None, {b"k": b"last"}]
    messages = [wiretool.message(wiretool.split(data.schema.serialize())[0], command=command_of(name, codec=codec))]
    for batch, note in zip(data.to_batches(), notes, strict=True):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, data.schema) as writer:
            writer.write_batch(batch, custom_metadata=note)
        _, message = pa.ipc.MessageReader.open_stream(sink.getvalue())
        messages.append(wiretool.message(message.metadata.to_pybytes(), message.body.to_pybytes()))
    assert wiretool.put(server.address, messages)["code"] == "OK"
    for wire in ("stored", "none"):
        report = wiretool.get(server.address, command_of(name, wire=wire, columns=["k"]), tmp_path / wire)
        assert report["code"] == "OK"
        with pa.OSFile(str(tmp_path / wire), "rb") as source:
            got = [
                (b.num_rows, m and dict(m)) for b, m in pa.ipc.open_stream(source).iter_batches_with_custom_metadata()
            ]
        assert got == [(10, note) for note in notes]
