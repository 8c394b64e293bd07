"""The client: put, read, look at, take away."""

from __future__ import annotations

import datetime as dt
import decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import compare
import flightcache
import tables
import zoo
from conftest import counted, nothing_left
from flightcache import Client
from service import Server

NESTED = tables.table("nested", 30_000)
f = pc.field


@pytest.fixture
def nested(client: Client, name: str) -> str:
    client.put(name, NESTED)
    return name


def test_three_lines(server: Server) -> None:
    client = flightcache.connect(server.address)
    client.put("three/lines", NESTED)
    assert client.get("three/lines").equals(NESTED)
    client.close()


def test_facts_and_looks(client: Client, name: str) -> None:
    facts = client.put(name, NESTED, codec="lz4", pin=True)
    assert (facts["dataset"], facts["rows"], facts["codec"]) == (name, NESTED.num_rows, "lz4")
    assert client.info(name)["pinned"]
    client.unpin(name)
    assert not client.info(name)["pinned"]
    client.pin(name)
    assert client.info(name)["pinned"]
    client.unpin(name)
    assert client.schema(name).equals(NESTED.schema)
    assert client.count(name) == NESTED.num_rows
    (listed,) = client.list(name)
    assert listed == flightcache.Listed(name, NESTED.num_rows, facts["decoded_bytes"])
    told = client.statistics(name, ["id"], per_batch=True)
    assert told["columns"][0]["max"] == pc.max(NESTED["id"]).as_py()
    assert told["batches"][0]["columns"][0]["path"] == "id"
    assert [c["path"] for c in client.statistics(name)["columns"]][:3] == ["id", "sc", "sc.a"]
    assert client.compact(name)["dataset"] == name
    assert client.server_stats(name)["puts"] == 1
    client.drop(name)
    assert client.list(name) == []
    client.drop(name, missing_ok=True)


@pytest.mark.parametrize("mode", ["replace", "append", "create"])
def test_modes(client: Client, name: str, mode: str) -> None:
    assert client.put(name, NESTED, mode=mode)["rows"] == NESTED.num_rows
    if mode == "create":
        with pytest.raises(flightcache.DatasetExists, match=name):
            client.put(name, NESTED, mode=mode)
    else:
        rows = NESTED.num_rows * (2 if mode == "append" else 1)
        assert client.put(name, NESTED, mode=mode)["rows"] == rows


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
def test_stored_bytes_are_sent_as_they_lie(client: Client, name: str, codec: str) -> None:
    client.put(name, NESTED, codec=codec)
    with counted(client) as grown:
        assert client.get(name).equals(NESTED)
    assert grown["bytes_decoded"] == 0
    assert grown["bytes_out"] <= client.info(name)["stored_bytes"] + 64_000


@pytest.mark.parametrize(
    "columns",
    [
        ["id"],
        ["tail", "id"],
        ["d", "d"],
        ["deep.n.v"],
        ["wide.r", "id", "wide.p"],
        ["sc.b", "sc"],
        [0, "deep"],
        [],
        None,
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "condition", [None, f("id") > 29_000, pc.utf8_length(f("tail")) > 6], ids=["all", "sent", "here"]
)
def test_columns(client: Client, nested: str, columns: list[str | int] | None, condition: pc.Expression | None) -> None:
    named = None if columns is None else [NESTED.column_names[c] if isinstance(c, int) else c for c in columns]
    source = NESTED if condition is None else NESTED.filter(condition)
    got = client.get(nested, columns, condition)
    if columns == []:
        assert got.num_rows == source.num_rows
        assert got.num_columns == 0
    else:
        compare.assert_same(got, compare.expected(source, named))


def test_columns_with_dots_and_twins(client: Client, name: str) -> None:
    inner = pa.array([{"x": 1, "y": 2}, None, {"x": 3, "y": 4}])
    columns = [inner, pa.array([7, 8, 9]), pa.array([4, 5, 6]), pa.array(list("abc")), pa.array(list("xyz"))]
    data = pa.table(columns, names=["s", "s.x", "", "t", "t"])
    client.put(name, data)
    assert client.get(name).equals(data)
    assert client.get(name, ["s.x"]).equals(data.select([1]))
    assert client.get(name, [""]).equals(data.select([2]))
    assert client.get(name, [4, 3]).equals(data.select([4, 3]))
    assert client.get(name, ["s.y"]).column(0).to_pylist() == [{"y": 2}, None, {"y": 4}]
    assert client.get(name, {"x": f("s", "x"), "dot": f("s.x")}).to_pydict() == {"x": [1, None, 3], "dot": [7, 8, 9]}
    for bad in ("t", "s.z", "nope", 5, -1):
        with pytest.raises(flightcache.BadRequest, match=r"column"):
            client.get(name, [bad])


def test_computed_columns_send_what_they_need(client: Client, nested: str) -> None:
    wanted = {"twice": f("deep", "n", "v") * 2, "tail": f("tail")}
    expected = pa.table({"twice": pc.multiply(pc.struct_field(NESTED["deep"], ["n", "v"]), 2), "tail": NESTED["tail"]})
    with counted(client) as grown:
        assert client.get(nested, wanted).equals(expected)
    stored = {c["path"]: c["stored_bytes"] for c in client.statistics(nested)["columns"]}
    assert grown["bytes_out"] < stored["deep.n.v"] + stored["tail"] + 8_000


LISTS = {
    "numbers": ([["id", ">", 100], ["id", "<=", 300]], (f("id") > 100) & (f("id") <= 300)),
    "or": ([[["id", "=", 5]], [["tail", "in", {"t_7", "t_9"}]]], (f("id") == 5) | f("tail").isin(["t_7", "t_9"])),
    "null": ([["tail", "is null"]], f("tail").is_null()),
    "path": ([["deep.n.v", "<", np.int64(9)]], f("deep", "n", "v") < 9),
    "start": ([["tail", "starts with", "t_29"]], pc.starts_with(f("tail"), "t_29")),
    "infinite": ([["d", "<", float("inf")]], f("d") < float("inf")),
    "scalar": ([["id", "=", pa.scalar(77)]], f("id") == 77),
}


@pytest.mark.parametrize("what", LISTS)
def test_filters_in_lists(client: Client, nested: str, what: str) -> None:
    lists, expression = LISTS[what]
    expected = NESTED.filter(expression)
    assert client.get(nested, filters=lists).equals(expected)
    assert client.get(nested, ["id"], lists, 3).equals(expected.select(["id"]).slice(0, 3))
    assert client.count(nested, lists) == expected.num_rows


def test_values_of_filters_in_lists(client: Client, name: str) -> None:
    day, noon = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12)
    rows = {
        "day": [day, day + dt.timedelta(days=1)],
        "at": [noon, noon + dt.timedelta(hours=1)],
        "clock": [noon.time(), dt.time(13)],
        "price": [decimal.Decimal("1.25"), decimal.Decimal("2.50")],
        "raw": [b"\x00\xff", b"\x01"],
        "ok": [True, False],
    }
    data = pa.table(rows)
    client.put(name, data)
    for column, values in rows.items():
        assert client.get(name, filters=[[column, "=", values[0]]]).equals(data.slice(0, 1)), column
    assert client.get(name, filters=[("day", "in", [day])]).equals(data.slice(0, 1))


