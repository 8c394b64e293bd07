"""Filters of every operator and type: the rows that pyarrow's kernels choose, and no batch read in vain."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.flight as fl
import pytest

import filter_tables
from compare import assert_same
from predicate_oracle import Batches, Predicate, Term, filters, matches, rows_of, select
from predicates import PREDICATES
from service import Client, Server, command_of, counted

SHAPES = [(16, 4), (4, 10_000)]
"""Batches, and rows of each."""


@dataclass(frozen=True)
class Stored:
    """A dataset and what it holds."""

    dataset: str
    data: pa.Table
    batches: Batches

    def columns(self, predicate: Predicate) -> list[str | int]:
        """All columns of a small table; of a large one the row's number and what the filter looks at."""
        if self.data.num_rows < 1000:
            return list(self.data.column_names)
        looked_at = dict.fromkeys(term.column for terms in predicate for term in terms)
        roots = [c if isinstance(c, int) else c.split(".")[0] for c in looked_at]
        return ["row", *dict.fromkeys(roots)]

    def with_rows(self, mask: pa.ChunkedArray) -> list[int]:
        """The batches of which a row is wanted."""
        numbers = pc.indices_nonzero(mask).to_numpy() // self.batches.tables[0].num_rows
        return sorted(set(numbers.tolist()))


def put(client: Client, layout: str, batches: int, rows: int, codec: str) -> Stored:
    data = filter_tables.lay_out(layout, batches, rows)
    dataset = f"filters/{layout}/{rows}/{codec}"
    facts = client.put(dataset, data, batching="keep", codec=codec)
    assert facts["batches"] == batches
    return Stored(dataset, data, Batches(data))


@pytest.fixture(scope="module", params=filter_tables.LAYOUTS)
def stored(request: pytest.FixtureRequest, server: Server) -> Iterator[list[Stored]]:
    """One layout, in small and in large batches."""
    with server.client() as client:
        made = [put(client, request.param, *shape, codec) for shape, codec in zip(SHAPES, ("zstd", "lz4"), strict=True)]
        yield made
        for s in made:
            client.drop(s.dataset)


@pytest.mark.parametrize("name", PREDICATES)
def test_rows_and_batches_are_those_of_the_oracle(client: Client, stored: list[Stored], name: str) -> None:
    for s in stored:
        check(client, s, PREDICATES[name])


def check(client: Client, s: Stored, predicate: Predicate) -> None:
    mask, kept = matches(s.data, predicate), s.batches.possible(predicate)
    columns, total = s.columns(predicate), len(s.batches.tables)
    expected = rows_of(s.data.select(columns), mask)
    wanted = filters(predicate)

    with counted(client) as grown:
        assert_same(client.get(s.dataset, columns=columns, filters=wanted), expected)
    assert grown["rows_out"] == expected.num_rows
    assert grown["batches_pruned"] == total - len(kept)
    assert grown["batches_sent"] == len(s.with_rows(mask))
    assert kept or grown["bytes_decoded"] == 0

    whole = list(client.flight.do_get(fl.Ticket(command_of(s.dataset, columns=columns, filters=wanted, **WHOLE))))
    assert [json.loads(chunk.app_metadata.to_pybytes())["batch"] for chunk in whole] == kept
    for chunk, ordinal in zip(whole, kept, strict=True):
        assert_same(pa.Table.from_batches([chunk.data]), s.batches.tables[ordinal].select(columns))

    info = client.info(s.dataset, columns=columns, filters=wanted)
    facts = json.loads(info.app_metadata)
    assert info.total_records in (-1, expected.num_rows)
    assert facts["rows_min"] <= expected.num_rows <= facts["rows_max"]
    assert facts["batches_kept"] == len(kept)
    assert facts["rows_max"] == sum(s.batches.tables[i].num_rows for i in kept)
    assert (info.total_records == -1) == (facts["rows_min"] < facts["rows_max"])
    assert client.info(s.dataset, filters=wanted, count="exact").total_records == expected.num_rows


WHOLE = {"prune_only": True, "batch_metadata": True}


@pytest.mark.parametrize("limit", [0, 1, 2, 5, 21, 64, 10_000])
@pytest.mark.parametrize("name", ["a range", "four lists", "nothing is null", "in 10,000", "below int8", "s empty"])
def test_a_limit_counts_rows_that_are_wanted(client: Client, stored: list[Stored], name: str, limit: int) -> None:
    predicate = PREDICATES[name]
    for s in stored:
        columns = s.columns(predicate)
        command = {"columns": columns, "filters": filters(predicate), "limit": limit}
        expected = rows_of(s.data.select(columns), matches(s.data, predicate)).slice(0, limit)
        with counted(client) as grown:
            assert_same(client.get(s.dataset, **command), expected)
        assert grown["rows_out"] == expected.num_rows
        info = client.info(s.dataset, **command)
        assert info.total_records in (-1, expected.num_rows)
        assert client.info(s.dataset, **command, count="exact").total_records == expected.num_rows
        ticket = info.endpoints[0].ticket
        assert_same(client.flight.do_get(ticket).read_all(), expected)


def test_a_limit_stops_the_reading(client: Client, stored: list[Stored]) -> None:
    for s in stored:
        wanted = [["row", ">=", 0], ["i8", "is not null"]]
        with counted(client) as grown:
            assert client.get(s.dataset, columns=["row"], filters=wanted, limit=1).num_rows == 1
        assert grown["batches_sent"] == 1


@pytest.mark.parametrize("wire", ["none", "stored", "zstd", "lz4"])
@pytest.mark.parametrize("name", ["four lists", "dict =", "view in", "bin_view is", "flags in", "st.n.c is null"])
def test_every_wire_carries_filtered_rows(client: Client, stored: list[Stored], name: str, wire: str) -> None:
    predicate = PREDICATES.get(name) or [[Term("bin_view", "is not null")]]
    s = stored[0]
    expected = select(s.data, predicate)
    assert_same(client.get(s.dataset, filters=filters(predicate), wire=wire), expected)


def test_columns_of_the_filter_need_not_be_read(client: Client, stored: list[Stored]) -> None:
    s = stored[0]
    predicate = PREDICATES["four lists"]
    expected = select(s.data, predicate)
    for columns in ([], ["row"], ["s", "f16", "s"], ["st.n.c", "nothing"]):
        got = client.get(s.dataset, columns=columns, filters=filters(predicate))
        assert got.num_rows == expected.num_rows
        if columns == ["row"]:
            assert got.equals(expected.select(columns))


@pytest.mark.parametrize("codec", ["none", "zstd", "lz4"])
def test_codecs_give_equal_answers(client: Client, codec: str) -> None:
    s = put(client, "shuffled", 16, 4, codec)
    for predicate in list(PREDICATES.values())[::3]:
        expected = select(s.data, predicate)
        assert_same(client.get(s.dataset, filters=filters(predicate)), expected)
    client.drop(s.dataset)
