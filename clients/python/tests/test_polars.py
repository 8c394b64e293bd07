"""polars over a dataset, by ``client.scan`` and by ``scan_pyarrow_dataset``: the answers of the local frame."""

from __future__ import annotations

import datetime as dt
import decimal
import os
import random
from collections.abc import Iterator
from types import SimpleNamespace

import polars as pl
import pyarrow.dataset as ds
import pytest

import flightcache
import tables
from conftest import counted, nothing_left
from flightcache import Client, _polars
from flightcache._polars_predicate import necessary
from service import Server

SEED = int(os.environ.get("FILTER_SEED", random.randrange(2**32)))
ROWS = 60_000
c = pl.col


def _values() -> pl.DataFrame:
    """Columns of many types, with nulls and NaNs, in 30 batches."""
    rows = range(3000)
    start = dt.datetime(2020, 1, 1)
    return pl.DataFrame(
        {
            "i": [None if n % 7 == 0 else n for n in rows],
            "i8": pl.Series([n % 100 for n in rows], dtype=pl.Int8),
            "u": pl.Series([n * 3 for n in rows], dtype=pl.UInt64),
            "f": [float("nan") if n % 5 == 0 else None if n % 11 == 0 else n / 2 for n in rows],
            "f32": pl.Series([n / 4 - 300 for n in rows], dtype=pl.Float32),
            "s": [None if n % 13 == 0 else f"k{n:04}" for n in rows],
            "b": [str(n).encode() for n in rows],
            "ok": [None if n % 17 == 0 else n % 3 == 0 for n in rows],
            "day": [start.date() + dt.timedelta(days=n) for n in rows],
            "at": [start + dt.timedelta(hours=n) for n in rows],
            "tz": pl.Series([start + dt.timedelta(hours=n) for n in rows]).dt.replace_time_zone("UTC"),
            "clock": [dt.time(n % 24, n % 60) for n in rows],
            "span": [dt.timedelta(seconds=n) for n in rows],
            "money": pl.Series([decimal.Decimal(n) / 4 for n in rows], dtype=pl.Decimal(10, 2)),
            "kind": pl.Series([("u", "v", None)[n % 3] for n in rows], dtype=pl.Categorical),
            "fixed": pl.Series([("u", "v")[n % 2] for n in rows], dtype=pl.Enum(["u", "v"])),
            "st": [None if n % 19 == 0 else {"x": n, "y": {"z": f"z{n % 50}"}} for n in rows],
            "l": [[n] * (n % 3) for n in rows],
        }
    )


LOCAL = {
    "flat": pl.DataFrame(tables.table("flat", ROWS)),
    "nested": pl.DataFrame(tables.table("nested", ROWS)),
    "values": _values(),
}


@pytest.fixture(scope="module", autouse=True)
def _stored(server: Server) -> Iterator[None]:
    with flightcache.connect(server.address) as client:
        for kind in ("flat", "nested"):
            client.put(f"polars/{kind}", tables.table(kind, ROWS), batching="keep")
        with client.transaction("polars/values", mode="replace") as transaction:
            for start in range(0, 3000, 100):
                transaction.put(LOCAL["values"].slice(start, 100), batching="keep")
        yield
        nothing_left(client)