@pytest.mark.parametrize("limit", [0, 1, 29_999, 10**9])
def test_limits(client: Client, nested: str, limit: int) -> None:
    assert client.get(nested, limit=limit).equals(NESTED.slice(0, limit))
    here = pc.utf8_length(f("tail")) > 6
    assert client.get(nested, ["tail"], here, limit).equals(NESTED.filter(here).select(["tail"]).slice(0, limit))


def test_readers_are_lazy(client: Client, nested: str) -> None:
    with counted(client) as grown:
        reader = client.reader(nested, ["id"], f("id") > 100)
        scanner = client.scanner(nested)
        assert reader.schema.equals(NESTED.select(["id"]).schema)
    assert grown["gets"] == 0
    assert reader.read_all().equals(NESTED.filter(f("id") > 100).select(["id"]))
    assert scanner.to_table().equals(scanner.to_table())
    with pytest.raises(flightcache.BadRequest, match="limit"):
        client.reader(nested, limit=-1)
    nothing_left(client)


def test_counts_read_no_payload(client: Client, nested: str) -> None:
    with counted(client) as grown:
        assert client.count(nested) == NESTED.num_rows
        assert client.count(nested, f("id") >= 0) == NESTED.num_rows - NESTED["id"].null_count
        assert client.count(nested, f("id") > 29_000) == NESTED.filter(f("id") > 29_000).num_rows
        assert client.dataset(nested).count_rows() == NESTED.num_rows
    assert (grown["gets"], grown["bytes_out"]) == (0, 0)
    here = pc.utf8_length(f("tail")) > 6
    assert client.count(nested, here) == NESTED.filter(here).num_rows
    nothing_left(client)


def test_generations(client: Client, name: str) -> None:
    first = client.put(name, NESTED)["generation"]
    assert client.get(name, generation=first).equals(NESTED)
    client.put(name, NESTED.slice(5))
    with pytest.raises(flightcache.GenerationGone, match="replaced"):
        client.get(name, generation=first)


def test_a_dataset_that_gets_other_columns(client: Client, nested: str) -> None:
    dataset, reader = client.dataset(nested), client.reader(nested, ["id"])
    client.put(nested, pa.table({"id": ["text"]}))
    for read in (reader.read_all, dataset.to_table):
        with pytest.raises(flightcache.DatasetChanged, match="other columns"):
            read()
    assert client.get(nested).num_rows == 1


def test_every_type(client: Client, name: str) -> None:
    makes = zoo.ARRAYS | {f"dictionary {n}": make for n, make in zoo.DICTIONARIES.items()}
    del makes["dictionary of uuid"]  # pyarrow cannot read those of any Flight server
    data = {kind: pa.table({"it": make(90), "n": pa.array(range(90))}) for kind, make in makes.items()}
    for table in data.values():
        client.put(name, table, codec="none")
        compare.assert_same(client.get(name), table)
        compare.assert_same(client.get(name, filters=f("n") > 20), table.slice(21))
        fourth = pa.concat_tables([table.slice(at, 1) for at in range(0, 90, 4)])
        compare.assert_same(client.get(name, ["it"], pc.bit_wise_and(f("n"), 3) == 0), fourth.select(["it"]))


def test_progress(client: Client, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    told: list[tuple[int, int]] = []
    client.put(name, NESTED, progress=lambda rows, size: told.append((rows, size)))
    assert told[-1][0] == NESTED.num_rows
    assert told == sorted(told)
    told.clear()
    client.get(name, progress=lambda rows, size: told.append((rows, size)))
    assert told[-1][0] == NESTED.num_rows
    client.put(name, NESTED, progress=True)
    assert capsys.readouterr().err == ""  # which is no terminal


def test_progress_on_a_terminal(
    client: Client, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    client.put(name, NESTED, progress=True)
    shown = capsys.readouterr().err
    assert f"put {name} [{'#' * 30}] 100% {NESTED.num_rows:,} rows" in shown
    assert shown.endswith("\n")
    client.get(name, progress=True)
    assert f"get {name}: {NESTED.num_rows:,} rows" in capsys.readouterr().err
