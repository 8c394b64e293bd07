"""Filters of pyarrow: the rows that it keeps of the same table in memory, whoever applies them.

``FILTER_SEED`` repeats a run, ``FILTER_ROUNDS`` makes it longer.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import compare
import expressions
import filter_tables
import flightcache
from conftest import counted, nothing_left
from flightcache import Client, _binding, _substrait
from service import Server

ROUNDS = int(os.environ.get("FILTER_ROUNDS", "1000"))
SEED = int(os.environ.get("FILTER_SEED", random.randrange(2**32)))
VIEWS = ("view", "bin_view")
FAILURES = (pa.ArrowException, TypeError, ValueError, KeyError, NotImplementedError)
f = pc.field

DATA = {layout: filter_tables.lay_out(layout, 16, 8) for layout in filter_tables.LAYOUTS}


def without_views(table: pa.Table) -> pa.Table:
    """pyarrow compares no views; it does plain text."""
    return table.cast(pa.schema([x.with_type(_binding.plain(x.type)) for x in table.schema]))


PLAIN = {layout: without_views(table) for layout, table in DATA.items()}


@pytest.fixture(scope="module", autouse=True)
def _stored(server: Server) -> Iterator[None]:
    with flightcache.connect(server.address) as client:
        for layout, table in DATA.items():
            client.put(f"filters/{layout}", table, batching="keep")
        yield
        nothing_left(client)


@pytest.mark.parametrize("part", range(4))
def test_random_filters(client: Client, part: int) -> None:
    print(f"FILTER_SEED={SEED}, part {part}")
    rng = random.Random(f"{SEED}/{part}")
    done = Counter[str]()
    while done["compared"] < ROUNDS // 4:
        wanted = expressions.expression(rng)
        layout = rng.choice(filter_tables.LAYOUTS)
        columns = [n for n in DATA[layout].column_names if n not in VIEWS and rng.random() < 0.2]
        try:
            PLAIN[layout].slice(0, 0).filter(wanted)
        except FAILURES:
            done["refused"] += 1
            with pytest.raises(FAILURES):
                client.get(f"filters/{layout}", columns, wanted)
            continue
        try:
            expected = PLAIN[layout].filter(wanted).select(columns)
        except FAILURES:
            done["overflow"] += 1  # in a row that the server may have left out
            continue
        done["compared"] += 1
        done[_share(wanted, DATA[layout].schema)] += 1
        got = client.get(f"filters/{layout}", columns, wanted)
        assert got.num_rows == expected.num_rows, wanted
        if columns:
            compare.assert_same(got, expected)
        assert client.count(f"filters/{layout}", wanted) == expected.num_rows, wanted
    print(done)
    # The test would show little if the server were told hardly anything, or everything.
    assert done["all"] > ROUNDS // 4 * 0.4
    assert done["some"] + done["nothing"] > ROUNDS // 4 * 0.1


def _share(wanted: pc.Expression, schema: pa.Schema) -> str:
    """How much of the filter the server gets."""
    mask = {"chosen": wanted}
    pushed = _substrait.push(wanted, _binding.needed(mask, _binding.bindable(mask, schema)) or schema)
    return "nothing" if pushed is None else "all" if pushed.exact else "some"


CASES = {
    "null in the list": f("i8").isin([8, None]),
    "null not in the list": ~f("i8").isin([8, None]),
    "null and no null in the list": ~f("i8").isin([8]),
    "list of nulls": f("i8").isin(pa.array([None], pa.int8())),
    "empty list": f("s").isin(pa.array([], pa.string())),
    "not in an empty list": ~f("s").isin(pa.array([], pa.string())),
    "skipped nulls": ~pc.is_in(f("i8"), value_set=pa.array([8, None], pa.int8()), skip_nulls=True),
    "NaN in the list": f("f64").isin([float("nan"), 1.5]),
    "zero in the list": f("f64").isin([0.0]),
    "NaN is null": f("f64").is_null(nan_is_null=True),
    "as DuckDB asks": pc.if_else(f("i8").is_valid(), f("i8").isin([8, 12]), pc.scalar(pa.scalar(None, pa.bool_()))),
    "text of a dictionary": f("dict") > "k020",
    "null of a dictionary": f("dict_null").is_null(),
    "list of a dictionary": f("dict").isin(["k003", "none"]),
    "text of a view": f("view") == "k003",
    "binary view": f("bin_view") < b"\x20",
    "any case": pc.starts_with(f("s"), "K0", ignore_case=True),
    "sum": f("row") + 1 > 5,
    "sum and more": (f("row") + 1 > 5) & (f("i64") < 10**17),
    "duration": f("dur_s") > pa.scalar(5, pa.duration("s")),
    "wide decimal": f("d256") > f("d256"),
    "by place": pc.field(0) > 5,
    "always": pc.scalar(True),
    "never": pc.scalar(False),
    "a thousand values": f("i64").isin(list(range(1000))),
    "more values than the server takes": f("i64").isin([*range(60_000), 10**16]),
}


@pytest.mark.parametrize("layout", filter_tables.LAYOUTS)
@pytest.mark.parametrize("what", CASES)
def test_cases(client: Client, what: str, layout: str) -> None:
    expected = PLAIN[layout].filter(CASES[what])
    got = client.get(f"filters/{layout}", ["row", "s", "f64"], CASES[what])
    compare.assert_same(got, expected.select(["row", "s", "f64"]))
    assert client.count(f"filters/{layout}", CASES[what]) == expected.num_rows
    twice = client.get(f"filters/{layout}", {"twice": f("row") * 2}, CASES[what], 5)
    assert twice["twice"].to_pylist() == [2 * row for row in expected["row"].to_pylist()[:5]]


SENT = {
    "null in the list": "all",
    "null and no null in the list": "all",
    "skipped nulls": "nothing",
    "NaN in the list": "nothing",
    "as DuckDB asks": "all",
    "text of a dictionary": "all",
    "list of a dictionary": "all",
    "text of a view": "all",
    "any case": "nothing",
    "sum and more": "some",
    "duration": "nothing",
    "more values than the server takes": "nothing",
}


@pytest.mark.parametrize("what", SENT)
def test_what_the_server_is_told(what: str) -> None:
    assert _share(CASES[what], DATA["sorted"].schema) == SENT[what]


def test_the_server_leaves_batches_out(client: Client) -> None:
    for wanted, most in (
        (f("i64") > 10**17, 8),
        ((f("i64") > 10**17) & (f("row") + 1 > 5), 8),
        (f("dict") == "k003", 2),
    ):
        with counted(client) as grown:
            client.get("filters/sorted", ["row"], wanted)
        assert 16 - grown["batches_pruned"] <= most


def test_a_server_that_refuses_a_filter(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version may know fewer functions: the filter is then applied here."""
    monkeypatch.setattr(_substrait, "FUNCTIONS", _substrait.FUNCTIONS | {"match_substring", "contains", "add"})
    monkeypatch.setattr(_substrait._Message, "exact", lambda self, expression: expression)
    wanted = f("row") + 1 > 5
    assert _share(wanted, DATA["sorted"].schema) == "all"
    expected = PLAIN["sorted"].filter(wanted).select(["row"])
    assert client.get("filters/sorted", ["row"], wanted).equals(expected)
    assert client.count("filters/sorted", wanted) == expected.num_rows
    parts = client.dataset("filters/sorted").get_fragments(wanted)
    assert pa.concat_tables(p.to_table(columns=["row"], filter=wanted) for p in parts).equals(expected)
    apart = client.dataset("filters/sorted", ordered=False).to_table(columns=["row"], filter=wanted)
    assert apart.sort_by("row").equals(expected)


@pytest.mark.parametrize("wanted", [f("nope") > 1, f("i8"), f("i8") > "text", pc.field(10**6) > 1], ids=str)
def test_what_cannot_be_computed_is_refused_before_a_call(client: Client, wanted: pc.Expression) -> None:
    with pytest.raises(FAILURES):
        client.reader("filters/sorted", ["row"], wanted)
