"""What is shipped: the wheel, the sdist, types and documentation strings."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import tarfile
import zipfile
from importlib import metadata
from pathlib import Path

import flightcache

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"


def test_what_is_tested_is_installed() -> None:
    assert ROOT not in Path(flightcache.__file__).resolve().parents
    assert metadata.version("flightcache") == flightcache.__version__
    needed = metadata.requires("flightcache") or []
    assert [r for r in needed if "extra" not in r] == ["pyarrow>=20"]


def test_the_wheel() -> None:
    (wheel,) = DIST.glob("*.whl")
    assert wheel.name == f"flightcache-{flightcache.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    sources = {
        f"flightcache/{p.name}" for p in (ROOT / "src" / "flightcache").iterdir() if p.suffix in (".py", ".typed")
    }
    assert sources <= names
    assert "flightcache/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if "test" in name]


def test_the_sdist() -> None:
    (sdist,) = DIST.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", "src/flightcache/client.py"} <= names


def test_the_version_is_in_the_changelog() -> None:
    newest = re.search(r"^## (\S+?),? ", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert newest[1] == flightcache.__version__


def test_everything_public_is_documented() -> None:
    for name in flightcache.__all__:
        thing = getattr(flightcache, name)
        assert thing.__doc__, name
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            for member, value in vars(thing).items():
                if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                    assert value.__doc__, f"{name}.{member}"
    assert flightcache.__all__ == sorted(flightcache.__all__)


def test_nothing_but_pyarrow_is_imported() -> None:
    """Engines are optional, and so is numpy."""
    optional = "polars duckdb pandas datafusion ibis numpy matplotlib"
    imported = []
    for what in ("pyarrow.flight, pyarrow.dataset, pyarrow.compute", "flightcache"):
        program = f"import sys, {what}; print(sorted(set({optional.split()!r}) & set(sys.modules)))"
        imported.append(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout)
    # pyarrow itself has numpy and pandas where they are.
    assert imported[1] == imported[0] != ""
