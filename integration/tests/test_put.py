"""Put modes, the facts they answer with, and streams with little or nothing in them."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.flight as fl
import pytest

import tables
from service import Client, chunked

FACT_KEYS = {"dataset", "generation", "rows", "batches", "decoded_bytes", "stored_bytes", "codec", "columns"}


def test_a_path_descriptor_names_a_dataset(client: Client, name: str) -> None:
    data = tables.table("flat", 1000)
    facts = client.put_to(fl.FlightDescriptor.for_path(*name.split("/")), data.schema, data.to_batches())
    assert (facts["dataset"], facts["rows"]) == (name, 1000)
    assert client.get(name).equals(data)


def test_put_describe_and_info_tell_the_same_facts(client: Client, name: str) -> None:
    data = pa.table({"n": [3, None, 1], "s": ["b", "a", None], "f": [0.5, float("nan"), -2.0]})
    put = client.put(name, data)
    assert put.keys() >= FACT_KEYS
    # What a dataset has beside its newest generation, only describe tells.
    assert client.describe(name) == {
        **put,
        "pinned": False,
        "leases": 0,
        "leased_bytes": 0,
        "plain_bytes": 0,
        "memory_bytes": put["stored_bytes"],
        "file_bytes": 0,
    }
    assert json.loads(client.info(name).app_metadata) == put
    n, s, f = put["columns"]
    assert (n["name"], n["type"], n["null_count"]) == ("n", "int64", 1)
    assert (s["name"], s["type"], s["null_count"]) == ("s", "string", 1)
    assert (f["name"], f["type"], f["null_count"]) == ("f", "double", 0)
    assert sum(c["decoded_bytes"] for c in put["columns"]) == put["decoded_bytes"]
    assert sum(c["stored_bytes"] for c in put["columns"]) <= put["stored_bytes"]


def test_replace_is_the_default_and_makes_a_new_generation(client: Client, name: str) -> None:
    first = client.put(name, pa.table({"n": [1, 2, 3]}))
    second = client.put(name, pa.table({"other": ["x"]}))
    assert first["generation"] != second["generation"]
    assert client.get(name).to_pydict() == {"other": ["x"]}


def test_append_adds_rows_at_the_end_and_creates_what_is_absent(client: Client, name: str) -> None:
    metadata = {"kept": "first"}
    first = pa.table({"n": [1, 2]}).replace_schema_metadata(metadata)
    client.put(name, first, mode="append")
    facts = client.put(name, pa.table({"n": [3]}).replace_schema_metadata({"kept": "never"}), mode="append")
    assert facts["rows"] == 3
    got = client.get(name)
    assert got.to_pydict() == {"n": [1, 2, 3]}
    assert got.schema.metadata == {b"kept": b"first"}


def test_appends_under_other_codecs_read_as_one(client: Client, name: str) -> None:
    data = tables.table("flat", 60_000)
    for i, codec in enumerate(["none", "lz4", "zstd"]):
        client.put(name, data.slice(i * 20_000, 20_000), mode="append", codec=codec)
    assert client.get(name).equals(data)
    assert client.get(name, columns=["s2", "id"]).equals(data.select(["s2", "id"]))


def test_create_makes_what_is_absent(client: Client, name: str) -> None:
    assert client.put(name, pa.table({"n": [1]}), mode="create")["rows"] == 1


@pytest.mark.parametrize("batches", [0, 1, 3], ids=lambda n: f"{n} empty batches")
@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
def test_a_dataset_may_have_no_rows(client: Client, name: str, batches: int, codec: str) -> None:
    empty = tables.table("nested", 0)
    facts = client.put_batches(name, empty.schema, list(tables.batches("nested", 0)) * batches, codec=codec)
    assert (facts["rows"], facts["decoded_bytes"]) == (0, 0) or batches
    info = client.info(name)
    assert info.total_records == 0
    assert len(info.endpoints) == 1
    for keys in ({}, {"columns": ["deep.n.v"]}, {"columns": []}):
        assert client.get(name, **keys).num_rows == 0
    assert client.get(name).schema.equals(empty.schema)
    client.put(name, tables.table("nested", 10), mode="append")
    assert client.get(name).equals(tables.table("nested", 10))


def test_empty_batches_among_others_change_nothing(client: Client, name: str) -> None:
    data = tables.table("flat", 30)
    batches = data.to_batches(max_chunksize=10)
    nothing = next(tables.batches("flat", 0))
    client.put_batches(name, data.schema, [nothing, batches[0], nothing, batches[1], batches[2], nothing])
    assert client.get(name).equals(data)


def test_rows_guards_a_put(client: Client, name: str) -> None:
    data = tables.table("flat", 1000)
    assert client.put(name, data, rows=1000)["rows"] == 1000
    with pytest.raises(pa.ArrowInvalid, match=r"999.*1000|1000.*999"):
        client.put(name, data.slice(0, 999), rows=1000)
    assert client.info(name).total_records == 1000


def test_one_huge_batch_is_cut_and_small_ones_are_joined(client: Client, name: str) -> None:
    data = tables.table("flat", 300_000)
    whole = client.put(name, chunked(data, None), codec="none")
    assert whole["batches"] > 1
    joined = client.put(name, chunked(data, 1000), codec="none")
    assert joined["batches"] < 300
    kept = client.put(name, chunked(data, 1000), codec="none", batching="keep")
    assert kept["batches"] == 300
    assert client.get(name).equals(data)


def test_statistics_count_the_traffic(client: Client, name: str) -> None:
    data = tables.table("flat", 5000)
    before = client.stats()
    client.put(name, data)
    client.get(name)
    client.get(name, columns=["id"])
    after = client.stats()
    assert after["puts"] - before["puts"] == 1
    assert after["gets"] - before["gets"] == 2
    assert after["rows_in"] - before["rows_in"] == 5000
    assert after["rows_out"] - before["rows_out"] == 10_000
    assert after["bytes_in"] > before["bytes_in"]
    assert after["bytes_out"] > before["bytes_out"]
    assert after["datasets"] - before["datasets"] == 1


def test_batches_that_arrive_compressed_are_understood(client: Client, name: str) -> None:
    data = tables.table("flat", 100_000)
    for codec in ["lz4", "zstd"]:
        options = fl.FlightCallOptions(write_options=pa.ipc.IpcWriteOptions(compression=codec))
        for stored in ["none", "lz4", "zstd"]:
            client.put(name, data, options, codec=stored)
            assert client.get(name).equals(data), (codec, stored)
