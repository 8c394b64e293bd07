"""``serve --load``: a folder of Arrow IPC files that others wrote, served in place and left as it is."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.flight as fl
import pytest

import compare
import tables
import zoo
from service import Client, Server, StartError

ROWS = 250
CODECS = [None, "lz4", "zstd"]
ZOO = {f"zoo/{number}": zoo.table(arrays, ROWS, 100) for number, arrays in enumerate(zoo.GROUPS.values())}
ZOO |= {f"shapes/{number}": make(ROWS) for number, make in enumerate(zoo.TABLES.values())}
LARGE_ROWS = 3_600_000


def _write(path: Path, data: pa.Table, codec: str | None = None, rows: int | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    options = pa.ipc.IpcWriteOptions(compression=codec, unify_dictionaries=True)
    with pa.ipc.new_file(path, data.schema, options=options) as file:
        file.write_table(data, max_chunksize=rows)


def _large() -> pa.Table:
    """One batch of a little more than 100 MiB."""
    numbers = np.arange(LARGE_ROWS, dtype=np.int64)
    texts = pa.array([f"text {i % 1000:05}" for i in range(1000)]).take(pa.array(numbers % 1000))
    return pa.table({"a": numbers, "b": numbers * 3, "s": texts})


def _polars() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "i": [1, None, 3] * 1000,
            "s": ["short", None, "a text that is too long for a view"] * 1000,
            "l": [[1, 2], [], None] * 1000,
            "st": [{"x": 1, "y": "a"}, {"x": None, "y": "b"}, None] * 1000,
            "c": pl.Series(["x", "y", None] * 1000, dtype=pl.Categorical),
            "d": pl.Series([1, 2, None] * 1000).cast(pl.Date),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("load")
    for name, data in ZOO.items():
        for codec in CODECS:
            _write(folder / f"{name}-{codec}.arrow", data, codec)
    flat = tables.table("flat", 20_000)
    for codec in CODECS:
        _write(folder / f"flat-{codec}.arrow", flat, codec)
        _write(folder / f"whole-{codec}.arrow", flat.combine_chunks(), codec)
        _write(folder / "deep" / "er" / f"nested-{codec}.ipc", tables.table("nested", 5000), codec)
    feather.write_feather(flat, folder / "feather.feather")
    _write(folder / "sliced.arrow", flat.combine_chunks().slice(123, 4567))
    _write(folder / "empty.arrow", flat.slice(0, 0))
    _write(folder / "large.arrow", _large())
    for codec in ("uncompressed", "lz4", "zstd"):
        _polars().write_ipc(folder / f"polars-{codec}.arrow", compression=codec)
    (folder / ".hidden.arrow").write_text("not looked at")
    (folder / "notes.txt").write_text("not looked at")
    (folder / "stream.arrow").write_bytes(b"not an Arrow file")
    whole = (folder / "flat-None.arrow").read_bytes()
    (folder / "cut.arrow").write_bytes(whole[: len(whole) // 2])
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    with Server("--load", folder) as running:
        yield running
        assert running.stop() == 0, running.log()


def test_names_and_what_is_left_out(server: Server, client: Client, folder: Path) -> None:
    files = [p for p in folder.rglob("*") if p.suffix in (".arrow", ".ipc", ".feather") and not p.name.startswith(".")]
    named = {p.relative_to(folder).with_suffix("").as_posix() for p in files}
    assert set(client.names()) == named - {"stream", "cut"}
    for left_out in ("stream.arrow", "cut.arrow"):
        lines = [line for line in server.log().splitlines() if left_out in line]
        assert len(lines) == 1
        assert "left out of --load" in lines[0]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("name", ZOO)
def test_every_type(client: Client, name: str, codec: str | None) -> None:
    data = ZOO[name]
    dataset = f"{name}-{codec}"
    for wire in ("stored", "none", "zstd"):
        compare.assert_same(client.get(dataset, wire=wire), data)
    for columns in ([0], list(range(data.num_columns))[::-2]) if data.num_columns else ():
        got = client.get(dataset, columns=columns)
        want = data.select(columns)
        assert got.num_columns == want.num_columns
        compare.assert_same(got.replace_schema_metadata(None), want.replace_schema_metadata(None))


@pytest.mark.parametrize("codec", CODECS)
def test_rows_and_bytes_are_exact_before_anything_was_read(client: Client, folder: Path, codec: str | None) -> None:
    data = tables.table("flat", 20_000)
    for name, chunks in ((f"flat-{codec}", data), (f"whole-{codec}", data.combine_chunks())):
        facts = client.describe(name)
        assert facts["rows"] == 20_000
        assert facts["batches"] == chunks.column(0).num_chunks
        assert facts["decoded_bytes"] == tables.plain_bytes(chunks)
        assert facts["codec"] == (codec or "none")
        info = client.info(name, columns=["k", "s2"])
        assert (info.total_records, info.total_bytes) == (20_000, tables.plain_bytes(chunks.select(["k", "s2"])))
        nulls = {c["name"]: c["null_count"] for c in facts["columns"]}
        assert nulls == {n: data.column(n).null_count for n in data.column_names}
        assert all("min" not in c and "max" not in c for c in facts["columns"])
        assert client.get(name).equals(data)


def test_filters_look_at_every_batch(client: Client) -> None:
    """Without statistics nothing is pruned, and every answer is right."""
    before = client.stats()["batches_pruned"]
    for name in ("flat-None", "flat-zstd", "whole-lz4"):
        data = tables.table("flat", 20_000)
        want = ds.dataset(data).to_table(filter=(ds.field("id") > 5) & (ds.field("id") < 12_345))
        filters = [["id", ">", 5], ["id", "<", 12_345]]
        assert client.get(name, filters=filters).equals(want)
        info = client.info(name, filters=filters)
        assert info.total_records == -1
        assert client.info(name, filters=filters, count="exact").total_records == want.num_rows
        nothing = client.get(name, filters=[["id", "<", -5]])
        assert nothing.num_rows == 0
    assert client.stats()["batches_pruned"] == before
    told = client.action("statistics", dataset="flat-None")
    assert all("min" not in c for c in told["columns"])
    assert client.get("flat-None", statistics=True).num_rows == len(told["columns"]) + 1


def test_a_large_batch_is_cut_for_who_cannot_take_it(client: Client) -> None:
    data = _large()
    assert client.describe("large")["batches"] == 1
    assert client.get("large").equals(data)
    chunks = client.get("large", max_message_bytes=4 << 20)
    assert chunks.equals(data)
    assert chunks.column(0).num_chunks >= 25
    assert max(b.nbytes for b in chunks.to_batches()) < 4 << 20
    assert client.get("large", columns=["b"], limit=17).equals(data.select(["b"]).slice(0, 17))


def test_other_files(client: Client) -> None:
    flat = tables.table("flat", 20_000)
    assert client.get("feather").equals(flat)
    assert client.get("sliced").equals(flat.slice(123, 4567))
    assert client.get("empty").equals(flat.slice(0, 0))
    assert client.describe("sliced")["rows"] == 4567
    for codec in CODECS:
        assert client.get(f"deep/er/nested-{codec}").equals(tables.table("nested", 5000))
        assert client.get(f"deep/er/nested-{codec}", columns=["deep.n.w"]).num_rows == 5000


@pytest.mark.parametrize("codec", ["uncompressed", "lz4", "zstd"])
def test_files_of_polars(client: Client, codec: str) -> None:
    got = client.get(f"polars-{codec}")
    got.validate(full=True)
    assert pl.from_arrow(got).equals(_polars())
    assert pl.from_arrow(client.get(f"polars-{codec}", wire="none", dictionaries="decode")).equals(
        _polars().with_columns(pl.col("c").cast(pl.String))
    )


def test_files_are_only_read(folder: Path, tmp_path: Path) -> None:
    """Dropped, replaced, appended to and evicted: the files stay, and a restart has them again."""
    copy = tmp_path / "copy"
    names = ["flat-None", "flat-zstd", "sliced", "deep/er/nested-lz4"]
    for name in names:
        file = next(folder.glob(f"{name}.*"))
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy / f"{name}{file.suffix}")
    digests = {p: hashlib.sha256(p.read_bytes()).digest() for p in copy.rglob("*.*")}
    flat = tables.table("flat", 20_000)
    with Server("--load", copy) as running, running.client() as client:
        client.drop("flat-None")
        assert "flat-None" not in client.names()
        client.put("flat-None", flat.slice(0, 10))
        client.put("sliced", flat.slice(0, 7), mode="append")
        assert client.get("sliced").equals(pa.concat_tables([flat.slice(123, 4567), flat.slice(0, 7)]))
        assert client.describe("sliced")["rows"] == 4574
        client.put("flat-zstd", flat.slice(0, 10))
        with pytest.raises(pa.ArrowException, match="dataset exists"):
            client.put("deep/er/nested-lz4", flat, mode="create")
        assert running.stop() == 0, running.log()
    assert {p: hashlib.sha256(p.read_bytes()).digest() for p in copy.rglob("*.*")} == digests
    with Server("--load", copy) as running, running.client() as client:
        assert client.names() == sorted(names)
        assert client.get("flat-None").equals(flat)
        assert running.stop() == 0, running.log()


def test_with_a_data_folder(tmp_path: Path) -> None:
    """What lies elsewhere is not made durable, nor evicted for room; pinned, it stays in memory."""
    flat = tables.table("flat", 20_000)
    files = tmp_path / "files"
    _write(files / "a.arrow", flat)
    with Server("--load", files, "--data-dir", tmp_path / "data") as running, running.client() as client:
        with pytest.raises(pa.ArrowException, match="served in place"):
            client.put("a", flat, mode="append", durable=True)
        assert client.get("a").equals(flat)
        client.put("a", flat, mode="append")
        assert client.get("a").equals(pa.concat_tables([flat, flat]))
        client.put("b", flat, durable=True)
        client.action("pin", dataset="a")
        for _ in range(3):
            assert client.get("a").num_rows == 40_000
        client.action("unpin", dataset="a")
        assert running.stop() == 0, running.log()
    with Server("--load", files, "--data-dir", tmp_path / "data") as running, running.client() as client:
        assert client.names() == ["a", "b"]
        assert client.get("a").equals(flat)
        assert client.get("b").equals(flat)
        client.put("a", flat.slice(0, 5), durable=True)
        assert running.stop() == 0, running.log()
    with Server("--load", files, "--data-dir", tmp_path / "data") as running, running.client() as client:
        assert client.get("a").equals(flat.slice(0, 5))
        assert "left out of --load" in running.log()  # the durable dataset has its name
        assert running.stop() == 0, running.log()


def test_eviction_leaves_files_alone(tmp_path: Path) -> None:
    """They take no memory that could come free: datasets that were put go instead."""
    flat = tables.table("flat", 50_000)
    _write(tmp_path / "a.arrow", flat)
    with (
        Server("--load", tmp_path, "--memory", "8MiB", "--eviction", "drop") as running,
        running.client() as client,
    ):
        for number in range(6):
            client.put(f"put/{number}", flat, codec="none")
        names = client.names()
        assert "a" in names
        assert "put/0" not in names
        assert client.get("a").equals(flat)
        assert running.stop() == 0, running.log()


def test_nothing_to_serve(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="no such file"):
        Server("--load", tmp_path / "none")
    with pytest.raises(StartError, match=r"no file in it ends with \.arrow"):
        Server("--load", tmp_path)
    (tmp_path / "x.arrow").write_bytes(b"ARROW1")
    with pytest.raises(StartError, match=r"none of its 1 files can be served.*x\.arrow"):
        Server("--load", tmp_path)


def test_damage_in_a_file(tmp_path: Path) -> None:
    """What is damaged in one column is an error that names the file; other columns, batches and files are served."""
    flat = tables.table("flat", 30_000)
    _write(tmp_path / "flat.arrow", flat)
    _write(tmp_path / "whole.arrow", flat)
    raw = bytearray((tmp_path / "flat.arrow").read_bytes())
    # The offsets of the first text column of the second batch: that of its row 1 beyond all others.
    text = flat.slice(10_000, 10_000).column("s1").chunk(0)
    offsets = np.frombuffer(text.buffers()[1], np.int32)[text.offset : text.offset + 10_001]
    at = raw.index((offsets - offsets[0])[:64].tobytes(), len(raw) // 3)
    raw[at + 4 : at + 8] = b"\xff\xff\xff\x7f"
    (tmp_path / "flat.arrow").write_bytes(raw)
    with Server("--load", tmp_path) as running, running.client() as client:
        for _ in range(2):
            with pytest.raises(fl.FlightError, match=r"damaged file.*flat\.arrow: batch 1.*s1"):
                client.get("flat")
            assert client.get("flat", columns=["id", "s2"]).equals(flat.select(["id", "s2"]))
            assert client.get("flat", limit=10_000).equals(flat.slice(0, 10_000))
            assert client.get("whole").equals(flat)
        assert running.stop() == 0, running.log()


def test_a_file_that_changes_under_the_server(tmp_path: Path) -> None:
    flat = tables.table("flat", 30_000)
    _write(tmp_path / "flat.arrow", flat)
    with Server("--load", tmp_path) as running, running.client() as client:
        assert client.get("flat", columns=["id"]).equals(flat.select(["id"]))
        _write(tmp_path / "flat.arrow", tables.table("flat", 30_001).slice(1))
        with pytest.raises(fl.FlightError, match=r"damaged file.*flat\.arrow"):
            client.get("flat", columns=["id"])
        assert running.stop() == 0, running.log()


def test_memory_bounds_what_is_read(tmp_path: Path) -> None:
    """A folder far larger than the memory is served, batch by batch, and nothing stays behind."""
    data = tables.table("flat", 400_000)
    for number in range(4):
        _write(tmp_path / f"{number}.arrow", data, rows=10_000)
    with Server("--load", tmp_path, "--memory", "16MiB") as running, running.client() as client:
        for number in range(4):
            assert client.get(str(number)).equals(data)
        stats = client.stats()
        assert stats["charged_bytes"] <= 16 << 20
        for number in range(4):
            client.drop(str(number))
        assert client.settled_charge(0) == 0
        assert running.stop() == 0, running.log()
