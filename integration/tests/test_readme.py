"""The Python of the README runs as it stands, block after block, against a server."""

from __future__ import annotations

import re
import shutil
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.flight as fl
import pytest
from test_identity import Site, bearer, secret

from service import ROOT, Server

README = (ROOT / "README.md").read_text()
DEFAULT_ADDRESS = "grpc://127.0.0.1:8815"
LOGIN_ADDRESS = "grpc+tls://data.example.org:8815"
LOGINS = README[README.index("### Who calls") : README.index("### What callers may do")]


def blocks(text: str, language: str = "python") -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert found
    return found


def test_python_blocks(server: Server) -> None:
    scope: dict[str, object] = {}
    for block in blocks(README.replace(LOGINS, "")):
        assert "assert" in block
        exec(block.replace(DEFAULT_ADDRESS, server.address), scope)


def test_logins_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(tmp_path)
    for name, file in {"ca.pem": "roots.pem", "client.pem": "me.pem", "client.key": "me.key"}.items():
        shutil.copy(site.authority.path(name), tmp_path / file)
    site.write("token", site.token + "\n")
    site.write("passwords", secret("password", "alice", stdin="correct horse\n").stdout)
    monkeypatch.chdir(tmp_path)
    warnings.filterwarnings("ignore", module="adbc_driver_manager")
    with site.server() as server, site.client(server) as client:
        client.put("sales/2024", pa.table({"city": ["Oslo"] * 6}), bearer(site.token))
        scope: dict[str, object] = {"flight": fl}
        for block in blocks(LOGINS):
            assert "assert" in block
            exec(block.replace(LOGIN_ADDRESS, server.address), scope)
        assert {"alice", "loader", "CN=client"} <= set(re.findall(r'"rpc": "DoGet".*"caller": "([^"]+)"', server.log()))


def test_logins_in_java() -> None:
    """Its lines are those of the client that test_logins.py runs."""
    tested = (ROOT / "integration" / "java" / "src" / "main" / "java" / "zooclient" / "Login.java").read_text()
    for line in blocks(LOGINS, "java")[0].splitlines():
        assert line.strip() in tested