FRAMES = {
    "all": ("flat", lambda t: t),
    "columns": ("flat", lambda t: t.select("v", "k")),
    "rows": ("flat", lambda t: t.filter(c("id") == 7777)),
    "both": ("flat", lambda t: t.filter((c("id") >= 59_990) | (c("k") == 3)).select("s1", "s3")),
    "texts": ("flat", lambda t: t.filter((c("s2") == "str_b_17") & (c("v") < 50_000))),
    "list": ("flat", lambda t: t.filter(c("k").is_in([1, 5, 9]) & c("s1").is_not_null()).select("id")),
    "not in a list": ("flat", lambda t: t.filter(~c("k").is_in([1, 5, 9])).select("id")),
    "start": ("flat", lambda t: t.filter(c("s3").str.starts_with("str_c_599")).select("s3")),
    "end": ("flat", lambda t: t.filter(c("s3").str.ends_with("99") & (c("id") > 50_000))),
    "groups": (
        "flat",
        lambda t: t.filter(c("id") > 30_000).group_by("k").agg(c("v").sum(), pl.len(), c("s3").min()).sort("k"),
    ),
    "join": (
        "flat",
        lambda t: t.filter(c("k") == 20).join(t.filter(c("k") == 21), left_on="v", right_on="id").sort("id"),
    ),
    "window": ("flat", lambda t: t.filter(c("k") < 3).with_columns(r=c("id").rank().over("k")).sort("k", "id")),
    "head": ("flat", lambda t: t.head(11)),
    "head of columns": ("flat", lambda t: t.select("s3", "id").head(5)),
    "head of rows": ("flat", lambda t: t.filter(c("id") > 50).head(7)),
    "rows of head": ("flat", lambda t: t.head(9).filter(c("id") > 3)),
    "slice": ("flat", lambda t: t.slice(20_000, 5)),
    "tail": ("flat", lambda t: t.tail(3)),
    "length": ("flat", lambda t: t.select(pl.len())),
    "length of rows": ("flat", lambda t: t.filter(c("k") == 3).select(n=pl.len())),
    "nothing": ("flat", lambda t: t.filter(c("id") > 10**9)),
    "structs": ("nested", lambda t: t),
    "field": ("nested", lambda t: t.select(c("sc").struct.field("a"), c("deep"))),
    "rows by field": ("nested", lambda t: t.filter(c("deep").struct.field("n").struct.field("v") == 4444)),
    "groups of fields": (
        "nested",
        lambda t: t.group_by(c("wide").struct.field("p")).agg(c("id").sum()).sort("p", nulls_last=True),
    ),
}


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize("source", ["scan", "dataset"])
@pytest.mark.parametrize("what", FRAMES)
def test_answers_are_those_over_the_local_frame(client: Client, what: str, source: str, engine: str) -> None:
    kind, make = FRAMES[what]
    name = f"polars/{kind}"
    frame = client.scan(name) if source == "scan" else pl.scan_pyarrow_dataset(client.dataset(name))
    # Over a pyarrow dataset polars asks pyarrow, to which a null is not in a list rather than null.
    here = LOCAL[kind].lazy() if source == "scan" else pl.scan_pyarrow_dataset(ds.dataset(tables.table(kind, ROWS)))
    expected = make(here).collect()
    assert make(frame).collect(engine=engine).equals(expected)


def test_schema_is_that_of_the_frame(client: Client) -> None:
    for kind, local in LOCAL.items():
        assert client.scan(f"polars/{kind}").collect_schema() == local.schema
    assert client.scan("polars/values").collect().equals(LOCAL["values"])


def test_parallel(client: Client) -> None:
    assert client.scan("polars/flat", ordered=False).collect().sort("v", "s3").equals(LOCAL["flat"].sort("v", "s3"))


def test_only_what_is_needed_is_sent(client: Client) -> None:
    stored = {x["path"]: x["stored_bytes"] for x in client.statistics("polars/flat")["columns"]}
    frame = client.scan("polars/flat")
    for make in (lambda t: t.select("v"), lambda t: t.select(c("v").sum())):
        with counted(client) as grown:
            make(frame).collect()
        assert stored["v"] < grown["bytes_out"] < stored["v"] + 6_000
    for scan in (frame, pl.scan_pyarrow_dataset(client.dataset("polars/flat"))):
        with counted(client) as grown:
            assert scan.filter((c("id") >= 20_000) & (c("id") < 30_000)).select("s3").collect().height == 8750
        assert grown["batches_pruned"] == 5
    with counted(client) as grown:
        frame.head(5).collect()
    assert grown["rows_out"] == 5


def test_length_reads_no_payload(client: Client) -> None:
    with counted(client) as grown:
        assert client.scan("polars/flat").select(pl.len()).collect().item() == ROWS
        assert client.scan("polars/flat").select(pl.len().alias("n")).collect(engine="streaming").to_dicts() == [
            {"n": ROWS}
        ]
        assert client.scan("polars/flat").select(n=pl.len()).filter(c("n") > 10**9).collect().height == 0
    assert (grown["gets"], grown["bytes_out"]) == (0, 0)
    frame = client.scan("polars/flat").filter(c("id") < 100).select(pl.len())
    assert not isinstance(frame, _polars.Scan) or frame._count is None
    assert frame.collect().item() == 87


