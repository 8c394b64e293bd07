"""What can be put, and that it is there whole or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import flightcache
import tables
from conftest import nothing_left
from flightcache import Client, _sources

DATA = tables.table("flat", 50_000)
MIB = 1 << 20


def reader(batches: Iterator[pa.RecordBatch] | None = None) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(DATA.schema, iter(DATA.to_batches()) if batches is None else batches)


class Capsule:
    """Some other library's stream."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return DATA.__arrow_c_stream__(requested_schema)


SOURCES: dict[str, Callable[[], Any]] = {
    "table": lambda: DATA,
    "reader": reader,
    "dataset": lambda: ds.dataset(DATA),
    "scanner": lambda: ds.dataset(DATA).scanner(),
    "pandas": lambda: DATA.to_pandas(),
    "polars": lambda: pl.DataFrame(DATA),
    "duckdb": lambda: duckdb.from_arrow(DATA),
    "capsule": Capsule,
}


@pytest.mark.parametrize("mode", ["replace", "append", "create"])
@pytest.mark.parametrize("kind", SOURCES)
def test_sources(client: Client, name: str, kind: str, mode: str) -> None:
    facts = client.put(name, SOURCES[kind](), mode=mode)
    assert facts["rows"] == DATA.num_rows
    got = client.get(name)
    if kind == "pandas":
        assert got.to_pandas().equals(DATA.to_pandas())
    elif kind == "polars":
        assert pl.DataFrame(got).equals(pl.DataFrame(DATA))
    else:
        assert got.cast(DATA.schema).equals(DATA)


def test_one_batch(client: Client, name: str) -> None:
    batch = DATA.to_batches()[0]
    assert client.put(name, batch)["rows"] == batch.num_rows
    assert client.get(name).equals(pa.table(batch))


def test_from_the_same_server(client: Client, name: str) -> None:
    client.put(name, DATA)
    client.put(f"{name}/copy", client.dataset(name).scanner(columns=["id", "k"], filter=ds.field("k") == 7))
    assert client.get(f"{name}/copy").equals(DATA.filter(ds.field("k") == 7).select(["id", "k"]))
    relation = duckdb.from_arrow(client.dataset(name)).aggregate("k, count(*) AS n").order("k")
    client.put(f"{name}/sums", relation)
    assert client.count(f"{name}/sums") == 876  # seven eighths of the numbers, and null
    client.put(name, client.dataset(name), mode="append")
    assert client.count(name) == 2 * DATA.num_rows


def test_an_index_comes_back(client: Client, name: str) -> None:
    frame = pd.DataFrame({"x": [1.5, np.nan]}, index=pd.Index(["a", "b"], name="key"))
    client.put(name, frame)
    pd.testing.assert_frame_equal(client.get(name).to_pandas(), frame)


@pytest.mark.parametrize("data", [[{"a": 1}], {"a": [1]}, 5, "text", None], ids=str)
def test_what_has_no_batches(client: Client, name: str, data: object) -> None:
    with pytest.raises(TypeError, match="has no record batches"):
        client.put(name, data)
    assert client.list(name) == []
    nothing_left(client)


def test_no_rows(client: Client, name: str) -> None:
    for data in (DATA.slice(0, 0), reader(iter(())), DATA.to_batches()[0].slice(0, 0)):
        assert client.put(name, data)["rows"] == 0
        assert client.get(name).equals(DATA.slice(0, 0))


def test_large_batches_are_cut(client: Client, name: str) -> None:
    large = tables.table("flat", 500_000, batch_rows=500_000)
    (batch,) = large.to_batches()
    pieces = list(_sources.pieces(batch))
    assert batch.nbytes > 30 * MIB
    assert all(piece.nbytes <= 17 * MIB for piece in pieces)
    assert client.put(name, large)["rows"] == 500_000
    assert client.get(name, ["id", "s3"]).equals(large.select(["id", "s3"]))
    one_row = pa.table({"t": ["x" * (20 * MIB)]})
    assert len(list(_sources.pieces(one_row.to_batches()[0]))) == 1
    client.put(name, one_row)
    assert client.get(name).equals(one_row)


def test_batches_are_sent_as_they_are_produced(client: Client, name: str) -> None:
    """The server has the first ones before the last ones exist."""
    (large,) = tables.batches("flat", 60_000, batch_rows=60_000)
    staged = []

    def many() -> Iterator[pa.RecordBatch]:
        for _ in range(40):
            staged.append(client.server_stats()["staged_bytes"])
            yield large

    client.put(name, pa.RecordBatchReader.from_batches(large.schema, many()), codec="none")
    assert client.count(name) == 40 * large.num_rows
    assert staged[0] == 0
    assert staged[-1] > 20 * MIB
    client.drop(name)


class Boom(Exception):
    pass


def failing(after: int, error: BaseException) -> Iterator[pa.RecordBatch]:
    yield from DATA.to_batches()[:after]
    raise error


