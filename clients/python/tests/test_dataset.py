"""The dataset as pyarrow's own code uses one."""

from __future__ import annotations

import gc
import pickle
import threading
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.acero as acero
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

import flightcache
import tables
from conftest import counted, nothing_left
from flightcache import Client, Dataset
from service import Server

ROWS = 120_000
FLAT = tables.table("flat", ROWS)
f = pc.field
SENT, HERE = f("id") > 100_000, pc.bit_wise_and(f("v"), 1) == 0


@pytest.fixture(scope="module", autouse=True)
def _stored(server: Server) -> Iterator[None]:
    with flightcache.connect(server.address) as client:
        client.put("dataset/flat", FLAT, batching="keep")
        yield
        gc.collect()
        nothing_left(client)


@pytest.fixture
def flat(client: Client) -> Dataset:
    return client.dataset("dataset/flat")


LOCAL = ds.dataset(FLAT)


def test_it_is_one(flat: Dataset) -> None:
    assert isinstance(flat, ds.Dataset)
    assert flat.schema.equals(FLAT.schema)
    assert flat.children == []
    assert "dataset/flat" in repr(flat)
    assert flat.name == "dataset/flat"
    assert flat.partition_expression.equals(pc.scalar(True))


@pytest.mark.parametrize("condition", [None, SENT, HERE, SENT & HERE], ids=["all", "sent", "here", "both"])
@pytest.mark.parametrize(
    "columns",
    [None, ["s3", "id"], [], {"twice": f("v") * 2, "s1": f("s1")}, {"one": pc.scalar(1)}],
    ids=["all", "names", "none", "computed", "constant"],
)
def test_methods_are_those_of_a_local_dataset(flat: Dataset, columns: object, condition: pc.Expression | None) -> None:
    options = {"columns": columns, "filter": condition}
    for mine, theirs in ((flat, LOCAL), (flat.scanner(**options), LOCAL.scanner(**options))):
        chosen = options if mine is flat else {}
        whole = theirs.to_table(**chosen)
        assert mine.to_table(**chosen).equals(whole)
        assert pa.Table.from_batches(mine.to_batches(**chosen), whole.schema).equals(whole)
        assert mine.head(7, **chosen).equals(whole.slice(0, 7))
        assert mine.take(pa.array([3, 0, 3]), **chosen).equals(whole.take([3, 0, 3]))
        assert mine.count_rows(**({"filter": condition} if mine is flat else {})) == whole.num_rows
    scanner = flat.scanner(**options)
    assert scanner.projected_schema.equals(LOCAL.scanner(**options).projected_schema)
    assert scanner.dataset_schema.equals(FLAT.schema)
    assert scanner.to_reader().read_all().equals(LOCAL.to_table(**options))
    assert sum(tagged.record_batch.num_rows for tagged in scanner.scan_batches()) == scanner.count_rows()
    assert pa.table(scanner).equals(LOCAL.to_table(**options)) or columns == []


def test_filters_of_the_dataset_itself(flat: Dataset) -> None:
    narrow = flat.filter(SENT)
    assert narrow.to_table().equals(FLAT.filter(SENT))
    assert narrow.filter(HERE).to_table(columns=["id"]).equals(FLAT.filter(SENT & HERE).select(["id"]))
    assert narrow.to_table(filter=f("k") == 4).equals(FLAT.filter(SENT & (f("k") == 4)))
    assert narrow.count_rows() == FLAT.filter(SENT).num_rows
    parts = pa.concat_tables(part.to_table() for part in narrow.get_fragments())
    assert parts.equals(FLAT.filter(SENT))
    assert flat.to_table().num_rows == ROWS


@pytest.mark.parametrize("rows", [1, 999, 10_000, 10**6])
def test_batch_size(flat: Dataset, rows: int) -> None:
    sizes = [batch.num_rows for batch in flat.to_batches(columns=["id"], batch_size=rows, filter=f("id") < 20_000)]
    assert max(sizes) <= rows
    assert sum(sizes) == FLAT.filter(f("id") < 20_000).num_rows
    with pytest.raises(ValueError, match="batch_size"):
        flat.scanner(batch_size=0)


def test_options_of_files_are_taken(flat: Dataset) -> None:
    scanner = flat.scanner(
        columns=["id"],
        batch_readahead=1,
        fragment_readahead=1,
        fragment_scan_options=None,
        use_threads=False,
        cache_metadata=False,
        memory_pool=pa.default_memory_pool(),
    )
    assert scanner.count_rows() == ROWS
    with pytest.raises(TypeError):
        flat.scanner(order="up")


def test_fragments(flat: Dataset) -> None:
    parts = list(flat.get_fragments())
    assert len(parts) > 1
    assert pa.concat_tables(part.to_table() for part in parts).equals(FLAT)
    assert pa.concat_tables(part.to_table() for part in parts).equals(FLAT)
    assert all(0 < part.count_rows() < ROWS for part in parts)
    assert sum(part.count_rows(filter=SENT) for part in parts) == FLAT.filter(SENT).num_rows
    first = parts[0]
    assert first.physical_schema.equals(FLAT.schema)
    assert first.partition_expression.equals(pc.scalar(True))
    assert first.head(3, columns=["id"]).equals(FLAT.select(["id"]).slice(0, 3))
    assert first.take([5, 2], columns=["s3"]).equals(FLAT.select(["s3"]).take([5, 2]))
    batches = list(first.to_batches(columns=["id"], filter=HERE, batch_size=100))
    assert max(batch.num_rows for batch in batches) <= 100