def _leaf(rng: random.Random) -> pl.Expr:
    name = rng.choice([n for n in LOCAL["values"].columns if n not in ("st", "l")])
    column = c(name)
    value = LOCAL["values"][name][rng.randrange(3000)]
    literal = pl.lit(value, dtype=LOCAL["values"].schema[name]) if rng.random() < 0.5 else pl.lit(value)
    how = rng.random()
    if how < 0.1 or value is None:
        return rng.choice((column.is_null(), column.is_not_null(), column.eq_missing(literal)))
    if how < 0.2 and name not in ("fixed", "kind"):
        others = [v for v in (LOCAL["values"][name][rng.randrange(3000)] for _ in range(3)) if v is not None]
        return column.is_in(others) if others else column.is_null()
    if how < 0.3 and name in ("i", "u", "f", "money", "at", "day", "s"):
        return column.is_between(literal, literal, closed=rng.choice(("both", "left", "right", "none")))
    if how < 0.4:
        deep = c("st").struct.field("y").struct.field("z") == f"z{rng.randrange(50)}"
        return deep if rng.random() < 0.5 else c("st").struct.field("x") >= rng.randrange(3000)
    if how < 0.5:
        return rng.choice(
            (
                c("s").str.starts_with(f"k0{rng.randrange(10)}"),
                c("s").str.len_chars() == 5,
                c("i") > c("i8"),
                c("i") > rng.choice((2.5, 10**12, -1)),
                c("f") > rng.choice((5, float("nan"), float("inf"))),
                c("f").is_nan(),
                c("ok"),
                c("l").list.len() > 1,
                pl.lit(rng.random() < 0.5),
                pl.any_horizontal(c("ok"), c("i") > 2900),
            )
        )
    if name == "ok":
        return column == literal
    return rng.choice((column.__eq__, column.__ne__, column.__lt__, column.__le__, column.__gt__, column.__ge__))(
        literal
    )


def _predicate(rng: random.Random, depth: int = 0) -> pl.Expr:
    choice = rng.random()
    if depth < 3 and choice < 0.5:
        left, right = _predicate(rng, depth + 1), _predicate(rng, depth + 1)
        return ~left if choice < 0.12 else left & right if choice < 0.35 else left | right
    return _leaf(rng)


def test_random_predicates(client: Client) -> None:
    """polars keeps the rows that it keeps of the local frame, and some of the work is the server's."""
    print(f"FILTER_SEED={SEED}")
    rng = random.Random(SEED)
    frame, local = client.scan("polars/values"), LOCAL["values"].lazy()
    schema, told, compared = client.schema("polars/values"), 0, 0
    while compared < 300:
        predicate = _predicate(rng)
        engine = rng.choice(("in-memory", "streaming"))
        try:
            expected = local.filter(predicate).collect(engine=engine)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            continue
        compared += 1
        told += necessary(predicate, schema) is not None
        assert frame.filter(predicate).collect(engine=engine).equals(expected), str(predicate)
    assert told > 100


@pytest.mark.parametrize(
    ("predicate", "filtered"),
    [
        (c("i") > 5, True),
        (c("i8") > 5, True),
        (c("s") == "k0005", True),
        (c("kind") == "u", True),
        (c("day") == dt.date(2021, 5, 5), True),
        (c("at") > dt.datetime(2020, 3, 3), True),
        (c("tz") > dt.datetime(2020, 3, 3, tzinfo=dt.UTC), True),
        (c("money") < decimal.Decimal("7.25"), True),
        (c("st").struct.field("y").struct.field("z") == "z7", True),
        ((c("i") > 5) & (c("s").str.len_chars() == 5), True),
        ((c("i") > 5) | (c("s").str.len_chars() == 5), False),
        (c("f") == float("nan"), False),
        (c("i") > c("i8"), False),
    ],
    ids=str,
)
def test_which_predicates_reach_the_server(client: Client, predicate: pl.Expr, filtered: bool) -> None:
    assert (necessary(predicate, client.schema("polars/values")) is not None) == filtered


def test_a_form_of_expressions_that_is_not_known(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The serialized form is polars' own; of another one nothing is concluded."""
    for form in ({"Binary": 1}, [], {"BinaryExpr": {"op": "Gt"}}, {"Function": {"function": {"Boolean": "Odd"}}}):
        monkeypatch.setattr("flightcache._polars_predicate.json", SimpleNamespace(loads=lambda _, form=form: form))
        assert client.scan("polars/values").filter(c("i") > 2990).collect().height == 8
