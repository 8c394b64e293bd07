"""Who calls, as stock clients tell it, over TLS: passwords, tokens and certificates, and what they may do."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.flight as fl
import pytest
from test_tls import Authority

from service import BINARY, Client, Server

TABLE = pa.table({"k": pa.array(range(1000))})
RULES = """
roles:
  all: {admin: ["**"]}
  analyst: {read: ["sales/**"]}
callers:
  loader: [all]
  alice: [analyst]
  "CN=client": [analyst]
"""


def secret(*args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BINARY, "secret", *args], input=stdin, capture_output=True, text=True, check=True, timeout=60
    )


class Site:
    """The files of a server that knows its callers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = Authority(folder / "certificates")
        made = secret("token", "loader")
        self.token = made.stdout.strip()
        self.write("tokens", made.stderr)
        self.write("passwords", secret("password", "alice", stdin="pass word\n").stdout)
        self.write("key", secret("key").stdout)
        self.write("rules.yaml", RULES)

    def write(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text)
        return str(self.folder / name)

    def identity_flags(self) -> list[str]:
        names = {"tokens": "auth-tokens", "passwords": "auth-passwords", "key": "auth-key", "rules.yaml": "permissions"}
        return [flag for name, option in names.items() for flag in (f"--{option}", str(self.folder / name))]

    def server(self, *listen: str, flags: Sequence[str] = ()) -> Server:
        tls = [*self.authority.flags(), "--tls-client-auth", "request", "--auth-certificates"]
        return Server(*tls, *self.identity_flags(), *flags, listen=listen or ["grpc+tls://127.0.0.1:0"])

    def client(self, server: Server, own: bool = False) -> Client:
        return Client(server.address, **self.authority.roots(), **(self.authority.own() if own else {}))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def guarded(site: Site) -> Iterator[Server]:
    with site.server() as running:
        with site.client(running) as client:
            for name in ("sales/2024", "wages"):
                client.put(name, TABLE, bearer(site.token))
        yield running
        assert running.stop() == 0, running.log()


def bearer(token: str, scheme: str = "Bearer") -> fl.FlightCallOptions:
    return fl.FlightCallOptions(timeout=60, headers=[(b"authorization", f"{scheme} {token}".encode())])


def sees(client: Client, options: fl.FlightCallOptions | None = None) -> list[str]:
    return ["/".join(p.decode() for p in i.descriptor.path) for i in client.flight.list_flights(b"", options)]


def test_tokens(site: Site, guarded: Server) -> None:
    with site.client(guarded) as client:
        for scheme in ("Bearer", "bearer", "BEARER"):
            assert sees(client, bearer(site.token, scheme)) == ["sales/2024", "wages"]
        for options in (None, bearer("x"), bearer(""), bearer(site.token, "Token")):
            with pytest.raises(fl.FlightUnauthenticatedError, match="credentials are missing, wrong or expired"):
                sees(client, options)
            with pytest.raises(fl.FlightUnauthenticatedError):
                client.put("sales/2024", TABLE, options)
            with pytest.raises(fl.FlightUnauthenticatedError):
                client.get("sales/2024", options)


def test_basic_as_pyarrow_logs_in(site: Site, guarded: Server) -> None:
    with site.client(guarded) as client:
        header = client.flight.authenticate_basic_token("alice", "pass word")
        assert header[0] == b"authorization"
        assert header[1].startswith(b"Bearer ")
        options = fl.FlightCallOptions(headers=[header])
        assert sees(client, options) == ["sales/2024"]
        assert client.get("sales/2024", options) == TABLE
        with pytest.raises(fl.FlightUnauthenticatedError):
            client.flight.authenticate_basic_token("alice", "password")
    assert "pass word" not in guarded.log()


class Login(fl.ClientAuthHandler):
    """pyarrow's older handshake: the name and the password in the payload, and the token in each call."""

    def __init__(self, name: str, password: str) -> None:
        super().__init__()
        self.basic = fl.BasicAuth(name, password)
        self.token = b""

    def authenticate(self, outgoing: fl.ClientAuthSender, incoming: fl.ClientAuthReader) -> None:
        outgoing.write(self.basic.serialize())
        self.token = incoming.read()

    def get_token(self) -> bytes:
        return self.token


def test_the_older_handshake(site: Site, guarded: Server) -> None:
    with site.client(guarded) as client:
        client.flight.authenticate(Login("alice", "pass word"))
        assert sees(client) == ["sales/2024"]
    with site.client(guarded) as client, pytest.raises(fl.FlightUnauthenticatedError):
        client.flight.authenticate(Login("alice", "wrong"))


def test_certificates_are_names(site: Site, guarded: Server) -> None:
    with site.client(guarded, own=True) as client:
        assert sees(client) == ["sales/2024"]
        with pytest.raises(fl.FlightUnauthorizedError, match='"CN=client" may not write dataset "sales/2024"'):
            client.put("sales/2024", TABLE)
        with pytest.raises(KeyError, match="no such dataset"):
            client.get("wages")
        with pytest.raises(fl.FlightUnauthenticatedError):
            sees(client, bearer("wrong"))  # a good certificate does not help


def test_a_token_is_good_at_every_server_of_a_group(site: Site, guarded: Server) -> None:
    with site.client(guarded) as client:
        header = client.flight.authenticate_basic_token("alice", "pass word")
    with site.server() as second, site.client(second) as client:
        assert sees(client, fl.FlightCallOptions(headers=[header])) == []


def test_our_own_client(site: Site, guarded: Server) -> None:
    def run(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
        command = [BINARY, *args, "--address", guarded.address, "--ca", site.authority.path("ca.pem")]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, env=env)

    assert "sales/2024" in run("ls", FLIGHTCACHE_TOKEN=site.token).stdout
    assert "sales/2024" in run("ls", "--token-file", site.write("token", site.token + "\n")).stdout
    listed = run("ls", "--user", "alice", FLIGHTCACHE_PASSWORD="pass word")
    assert "sales/2024" in listed.stdout
    assert "wages" not in listed.stdout
    signed = secret("sign", "loader", "--key", str(site.folder / "key")).stdout.strip()
    assert "wages" in run("ls", FLIGHTCACHE_TOKEN=signed).stdout
    refused = run("ls")
    assert refused.returncode == 1
    assert "not authenticated" in refused.stderr
