"""Datasets that outlive the server: what a restart has, what the folder is, and what is said when it cannot be used.

``FLIGHTCACHE_DATASETS`` says how many datasets the start with many has (300); its time is printed."""

from __future__ import annotations

import json
import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.flight as fl
import pyarrow.ipc as ipc
import pytest

import tables
from service import Server, StartError

FLAT = tables.table("flat", 50_000, batch_rows=10_000)
DATASETS = int(os.environ.get("FLIGHTCACHE_DATASETS", "300"))


def _serve(folder: Path, *flags: str) -> Server:
    return Server("--data-dir", str(folder), *flags)


def _stop(server: Server) -> str:
    log = server.log()
    assert server.stop() == 0, log
    return log


def _facts(description: dict) -> dict:
    """What does not depend on who reads, or has read."""
    return {k: v for k, v in description.items() if k not in ("leases", "leased_bytes", "memory_bytes")}


def test_without_a_folder_a_restart_starts_empty() -> None:
    with Server() as server, server.client() as client:
        assert "a restart starts empty" in server.log()
        with pytest.raises(pa.ArrowException, match=r"no data directory.*--data-dir"):
            client.put("d", FLAT, durable=True)
        client.put("d", FLAT, durable=False)


def test_only_what_is_durable_comes_back(tmp_path: Path) -> None:
    with _serve(tmp_path) as server, server.client() as client:
        assert "durable only if their puts say so" in server.log()
        facts = client.put("durable", FLAT, durable=True)
        assert facts["durable"] is True
        assert "durable" not in client.put("volatile", FLAT)
        before = _facts(client.describe("durable"))
        client.close()
        _stop(server)
    with _serve(tmp_path) as server, server.client() as client:
        assert client.names() == ["durable"]
        assert _facts(client.describe("durable")) == before
        assert client.get("durable").equals(FLAT)
        assert client.info("durable").total_records == FLAT.num_rows


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
def test_the_codec_changes_over_a_restart(tmp_path: Path, codec: str) -> None:
    """Old batches stay readable, new ones come under the new codec."""
    with _serve(tmp_path, "--durable", "--codec", codec) as server, server.client() as client:
        client.put("d", FLAT)
        client.close()
        server.kill()
    for n, other in enumerate(("zstd", "none", "lz4"), 2):
        with _serve(tmp_path, "--durable", "--codec", other) as server, server.client() as client:
            assert client.get("d").equals(pa.concat_tables([FLAT] * (n - 1)))
            before = client.describe("d")
            after = client.put("d", FLAT, mode="append")
            assert after["codec"] == other
            grown = after["stored_bytes"] - before["stored_bytes"]
            alone = client.put("alone", FLAT, codec=other, durable=False)
            assert grown == alone["stored_bytes"]
            for wire in ("stored", "none", "zstd", "lz4"):
                assert client.get("d", wire=wire).equals(pa.concat_tables([FLAT] * n))
            client.close()
            server.kill()


def test_the_codec_changes_from_put_to_put(server: Server) -> None:
    """Checklist 23, in memory."""
    with server.client() as client:
        for n, codec in enumerate(("zstd", "none", "lz4", "zstd"), 1):
            assert client.put("mixed", FLAT, mode="append", codec=codec)["codec"] == codec
            assert client.get("mixed").equals(pa.concat_tables([FLAT] * n))
        client.drop("mixed")


@pytest.mark.parametrize("kind", ["flat", "nested"])
@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
def test_others_open_the_files(tmp_path: Path, codec: str, kind: str) -> None:
    data = tables.table(kind, 30_000, batch_rows=7_000)
    with _serve(tmp_path, "--durable") as server, server.client() as client:
        client.put("d", data, codec=codec)
        client.close()
        _stop(server)
    files = sorted((tmp_path / "segments").iterdir())
    assert files
    read = pa.concat_tables([ipc.open_file(f).read_all() for f in files])
    assert read.equals(data)
    frame = pl.concat([pl.read_ipc(f) for f in files])
    assert frame.equals(pl.from_arrow(data))
    files = ds.dataset(files, format="ipc")
    assert duckdb.sql("SELECT * FROM files").fetchall() == [tuple(row.values()) for row in data.to_pylist()]


def test_put_ids_over_a_restart(tmp_path: Path) -> None:
    with _serve(tmp_path, "--durable") as server, server.client() as client:
        first = client.put("d", FLAT, mode="append", put_id="one")
        client.close()
        server.kill()
    with _serve(tmp_path, "--durable") as server, server.client() as client:
        assert client.put("d", FLAT, mode="append", put_id="one") == first
        assert client.describe("d")["rows"] == FLAT.num_rows


