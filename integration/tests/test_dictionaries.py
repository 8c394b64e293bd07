"""Dictionary-encoded columns: every index and value type, nested ones, and dictionaries that change on the way."""

from __future__ import annotations

import itertools
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.flight as fl
import pytest

import compare
import wiretool
import zoo
from service import Client, Server, command_of

ROWS = 200
CODECS = ["none", "lz4", "zstd"]
READABLE = {kind: make for kind, make in zoo.DICTIONARIES.items() if kind != "of uuid"}
"""pyarrow writes a dictionary of extension values, and does not read it back: it has a test of its own."""
DELTAS = fl.FlightCallOptions(write_options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True))


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("kind", READABLE)
def test_every_read_of_every_put(client: Client, name: str, kind: str, codec: str) -> None:
    arrays = {"before": zoo.ARRAYS["int8"], "it": zoo.DICTIONARIES[kind], "after": zoo.DICTIONARIES["by int8"]}
    for batch_rows, batching in ((ROWS, "auto"), (7, "auto"), (31, "keep")):
        data = zoo.table(arrays, ROWS, batch_rows)
        assert client.put(name, data, codec=codec, batching=batching)["rows"] == ROWS
        for columns, wire in itertools.product(([0, 1, 2], [2, 1], [1], [2], [0]), ("stored", "none")):
            compare.assert_same(client.get(name, columns=columns, wire=wire), data.select(columns))
        assert client.get(name, columns=[]).num_rows == ROWS
    empty = data.slice(0, 0)
    client.put(name, empty, codec=codec)
    compare.assert_same(client.get(name), empty)
    client.drop(name)


@pytest.mark.parametrize("kind", READABLE)
def test_values_in_place_of_indices(client: Client, name: str, kind: str) -> None:
    """For clients that know no dictionaries: the info tells the schema that the stream then has."""
    data = zoo.table({"it": zoo.DICTIONARIES[kind]}, ROWS, 31)
    client.put(name, data)
    got = client.get(name, dictionaries="decode")
    got.validate(full=True)
    assert "dictionary" not in str(got.schema)
    assert got.schema.metadata == data.schema.metadata
    assert got.schema.field(0).metadata == data.schema.field(0).metadata
    want = compare.decoded(data.column(0))
    assert got.column(0).equals(want) or got.column(0).to_pylist() == want.to_pylist()
    info = client.info(name, dictionaries="decode")
    assert info.schema.equals(got.schema, check_metadata=True)
    assert info.total_records == ROWS
    client.drop(name)
    client.put(name, data, dictionaries="decode")
    assert client.get(name).equals(got)
    client.drop(name)


@pytest.mark.parametrize("kind", [None, "by int8", "in a list", "of a struct of dictionaries"])
def test_one_schema_everywhere(client: Client, name: str, kind: str | None) -> None:
    """Info, schema call and stream agree, for no batches, empty batches and rows, whole and projected."""
    arrays = {"n": zoo.ARRAYS["int8"]} | {k: m for k, m in READABLE.items() if kind in (None, k)}
    data = zoo.table(arrays, ROWS)
    nothing = data.slice(0, 0)
    for batches in ([], nothing.combine_chunks().to_batches(), data.to_batches()):
        client.put_batches(name, data.schema, batches)
        assert client.flight.get_schema(fl.FlightDescriptor.for_path(*name.split("/"))).schema.equals(
            data.schema, check_metadata=True
        )
        for keys in ({}, {"columns": [1]}, {"columns": [0]}, {"dictionaries": "decode"}, {"columns": []}):
            schema = client.info(name, **keys).schema
            assert client.get(name, **keys).schema.equals(schema, check_metadata=True)
            if "dictionaries" not in keys:
                want = data.schema if "columns" not in keys else data.select(keys["columns"]).schema
                assert schema.equals(want, check_metadata=True)


def _coded(values: list[object], indices: list[int | None], kind: pa.DataType | None = None) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), pa.array(values, kind))


CHANGING = {
    "replaced": [["a", "b"], ["c", "d"], ["a", "b"]],
    "grown": [["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d", "e"]],
    "grown and cut": [["a", "b"], ["a", "b", "c", "d"], ["a"], ["a", "b"]],
    "in another order": [["a", "b"], ["b", "a"], ["a", "b"]],
    "with repeated values": [["a", "a"], ["b", "a"], ["b", "b", "b"]],
    "from nothing": [[], ["a"], [], ["b", "c"]],
}


def _changing(dictionaries: list[list[str]]) -> tuple[pa.Table, list[str | None]]:
    batches, rows = [], []
    for values in dictionaries:
        indices = [*range(len(values)), None, *reversed(range(len(values)))]
        batches.append(pa.record_batch({"coded": _coded(values, indices, pa.string()), "n": range(len(indices))}))
        rows += [None if i is None else values[i] for i in indices]
    return pa.Table.from_batches(batches), rows


