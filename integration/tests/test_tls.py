"""TLS between the built server and stock clients: whom each side takes, and what happens when certificates change."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.flight as fl
import pytest

from service import BINARY, ROOT, Client, Server, wait

CERTIFICATES = ROOT / "bin" / "certificates"
TABLE = pa.table({"k": pa.array(range(100_000)), "s": pa.array([f"row {i}" for i in range(100_000)])})


class Authority:
    """A folder of certificates: of an authority, and of those that it has signed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        subprocess.run([CERTIFICATES, folder, "server", "client"], check=True)

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def read(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()

    def roots(self) -> dict[str, Any]:
        return {"tls_root_certs": self.read("ca.pem")}

    def own(self) -> dict[str, Any]:
        return {"cert_chain": self.read("client.pem"), "private_key": self.read("client.key")}

    def flags(self) -> list[str]:
        return [
            "--tls-cert",
            self.path("server.pem"),
            "--tls-key",
            self.path("server.key"),
            "--tls-client-ca",
            self.path("ca.pem"),
        ]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ours"))


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("others"))


KINDS = ("none", "request", "require")


@pytest.fixture(scope="module")
def secured(authority: Authority) -> Iterator[Server]:
    """One server that listens in each way, and without TLS."""
    listen = ["grpc://127.0.0.1:0", *(f"grpc+tls://127.0.0.1:0?client-auth={kind}" for kind in KINDS)]
    with Server(*authority.flags(), listen=listen) as running:
        with running.client() as client:
            client.put("t", TABLE)
        yield running
        assert running.stop() == 0, running.log()


def reads(address: str, **options: Any) -> bool:
    """Whether a client may read the table, wholly."""
    with Client(address, **options) as client:
        try:
            return client.get("t") == TABLE
        except (fl.FlightUnavailableError, fl.FlightInternalError):
            return False


@pytest.mark.parametrize(
    ("kind", "without", "with_ours", "with_others"),
    [("none", True, True, True), ("request", True, True, False), ("require", False, True, False)],
)
def test_whose_certificates_are_taken(
    secured: Server,
    authority: Authority,
    others: Authority,
    kind: str,
    without: bool,
    with_ours: bool,
    with_others: bool,
) -> None:
    address = secured.addresses[1 + KINDS.index(kind)]
    assert address.startswith("grpc+tls://127.0.0.1:")
    assert reads(address, **authority.roots()) == without
    assert reads(address, **authority.roots(), **authority.own()) == with_ours
    assert not reads(address, **others.roots(), **authority.own()), (
        "a client takes a server that it has no reason to trust"
    )
    # A client of C++ sends its certificate whoever the server asks for.
    assert reads(address, **authority.roots(), **others.own()) == with_others


def test_puts_and_names(secured: Server, authority: Authority) -> None:
    by_name = secured.addresses[1].replace("127.0.0.1", "localhost")
    with Client(by_name, **authority.roots()) as client:
        assert client.put("other", TABLE)["rows"] == TABLE.num_rows
        assert client.get("other", columns=["s"]) == TABLE.select(["s"])
    with Client(secured.addresses[1], **authority.roots(), override_hostname="localhost") as client:
        assert client.info("other").total_records == TABLE.num_rows
    assert not reads(secured.addresses[1], **authority.roots(), override_hostname="elsewhere")


def test_without_verification_and_with_a_certificate(secured: Server, authority: Authority) -> None:
    """Arrow C++ does not send a client's certificate when it does not verify the server: the log says so."""
    assert not reads(secured.addresses[3], disable_server_verification=True, **authority.own())
    wait(lambda: "shows no certificate" in secured.log() and "disable_server_verification" in secured.log())
    assert reads(secured.addresses[1], disable_server_verification=True)


def test_the_wrong_kind_of_client_leaves_one_line(authority: Authority) -> None:
    with Server(*authority.flags(), listen=["grpc://127.0.0.1:0", "grpc+tls://127.0.0.1:0"]) as server:
        plain, encrypted = server.addresses
        assert not reads(encrypted.replace("grpc+tls", "grpc"))
        assert not reads(plain.replace("grpc", "grpc+tls"), **authority.roots())
        wait(lambda: "a client without TLS came to an address with TLS" in server.log())
        wait(lambda: "a client with TLS came to an address without" in server.log())
        with server.client() as client:
            assert client.put("t", TABLE)["rows"] == TABLE.num_rows


def test_our_own_client(secured: Server, authority: Authority, tmp_path: Path) -> None:
    def run(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([BINARY, *args], capture_output=True, text=True, timeout=60)

    address = ["--address", secured.addresses[3], "--ca", authority.path("ca.pem")]
    own = ["--client-cert", authority.path("client.pem"), "--client-key", authority.path("client.key")]
    listed = run("ls", "--output", "json", *address, *own)
    assert "t" in [d["dataset"] for d in json.loads(listed.stdout)], listed.stderr
    (tmp_path / "in.csv").write_text("a,b\n1,x\n2,y\n")
    assert run("put", str(tmp_path / "in.csv"), "csv", *address, *own).returncode == 0
    assert run("get", "csv", "--to", str(tmp_path / "out.csv"), *address, *own).returncode == 0
    assert (tmp_path / "out.csv").read_text() == "a,b\n1,x\n2,y\n"
    refused = run("ls", *address)
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize("mode", [0o600, 0o660, 0o666])
def test_a_unix_socket_has_the_mode_that_was_asked_for(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "socket"
    with Server(listen=[f"grpc+unix://{path}?mode={mode:04o}"]) as server:
        assert server.address == f"grpc+unix://{path}"
        assert stat.S_IMODE(os.stat(path).st_mode) == mode
        with server.client() as client:
            client.put("t", TABLE)
            assert client.get("t") == TABLE
    assert not path.exists()