def test_parts_are_of_one_generation(client: Client, name: str) -> None:
    """The first part that is read fixes the rows of all, whatever becomes of the dataset."""
    client.put(name, FLAT, batching="keep")
    parts = list(client.dataset(name).get_fragments())
    got = [parts[0].to_table()]
    client.put(name, FLAT.slice(0, 10))
    got += [part.to_table() for part in parts[1:]]
    assert pa.concat_tables(got).equals(FLAT)


def test_a_few_batches_have_fewer_parts(client: Client, name: str) -> None:
    client.put(name, FLAT.slice(0, 100))
    parts = list(client.dataset(name).get_fragments())
    assert pa.concat_tables(part.to_table() for part in parts).equals(FLAT.slice(0, 100))


def test_parallel_reads(client: Client) -> None:
    apart = client.dataset("dataset/flat", ordered=False)
    with counted(client) as grown:
        assert (
            apart.to_table()
            .sort_by([("v", "ascending"), ("s3", "ascending")])
            .equals(FLAT.sort_by([("v", "ascending"), ("s3", "ascending")]))
        )
        nothing_left(client)
    assert grown["gets"] > 1
    assert apart.to_table(filter=SENT & HERE).num_rows == FLAT.filter(SENT & HERE).num_rows
    assert apart.head(5).num_rows == 5
    assert apart.count_rows() == ROWS


def test_reads_are_lazy_and_stop(client: Client, flat: Dataset) -> None:
    with counted(client) as grown:
        scanner = flat.scanner()
        reader = scanner.to_reader()
        batches = flat.to_batches()
    assert grown["gets"] == 0
    with counted(client) as grown:
        next(batches)
        batches.close()
        reader.read_next_batch()
        del reader
        nothing_left(client)
    assert grown["gets"] == 2
    threads = threading.active_count()
    apart = client.dataset("dataset/flat", ordered=False).to_batches()
    for _ in range(3):
        next(apart)
    assert threading.active_count() > threads
    apart.close()
    assert threading.active_count() == threads
    nothing_left(client)


def test_in_memory_operations(client: Client, flat: Dataset, name: str) -> None:
    small = flat.filter(f("id") < 50)
    here = FLAT.filter(f("id") < 50)
    assert small.sort_by([("id", "descending")]).to_table().equals(here.sort_by([("id", "descending")]))
    joined = small.join(flat.filter(f("id") < 30), keys="id", right_suffix=" r", join_type="inner")
    assert joined.count_rows() == FLAT.filter(f("id") < 30).num_rows
    client.put(name, pa.table({"at": [10, 20, 40], "mark": ["a", "b", "c"]}))
    asof = small.filter(f("id").is_valid()).join_asof(client.dataset(name), "id", [], -5, right_on="at", right_by=[])
    marks = dict(asof.to_table(columns=["id", "mark"]).sort_by("id").to_pandas().itertuples(index=False))
    assert {at: mark for at, mark in marks.items() if isinstance(mark, str)} == {
        at: mark for first, mark in ((10, "a"), (20, "b"), (40, "c")) for at in range(first, first + 6) if at % 8
    }


def test_others_take_it_as_a_stream(flat: Dataset, tmp_path: Path) -> None:
    assert pa.table(flat).equals(FLAT)
    assert pa.RecordBatchReader.from_stream(flat).read_all().equals(FLAT)
    assert pl.DataFrame(flat).height == ROWS
    for source in (flat, flat.scanner(columns=["id"])):
        ds.write_dataset(source, tmp_path / str(id(source)), format="parquet")
        assert ds.dataset(tmp_path / str(id(source))).count_rows() == ROWS


@pytest.mark.parametrize(
    "use",
    [
        lambda d: ds.dataset([d]).to_table(),
        lambda d: ds.Scanner.from_dataset(d).to_table(),
        lambda d: acero.Declaration("scan", acero.ScanNodeOptions(d)).to_table(),
        lambda d: d.replace_schema(FLAT.schema),
    ],
    ids=["union", "scanner", "plan", "schema"],
)
def test_what_cpp_code_cannot_do_is_an_error(flat: Dataset, use: object) -> None:
    with pytest.raises(flightcache.NotSupported, match="flightcache dataset"):
        use(flat)


def test_it_cannot_be_pickled(flat: Dataset) -> None:
    with pytest.raises(TypeError, match="address and name"):
        pickle.dumps(flat)


def test_every_method_of_pyarrow_is_known() -> None:
    """A new method of pyarrow's would read its own, empty, dataset: it must be looked at here first."""
    known = {n for n in vars(Dataset) if not n.startswith("_")} | {
        # those of pyarrow, which call the scanner, or say what is so of this dataset too
        *("schema", "to_table", "to_batches", "head", "take", "count_rows", "partition_expression"),
    }
    assert {n for n in dir(ds.UnionDataset) if not n.startswith("_")} <= known
    assert {n for n in dir(ds.Scanner) if not n.startswith(("_", "from_"))} <= set(dir(flightcache.Scanner))
    assert {n for n in dir(ds.Fragment) if not n.startswith("_")} <= set(dir(flightcache.dataset.Fragment))


@pytest.mark.parametrize("columns", [["nope"], {"x": f("nope")}, ["id", "s9"], [7]], ids=str)
def test_columns_that_are_not_there(flat: Dataset, columns: object) -> None:
    with pytest.raises(ValueError, match=r"nope|s9|7"):
        flat.scanner(columns=columns)
