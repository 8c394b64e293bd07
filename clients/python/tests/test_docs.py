"""The Python of the documentation runs as it stands, block after block, against a server."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import flightcache
from service import Server

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_ADDRESS = "grpc://127.0.0.1:8815"


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", ["README.md", "docs/reference.md"])
def test_pages(page: str) -> None:
    found = blocks(page)
    assert len(found) >= 4
    assert sum("assert" in block for block in found) >= len(found) - 1
    with Server("--memory", "256MiB") as server:
        scope: dict[str, object] = {"__name__": "page"}
        for block in found:
            exec(compile(block.replace(DEFAULT_ADDRESS, server.address), page, "exec"), scope)
        client = scope["client"]
        assert isinstance(client, flightcache.Client)
        client.close()


def test_the_package_s_own_example(server: Server) -> None:
    text = (flightcache.__doc__ or "").replace(DEFAULT_ADDRESS, server.address)
    example = doctest.DocTestParser().get_doctest(text, {}, "flightcache", None, None)
    assert len(example.examples) >= 5
    assert doctest.DocTestRunner().run(example).failed == 0


def test_the_lines_in_the_readme_of_the_repository(server: Server) -> None:
    page = (ROOT.parent.parent / "README.md").read_text()
    (block,) = (
        b for b in re.findall(r"^```text\n(.*?)^```", page, re.DOTALL | re.MULTILINE) if "flightcache.connect" in b
    )
    table = pa.table({"city": ["Oslo", "Rome"], "year": [2022, 2024]})
    scope = {"flightcache": flightcache, "table": table, "duckdb": duckdb, "pl": pl}
    exec(block.replace(DEFAULT_ADDRESS, server.address), scope)
    assert scope["sales"].to_table().equals(table)


def test_links_lead_somewhere() -> None:
    for page in ("README.md", "CHANGELOG.md", "docs/reference.md", "docs/walk.md"):
        for link in re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text()):
            if not link.startswith("https://"):
                assert ((ROOT / page).parent / link).exists(), f"{page}: {link}"


def test_the_walk(tmp_path: Path) -> None:
    """The walk-through runs, makes its figures, and its page shows what it printed."""
    with Server("--memory", "1GiB") as server:
        program = ROOT / "docs" / "render.py"
        command = [sys.executable, program, "--address", server.address, "--to", tmp_path]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    figures = sorted(path.name for path in tmp_path.glob("*.png"))
    assert len(figures) >= 3
    page = (tmp_path / "walk.md").read_text()
    assert all(f"]({name})" in page for name in figures)
    kept = (ROOT / "docs" / "walk.md").read_text()
    assert page == kept, "docs/walk.md is not what docs/walk.py prints: make it anew by docs/render.py"
    for name in figures:
        assert (tmp_path / name).read_bytes()[:4] == b"\x89PNG"
        assert (ROOT / "docs" / name).exists()