def test_a_ttl_goes_on_over_a_restart(tmp_path: Path) -> None:
    with _serve(tmp_path, "--durable") as server, server.client() as client:
        client.put("short", FLAT, ttl=1)
        client.put("long", FLAT, ttl=3600)
        expires = client.describe("long")["expires"]
        client.close()
        server.kill()
    time.sleep(1)
    with _serve(tmp_path, "--durable") as server, server.client() as client:
        assert client.names() == ["long"]
        assert client.describe("long")["expires"] == expires
        assert len(list((tmp_path / "segments").iterdir())) == 1


def test_tickets_and_leases_end_with_the_server(tmp_path: Path) -> None:
    with _serve(tmp_path, "--durable") as server, server.client() as client:
        client.put("d", FLAT)
        old = client.info("d").endpoints[0].ticket
        client.put("d", FLAT.slice(0, 10))
        assert client.flight.do_get(old).read_all().equals(FLAT)
        client.close()
        server.kill()
    with _serve(tmp_path, "--durable") as server, server.client() as client:
        assert client.get("d").num_rows == 10
        with pytest.raises(pa.ArrowException):
            client.flight.do_get(old).read_all()


def test_two_servers_do_not_share_a_folder(tmp_path: Path) -> None:
    with _serve(tmp_path) as server:
        with pytest.raises(StartError, match=rf"process {server.pid} uses it"):
            _serve(tmp_path)
        server.kill()
    with _serve(tmp_path):
        pass


def test_folders_that_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.doc").write_text("precious")
    with pytest.raises(StartError, match=r"there is thesis.doc, but no file FORMAT"):
        _serve(other)
    assert [p.name for p in other.iterdir()] == ["thesis.doc"]

    folder = tmp_path / "data"
    with _serve(folder, "--durable") as server, server.client() as client:
        client.put("d", FLAT)
        client.close()
        _stop(server)
    version = (folder / "FORMAT").read_text()
    (folder / "FORMAT").write_text(version.replace("1", "7"))
    with pytest.raises(StartError, match=r"FORMAT says .*version 7.*version 1 only"):
        _serve(folder)
    (folder / "FORMAT").write_text(version)

    catalog = folder / "catalog.db"
    whole = catalog.read_bytes()
    catalog.write_bytes(whole[:9000])
    with pytest.raises(StartError, match=r"catalog.db: the durable catalogue is damaged"):
        _serve(folder)
    catalog.unlink()
    with pytest.raises(StartError, match=r"catalog.db is missing, but there are files in segments"):
        _serve(folder)
    catalog.write_bytes(whole)
    with _serve(folder) as server, server.client() as client:
        assert client.get("d").equals(FLAT)


def test_a_damaged_file_costs_its_own_batches_only(tmp_path: Path) -> None:
    with _serve(tmp_path, "--durable") as server, server.client() as client:
        client.put("good", FLAT)
        for codec in ("zstd", "none"):
            client.put("bad", FLAT, mode="append", codec=codec)
        client.close()
        server.kill()
    last = sorted((tmp_path / "segments").iterdir())[-1]
    with last.open("r+b") as f:
        f.truncate(last.stat().st_size // 2)
    with _serve(tmp_path, "--durable") as server, server.client() as client:
        assert re.search(rf"batches are lost.*bad.*{last.name}", server.log())
        assert client.get("good").equals(FLAT)
        assert client.info("bad").total_records == 2 * FLAT.num_rows
        assert client.get("bad", limit=FLAT.num_rows).equals(FLAT)
        with pytest.raises(Exception, match=rf"batch 0 of {last.name} is lost") as failed:
            client.get("bad")
        assert isinstance(failed.value, fl.FlightInternalError | pa.ArrowException)
        client.put("bad", FLAT)
        assert client.get("bad").equals(FLAT)
        client.close()
        server.kill()
    with _serve(tmp_path, "--durable") as server, server.client() as client:
        assert client.get("bad").equals(FLAT)
        assert "batches are lost" not in server.log()


def test_a_start_with_many_datasets(tmp_path: Path) -> None:
    """It reads metadata only. Its time is told, not judged."""
    data = FLAT.slice(0, 100)
    with _serve(tmp_path, "--durable") as server:

        def put(worker: int) -> None:
            with server.client() as client:
                for n in range(worker, DATASETS, 8):
                    client.put(f"many/{n:06}", data)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(put, range(8)))
        server.kill()
    began = time.monotonic()
    with _serve(tmp_path, "--durable", "--log-format", "json") as server, server.client() as client:
        ready = time.monotonic() - began
        lines = [json.loads(line) for line in server.log().splitlines()]
        restored = next(line for line in lines if line["msg"] == "restored durable datasets")
        print(f"{DATASETS} datasets: ready after {ready:.2f} s, of that {restored['took']} for them")
        assert restored["datasets"] == restored["files"] == DATASETS
        assert restored["lost_batches"] == restored["files_removed"] == 0
        assert len(client.names()) == DATASETS
        for n in (0, DATASETS // 2, DATASETS - 1):
            assert client.get(f"many/{n:06}").equals(data)
