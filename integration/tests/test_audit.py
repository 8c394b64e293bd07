"""The audit, as an operator reads it after a day of stock clients: who wrote what, who was denied, and no secrets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.flight as fl
import pytest
from test_identity import TABLE, Site, bearer

from service import Client, Server

SECRET = "a-token-that-is-not-known"


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def work(site: Site, server: Server, client: Client) -> None:
    """Puts, reads and drops as callers who may, and as some who may not."""
    loader = bearer(site.token)
    client.put("sales/2024", TABLE, loader)
    assert client.get("sales/2024", loader) == TABLE
    client.flight.authenticate_basic_token("alice", "pass word")
    with pytest.raises(fl.FlightUnauthenticatedError):
        client.flight.authenticate_basic_token("alice", "not her password")
    with pytest.raises(fl.FlightUnauthenticatedError):
        client.get("sales/2024", bearer(SECRET))
    with site.client(server, own=True) as analyst:
        assert analyst.get("sales/2024") == TABLE
        with pytest.raises(fl.FlightUnauthorizedError):
            analyst.put("sales/2024", TABLE)
        with pytest.raises(KeyError):
            analyst.get("wages")
    for action in ("pin", "unpin", "drop"):
        body = json.dumps({"dataset": "sales/2024"}).encode()
        list(client.flight.do_action(fl.Action(action, body), loader))


def test_audit(tmp_path: Path) -> None:
    site, audit = Site(tmp_path), tmp_path / "audit.jsonl"
    with site.server(flags=["--audit", str(audit)]) as server, site.client(server) as client:
        work(site, server, client)
        text = audit.read_text()
        log = server.log()
    lines = lines_of(text)
    assert all(line["logger"] == "audit" and line["level"] == "info" and line["ts"] for line in lines)
    assert all(line["peer"].startswith("127.0.0.1:") for line in lines)
    told = [(x["msg"], x.get("caller"), x.get("by"), x.get("dataset"), x["code"]) for x in lines]
    name = "sales/2024"
    assert told == [
        ("put", "loader", "token", name, "OK"),
        ("login", "alice", "password", None, "OK"),
        ("login", None, None, None, "Unauthenticated"),
        ("DoGet", None, None, None, "Unauthenticated"),
        ("put", "CN=client", "certificate", name, "PermissionDenied"),
        ("DoGet", "CN=client", "certificate", "wages", "NotFound"),
        ("pin", "loader", "token", name, "OK"),
        ("unpin", "loader", "token", name, "OK"),
        ("drop", "loader", "token", name, "OK"),
    ]
    put, drop = lines[0], lines[-1]
    assert put["rows"] == drop["rows"] == TABLE.num_rows
    assert put["bytes"] > pa.array(range(1000)).nbytes
    assert drop["bytes"] > 0
    assert lines[3]["reason"] == "an unknown token"
    assert lines[4]["denied"] == "write"
    assert lines[5]["denied"] == "read"
    for secret in (site.token, SECRET, "pass word", "not her password"):
        assert secret not in text
        assert secret not in log


def test_audit_in_the_log(tmp_path: Path) -> None:
    site = Site(tmp_path)
    flags = ["--log-format", "json", "--log-level", "error"]
    with site.server(flags=flags) as server, site.client(server) as client:
        work(site, server, client)
        lines = lines_of(server.log())
    assert [line["msg"] for line in lines if line.get("logger") == "audit"] == [
        *("put", "login", "login", "DoGet", "put", "DoGet", "pin", "unpin", "drop")
    ]