@pytest.mark.parametrize("deltas", [False, True], ids=["replacements", "deltas"])
@pytest.mark.parametrize("batching", ["auto", "keep"])
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("change", CHANGING)
def test_dictionaries_that_change_between_batches(
    server: Server, client: Client, name: str, change: str, codec: str, batching: str, deltas: bool, tmp_path: Path
) -> None:
    data, rows = _changing(CHANGING[change])
    client.put(name, data, DELTAS if deltas else None, codec=codec, batching=batching)
    for keys in ({}, {"wire": "none"}, {"columns": ["coded"]}, {"dictionaries": "decode"}):
        assert client.get(name, **keys)["coded"].to_pylist() == rows
    wiretool.get(server.address, command_of(name, dictionaries="keep"), tmp_path / "out")
    with pa.OSFile(str(tmp_path / "out"), "rb") as source:
        reader = pa.ipc.open_stream(source)
        assert reader.read_all()["coded"].to_pylist() == rows
    # Not every reader knows deltas: none is sent, whatever was put.
    assert reader.stats.num_dictionary_deltas == 0
    frame = pl.read_ipc_stream(tmp_path / "out", use_pyarrow=False)
    assert frame["coded"].to_list() == rows


def test_pandas_like_categories_of_two_appends(client: Client, name: str) -> None:
    for values in (["a", "b"], ["c", "d"]):
        client.put(name, pa.table({"c": _coded(values, [0, 1, None])}), mode="append")
    assert client.get(name)["c"].to_pylist() == ["a", "b", None, "c", "d", None]


@pytest.mark.parametrize("batching", ["auto", "keep"])
def test_the_second_of_two_dictionaries_alone(
    server: Server, client: Client, name: str, batching: str, tmp_path: Path
) -> None:
    batches = [
        pa.record_batch({"one": _coded(["a", "b"], [0, 1]), "two": _coded([f"x{i}", f"y{i}"], [1, 0])})
        for i in range(3)
    ]
    data = pa.Table.from_batches(batches)
    client.put(name, data, batching=batching)
    for columns, sent in ((["two"], range(1, 4)), (["one"], range(1, 2))):
        wiretool.get(server.address, command_of(name, columns=columns), tmp_path / "out")
        with pa.OSFile(str(tmp_path / "out"), "rb") as source:
            reader = pa.ipc.open_stream(source)
            compare.assert_same(reader.read_all(), data.select(columns))
        assert reader.stats.num_dictionary_batches in sent
    compare.assert_same(client.get(name, columns=["two", "one", "two"]), data.select(["two", "one", "two"]))


def test_a_dictionary_by_its_path_in_a_struct(server: Server, client: Client, name: str, tmp_path: Path) -> None:
    data = zoo.table({"s": zoo.DICTIONARIES["in a struct"], "l": zoo.DICTIONARIES["in a list"]}, ROWS)
    client.put(name, data)
    rows = [row and {"coded": row["coded"]} for row in data["s"].to_pylist()]
    assert client.get(name, columns=["s.coded"])["s"].to_pylist() == rows
    wiretool.get(server.address, command_of(name, columns=["s.plain"]), tmp_path / "out")
    with pa.OSFile(str(tmp_path / "out"), "rb") as source:
        reader = pa.ipc.open_stream(source)
        assert reader.read_all()["s"].to_pylist() == [row and {"plain": row["plain"]} for row in data["s"].to_pylist()]
    assert reader.stats.num_dictionary_batches == 0


def test_extension_of_a_dictionary_and_dictionary_of_an_extension(
    server: Server, client: Client, name: str, tmp_path: Path
) -> None:
    """IPC cannot tell one from the other: no side of the server may try. pyarrow reads neither back itself."""
    values = zoo.ARRAYS["uuid"](6)
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 5, None, 2], pa.int8()), values)
    plain = pa.DictionaryArray.from_arrays(coded.indices, values.storage)
    mark = {"ARROW:extension:name": "acme.coded", "ARROW:extension:metadata": ""}
    for array, field in ((coded, pa.field("u", coded.type)), (plain, pa.field("u", plain.type, metadata=mark))):
        data = pa.table([array], pa.schema([field]))
        client.put(name, data, codec="none")
        wiretool.get(server.address, name.encode(), tmp_path / "out")
        stream = (tmp_path / "out").read_bytes()
        header = wiretool.split(data.schema.serialize())[0]
        assert stream[8 : 8 + len(header)] == header
        assert b"0000000000000013" in stream
        assert (
            client.get(name, dictionaries="decode")["u"].cast(values.type.storage_type).to_pylist() == plain.to_pylist()
        )


def test_views_in_dictionaries_that_change(server: Server, client: Client, name: str, tmp_path: Path) -> None:
    """Each dictionary batch has its own count of data buffers: a Rust reader finds its values by them."""
    texts = [["q" * 30, "short"], ["r" * 40, "s" * 50, "t" * 13], ["u" * 100]]
    batches = [pa.record_batch({"v": _coded(t, [0, len(t) - 1, None], pa.string_view())}) for t in texts]
    client.put_batches(name, batches[0].schema, batches, batching="keep")
    rows = [row for t in texts for row in (t[0], t[-1], None)]
    assert client.get(name)["v"].to_pylist() == rows
    wiretool.get(server.address, command_of(name, dictionaries="keep"), tmp_path / "out")
    assert pl.read_ipc_stream(tmp_path / "out", use_pyarrow=False)["v"].to_list() == rows
