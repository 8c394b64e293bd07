"""What a type asks of the service beyond coming back: what clients do without it, and what must be refused."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.flight as fl
import pytest

import compare
import wiretool
import zoo
from service import Client, Server, command_of


def _read(path: Path) -> pa.Table:
    with pa.OSFile(str(path), "rb") as source:
        return pa.ipc.open_stream(source).read_all()


def test_rows_of_nulls_are_rows(client: Client, name: str) -> None:
    nulls = pa.table({"nothing": pa.nulls(3)})
    facts = client.put_batches(name, nulls.schema, nulls.to_batches() * 2)
    assert facts["rows"] == 6
    assert client.get(name).num_rows == 6
    assert client.info(name).total_records == 6


def test_a_null_column_can_be_left_out(server: Server, client: Client, name: str, tmp_path: Path) -> None:
    """For clients that know no null type: neither the schema nor a field node of it is on the wire."""
    client.put(name, pa.table({"nothing": pa.nulls(3), "n": [1, 2, 3]}))
    wiretool.get(server.address, command_of(name, columns=["n"]), tmp_path / "out")
    assert b"nothing" not in (tmp_path / "out").read_bytes()
    assert _read(tmp_path / "out").to_pydict() == {"n": [1, 2, 3]}


def test_a_stream_has_no_empty_batches_between_rows(client: Client, name: str) -> None:
    some = pa.table({"n": [1, 2, 3]}).to_batches()[0]
    empty = some.slice(0, 0)
    for batching in ("auto", "keep"):
        client.put_batches(name, some.schema, [empty, some, empty, empty, some, empty], batching=batching)
        for keys in ({}, {"wire": "none"}, {"columns": []}):
            chunks = [c.data.num_rows for c in client.flight.do_get(fl.Ticket(command_of(name, **keys)))]
            assert 0 not in chunks
            assert sum(chunks) == 6


def test_a_stream_has_one_schema(server: Server, client: Client, name: str, tmp_path: Path) -> None:
    """What is kept of a batch has none: each further message is as large as its batch alone."""
    data = pa.table({f"a column with a long name {i}": [i] for i in range(50)})
    client.put_batches(name, data.schema, data.to_batches() * 20, batching="keep")
    report = wiretool.get(server.address, name.encode(), tmp_path / "out")
    assert report["messages"] == 21
    assert (tmp_path / "out").read_bytes().count(b"a column with a long name 7\0") == 1


def test_batch_sizes_that_are_zero_only(client: Client, name: str) -> None:
    empty = pa.table({"n": pa.array([], pa.int64())})
    client.put_batches(name, empty.schema, [pa.record_batch(empty.to_pydict(), empty.schema)] * 3, batching="keep")
    compare.assert_same(client.get(name), empty)


def test_columns_are_told_by_ordinal_where_names_do_not(client: Client, name: str) -> None:
    data = zoo.TABLES["names that are empty, repeated, dotted or numbers"](5)
    client.put(name, data)
    for ordinal in range(data.num_columns):
        compare.assert_same(client.get(name, columns=[ordinal]), data.select([ordinal]))
    compare.assert_same(client.get(name, columns=["a.b"]), data.select([4]))
    compare.assert_same(client.get(name, columns=["0"]), data.select([5]))
    for repeated in ("", "n"):
        with pytest.raises(pa.ArrowInvalid, match=name):
            client.get(name, columns=[repeated])


UNSIGNED = {f"uint{bits}": [0, 2**bits - 1, 2 ** (bits - 1)] for bits in (8, 16, 32, 64)}


@pytest.mark.parametrize("kind", UNSIGNED)
def test_unsigned_integers_stay_unsigned(client: Client, name: str, kind: str) -> None:
    data = pa.table({"n": pa.array(UNSIGNED[kind], kind)})
    facts = client.put(name, data)
    assert facts["columns"][0]["type"] == kind
    assert client.get(name)["n"].to_pylist() == UNSIGNED[kind]


@pytest.mark.parametrize("bits", [32, 64, 128, 256])
def test_decimals_keep_their_width(client: Client, name: str, bits: int) -> None:
    made = {k: m for k, m in zoo.ARRAYS.items() if k.startswith(f"decimal{bits} ")}
    data = zoo.table(made, 100)
    facts = client.put(name, data, codec="none", batching="keep")
    for column, kind in zip(facts["columns"], data.schema.types, strict=True):
        assert str(bits) in column["type"]
        assert column["decoded_bytes"] == 100 * bits // 8 + 13
        assert kind.bit_width == bits
    compare.assert_same(client.get(name), data)


@pytest.mark.parametrize("parts", [1, 40])
def test_runs_that_are_sliced_and_joined(client: Client, name: str, parts: int) -> None:
    """Each batch is another slice of the same runs, and not in their order."""
    runs = {k: m for k, m in zoo.ARRAYS.items() if k.startswith("runs")}
    whole = zoo.table(runs, 900).to_batches()[0]
    slices = [whole.slice((part * 631) % 800, 17 + part) for part in range(parts)]
    want = pa.Table.from_batches(slices)
    client.put_batches(name, want.schema, slices)
    compare.assert_same(client.get(name), want)
    compare.assert_same(client.get(name, columns=[1], wire="none"), want.select([1]))


def test_an_unknown_extension_is_passed_through(client: Client, name: str) -> None:
    """By metadata alone: no side registers the type, its parameters are no text, its storage is nested."""
    mark = {"ARROW:extension:name": "acme.point", "ARROW:extension:metadata": b"\xff\x00{", "other": "kept"}
    point = pa.struct({"x": pa.float64(), "y": pa.float64()})
    schema = pa.schema(
        [pa.field("p", point, metadata=mark), pa.field("l", pa.list_(pa.field("item", point, metadata=mark)))]
    )
    data = pa.table(
        [pa.array([{"x": 1, "y": 2}, None], point), pa.array([[{"x": 3, "y": 4}], []], schema[1].type)], schema
    )
    client.put(name, data)
    compare.assert_same(client.get(name), data)
    assert (
        client.get(name, columns=["l"]).schema.field("l").type.value_field.metadata[b"ARROW:extension:metadata"]
        == b"\xff\x00{"
    )
    assert client.get(name, columns=["p.y"]).to_pydict() == {"p": [{"y": 2.0}, None]}


def test_more_columns_than_the_limit_are_refused_with_it(client: Client, name: str) -> None:
    data = pa.table([pa.array([1])] * 100_000, names=[f"c{i}" for i in range(100_000)])
    charge = client.charged()
    with pytest.raises(pa.ArrowInvalid, match=r"20,?000"):
        client.put(name, data)
    assert client.settled_charge(charge) == charge


def test_duckdb_and_polars_read_what_they_know(server: Server, client: Client, name: str, tmp_path: Path) -> None:
    """Types that only some readers know, and the readers that do: DuckDB runs and views, polars views."""
    of = ["runs of text", "runs of numbers by 16 bits", "string_view", "binary_view", "long views", "int64"]
    data = pa.table({k: zoo.ARRAYS[k](300) for k in of})
    client.put(name, data)
    got = client.get(name)
    rows = duckdb.from_arrow(got).fetchall()
    assert [list(column) for column in zip(*rows, strict=True)] == [c.to_pylist() for c in data.columns]
    views = command_of(name, columns=of[2:], wire="stored")
    wiretool.get(server.address, views, tmp_path / "views")
    frame = pl.read_ipc_stream(tmp_path / "views", use_pyarrow=False)
    assert frame.to_dict(as_series=False) == data.select(of[2:]).to_pydict()