@pytest.mark.parametrize("mode", ["replace", "append", "create"])
@pytest.mark.parametrize("after", [0, 1, 5])
@pytest.mark.parametrize(
    "error", [Boom("no more"), KeyboardInterrupt(), pa.ArrowInvalid("bad"), KeyError("k")], ids=repr
)
def test_a_producer_that_fails_leaves_nothing(
    client: Client, name: str, error: BaseException, after: int, mode: str
) -> None:
    before = DATA.slice(0, 10)
    if mode != "create":
        client.put(name, before)
    with pytest.raises(type(error)) as raised:
        client.put(name, reader(failing(after, error)), mode=mode)
    assert not isinstance(raised.value, flightcache.FlightcacheError)
    if mode == "create":
        assert client.list(name) == []
    else:
        assert client.get(name).equals(before)
    nothing_left(client)


def test_an_interrupt_of_a_table(client: Client, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C between two batches, of a source whose rows are known."""

    def pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        yield batch.slice(0, 100)
        raise KeyboardInterrupt

    monkeypatch.setattr(_sources, "pieces", pieces)
    with pytest.raises(KeyboardInterrupt):
        client.put(name, DATA)
    assert client.list(name) == []
    nothing_left(client)


def test_what_the_server_refuses(client: Client, name: str) -> None:
    for data in (DATA, reader()):
        with pytest.raises(flightcache.BadRequest, match="declared order"):
            client.put(name, data, sorted_by=["-id"])
    with pytest.raises(flightcache.BadRequest, match="codec"):
        client.put(name, DATA, codec="snappy")
    with pytest.raises(flightcache.BadRequest, match="mode"):
        client.put(name, reader(), mode="upsert")
    with pytest.raises(flightcache.Refused, match="--data-dir"):
        client.put(name, DATA, durable=True)
    client.put(name, DATA)
    with pytest.raises(flightcache.BadRequest, match="schema"):
        client.put(name, DATA.select(["id"]), mode="append")
    assert client.count(name) == DATA.num_rows
    nothing_left(client)


def test_options_reach_the_server(client: Client, name: str) -> None:
    for data in (DATA.slice(0, 5).select(["v"]), reader()):
        keys = {"codec": "zstd", "level": 3, "encode": "now", "batching": "keep", "dictionaries": "keep", "ttl": 600}
        client.put(name, data, **keys, pin=True, durable=False, put_id=f"one {data}"[:80])
        facts = client.info(name)
        assert (facts["codec"], facts["pinned"]) == ("zstd", True)
        assert facts["expires"] > facts["created"]
    client.put(name, pa.table({"x": [1, 2]}), sorted_by=("x",))
    assert client.info(name)["sorted_by"] == ["x"]


def test_a_put_id_stores_once(client: Client, name: str) -> None:
    for data in (DATA, DATA):
        assert client.put(name, data, mode="append", put_id="day 1")["rows"] == DATA.num_rows
    assert client.count(name) == DATA.num_rows


def _put_and_fail(client: Client, name: str) -> None:
    with client.transaction(name, mode="replace") as transaction:
        transaction.put(DATA)
        raise Boom


def test_transactions(client: Client, name: str) -> None:
    client.put(name, DATA.slice(0, 10))
    with client.transaction(name) as transaction:
        transaction.put(DATA.slice(10, 10))
        transaction.put(reader())
        assert client.count(name) == 10
    assert transaction.facts is not None
    assert transaction.facts["rows"] == client.count(name) == 20 + DATA.num_rows
    with pytest.raises(Boom):
        _put_and_fail(client, name)
    assert client.count(name) == 20 + DATA.num_rows
    with client.transaction(name, mode="replace") as transaction:
        transaction.put(DATA.slice(0, 1))
        with pytest.raises(Boom):
            transaction.put(reader(failing(2, Boom())))
        transaction.put(DATA.slice(1, 1), codec="lz4")
        assert transaction.commit()["rows"] == 2
        with pytest.raises(flightcache.TransactionNotFound, match="begin another"):
            transaction.put(DATA)
    assert client.get(name).equals(DATA.slice(0, 2))
    with pytest.raises(flightcache.TransactionNotFound), client.transaction(name) as transaction:
        transaction.abort()
    nothing_left(client)


def test_a_transaction_of_many_threads(client: Client, name: str) -> None:
    parts = [DATA.slice(start, 5_000) for start in range(0, 50_000, 5_000)]
    with client.transaction(name, mode="create") as transaction:
        threads = [threading.Thread(target=transaction.put, args=(part,)) for part in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert client.count(name) == DATA.num_rows
    order = [("v", "ascending"), ("s3", "ascending")]
    assert client.get(name).sort_by(order).equals(DATA.sort_by(order))


def test_streams_are_not_collected(client: Client, name: str, tmp_path: Path) -> None:
    """A file of 200 MiB is put by a process that has much less for it."""
    (batch,) = tables.batches("flat", 100_000, batch_rows=100_000)
    path = tmp_path / "large.arrow"
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        for _ in range(32):
            writer.write_batch(batch)
    most = 0

    def watch(rows: int, size: int) -> None:
        nonlocal most
        most = max(most, pa.total_allocated_bytes())

    with pa.OSFile(str(path)) as file:
        source = pa.ipc.open_file(file)
        batches = (source.get_batch(number) for number in range(source.num_record_batches))
        before = pa.total_allocated_bytes()
        facts = client.put(name, pa.RecordBatchReader.from_batches(source.schema, batches), progress=watch)
    assert facts["rows"] == 32 * batch.num_rows
    assert most - before < 60 * MIB
    client.drop(name)
