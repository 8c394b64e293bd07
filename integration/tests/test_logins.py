"""Logins of stock clients over TLS: ADBC's and Java's handshakes, probes, and a load balancer that ends TLS."""

from __future__ import annotations

import json
import subprocess
import warnings
from collections.abc import Iterator
from typing import Any

import adbc_driver_flightsql.dbapi as adbc
import adbc_driver_manager
import pyarrow as pa
import pyarrow.flight as fl
import pytest
from adbc_driver_flightsql import DatabaseOptions
from test_identity import TABLE, Site, bearer, sees

import clients
from service import ROOT, Client, Server
from tlsproxy import TLSProxy

TOOLS = ROOT / ".tools"
SERVICE = "arrow.flight.protocol.FlightService"
PASSWORD = {"username": "alice", "password": "pass word"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def guarded(site: Site) -> Iterator[Server]:
    """A server that asks for certificates at its first address, and requires them at the second."""
    with site.server("grpc+tls://127.0.0.1:0", "grpc+tls://127.0.0.1:0?client-auth=require") as running:
        with site.client(running) as client:
            for name in ("sales/2024", "wages"):
                client.put(name, TABLE, bearer(site.token))
        yield running
        log = running.log()
        assert not [secret for secret in (site.token, "guess", "pass word") if secret in log]
        assert running.stop() == 0, running.log()


def test_pyarrow_with_a_certificate_that_is_required(site: Site, guarded: Server) -> None:
    with Client(guarded.addresses[1], **site.authority.roots(), **site.authority.own()) as client:
        assert sees(client) == ["sales/2024"]
        assert client.get("sales/2024") == TABLE
        header = client.flight.authenticate_basic_token("alice", "pass word")
        assert client.get("sales/2024", fl.FlightCallOptions(headers=[header])) == TABLE
        assert sees(client, bearer(site.token)) == ["sales/2024", "wages"]  # a token goes before the certificate
    with Client(guarded.addresses[1], **site.authority.roots()) as client, pytest.raises(fl.FlightUnavailableError):
        sees(client, bearer(site.token))


def partition(site: Site, server: Server, dataset: str) -> bytes:
    """A FlightInfo as ADBC takes it for one of its partitions."""
    with site.client(server) as client:
        descriptor = fl.FlightDescriptor.for_path(*dataset.split("/"))
        return client.flight.get_flight_info(descriptor, bearer(site.token)).serialize()


def adbc_options(site: Site, **more: Any) -> dict[str, str]:
    return {DatabaseOptions.TLS_ROOT_CERTS.value: site.authority.read("ca.pem").decode(), **more}


def adbc_reads(address: str, what: bytes, options: dict[str, str]) -> pa.Table:
    """Connects, which is when ADBC logs in, and reads a partition in a call of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of transactions, which a server of Flight alone has not
        with adbc.connect(address, db_kwargs=options) as connection, connection.cursor() as cursor:
            cursor.adbc_read_partition(what)
            return cursor.fetch_arrow_table()


def test_adbc_logs_in_by_its_handshake(site: Site, guarded: Server) -> None:
    calls = guarded.log().count('"rpc": "Handshake", "code": "OK"')
    read = adbc_reads(guarded.address, partition(site, guarded, "sales/2024"), adbc_options(site, **PASSWORD))
    assert read == TABLE
    log = guarded.log()
    assert log.count('"rpc": "Handshake", "code": "OK"') == calls + 1
    # The calls after it carry the token that the handshake was answered with.
    last = [line for line in log.splitlines() if '"rpc": "DoGet"' in line][-1]
    assert '"caller": "alice", "by": "signed token"' in last
    assert "pass word" not in log


@pytest.mark.parametrize("how", ["token", "certificate"])
def test_adbc_without_a_handshake(site: Site, guarded: Server, how: str) -> None:
    own = {
        "token": {DatabaseOptions.AUTHORIZATION_HEADER.value: f"Bearer {site.token}"},
        "certificate": {
            DatabaseOptions.MTLS_CERT_CHAIN.value: site.authority.read("client.pem").decode(),
            DatabaseOptions.MTLS_PRIVATE_KEY.value: site.authority.read("client.key").decode(),
        },
    }[how]
    address = guarded.addresses[1] if how == "certificate" else guarded.address
    assert adbc_reads(address, partition(site, guarded, "sales/2024"), adbc_options(site, **own)) == TABLE


def test_what_adbc_is_told(site: Site, guarded: Server) -> None:
    what = partition(site, guarded, "wages")
    with pytest.raises(adbc_driver_manager.ProgrammingError, match=r"UNAUTHENTICATED.*wrong or expired.*BasicToken"):
        adbc_reads(guarded.address, what, adbc_options(site, username="alice", password="guess"))
    for header in ("Bearer guess", "Basic eA=="):
        options = adbc_options(site, **{DatabaseOptions.AUTHORIZATION_HEADER.value: header})
        with pytest.raises(adbc_driver_manager.ProgrammingError, match="UNAUTHENTICATED"):
            adbc_reads(guarded.address, what, options)
    with pytest.raises(adbc_driver_manager.ProgrammingError, match=r"NOT_FOUND.*no such dataset"):
        adbc_reads(guarded.address, what, adbc_options(site, **PASSWORD))
    with (
        warnings.catch_warnings(action="ignore"),
        adbc.connect(guarded.address, db_kwargs=adbc_options(site, **PASSWORD)) as connection,
        connection.cursor() as cursor,
        pytest.raises(adbc_driver_manager.NotSupportedError, match="Flight SQL is not spoken here"),
    ):
        cursor.execute("SELECT 1")


def test_adbcs_token_is_good_at_another_server(site: Site, guarded: Server) -> None:
    """A token of one server, and a ticket of the other: as where endpoints lie elsewhere than where one logs in."""
    with site.client(guarded) as client:
        _, value = client.flight.authenticate_basic_token("alice", "pass word")
    with site.server() as second:
        with site.client(second) as client:
            client.put("sales/2024", TABLE, bearer(site.token))
        own = {DatabaseOptions.AUTHORIZATION_HEADER.value: value.decode()}
        assert adbc_reads(second.address, partition(site, second, "sales/2024"), adbc_options(site, **own)) == TABLE


def java_logs_in(site: Site, address: str, *ways: str) -> list[dict[str, Any]]:
    program = [*clients.COMMANDS["Java"][:-1], "zooclient.Login"]
    done = subprocess.run(
        [*program, address, site.authority.path("ca.pem"), "sales/2024", *ways],
        capture_output=True,
        text=True,
        timeout=clients.SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_java_logs_in(site: Site, guarded: Server) -> None:
    own = f"certificate|{site.authority.path('client.pem')}|{site.authority.path('client.key')}"
    good = ["token|alice|pass word", "jdbc|alice|pass word", "basic|alice|pass word", "older|alice|pass word"]
    bad = ["token|alice|guess", "jdbc|alice|guess", "basic|bob|x", "older|alice|guess", "bearer|guess", "none"]
    told = java_logs_in(site, guarded.address, *good, f"bearer|{site.token}", own, *bad)
    assert told[: -len(bad)] == [{"way": way.split("|")[0], "rows": 1000} for way in [*good, "bearer", own]]
    for line in told[-len(bad) :]:
        assert line["code"] == "UNAUTHENTICATED", line
        assert "missing, wrong or expired" in line["why"], line
    required = java_logs_in(site, guarded.addresses[1], own, "none")
    assert required[0] == {"way": "certificate", "rows": 1000}
    assert required[1]["code"] == "UNAVAILABLE"


def tool(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([TOOLS / name, *arguments], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("at", [0, 1])
def test_probes_need_no_login(site: Site, guarded: Server, at: int) -> None:
    """What Kubernetes and its like ask; where certificates are required, with one."""
    host = guarded.addresses[at].removeprefix("grpc+tls://")
    ca, cert, key = (site.authority.path(name) for name in ("ca.pem", "client.pem", "client.key"))
    trust = ["-addr", host, "-tls", "-tls-ca-cert", ca]
    own = ["-tls-client-cert", cert, "-tls-client-key", key] if at else []
    for service in ("", SERVICE):
        probed = tool("grpc-health-probe", *trust, *own, "-service", service)
        assert (probed.returncode, probed.stderr.strip()) == (0, "status: SERVING")
    assert "unknown service" in tool("grpc-health-probe", *trust, *own, "-service", "other").stderr
    if at:
        assert "failed to connect" in tool("grpc-health-probe", *trust).stderr

    trust = ["-cacert", ca, *(["-cert", cert, "-key", key] if at else [])]
    listed = tool("grpcurl", *trust, host, "list")
    assert {SERVICE, "grpc.health.v1.Health"} <= set(listed.stdout.split()), listed.stderr
    described = tool("grpcurl", *trust, host, "describe", f"{SERVICE}.DoGet").stdout
    assert (
        "rpc DoGet ( .arrow.flight.protocol.Ticket ) returns ( stream .arrow.flight.protocol.FlightData );" in described
    )
    token = ["-H", f"authorization: Bearer {site.token}"]
    assert '"type": "drop"' in tool("grpcurl", *trust, *token, host, f"{SERVICE}/ListActions").stdout
    wrong = tool("grpcurl", *trust, "-H", "authorization: Bearer guess", host, f"{SERVICE}/ListActions")
    assert "Code: Unauthenticated" in wrong.stderr


def test_tls_ends_at_a_load_balancer(site: Site) -> None:
    """The server has no TLS and does not know by which name clients came; logins and streams work all the same."""
    large = pa.table({"x": pa.array(range(2_000_000), pa.int64())})
    folder = site.authority.folder
    with (
        Server(*site.identity_flags()) as server,
        TLSProxy(server.address, folder / "server.pem", folder / "server.key") as proxy,
    ):
        for address in (proxy.address, proxy.address.replace("127.0.0.1", "localhost")):
            with Client(address, **site.authority.roots()) as client:
                client.put("sales/2024", large, bearer(site.token))
                header = client.flight.authenticate_basic_token("alice", "pass word")
                options = fl.FlightCallOptions(headers=[header])
                info = client.flight.get_flight_info(fl.FlightDescriptor.for_path("sales", "2024"), options)
                assert info.endpoints[0].locations == []  # where the client is, not where the server thinks it is
                assert client.flight.do_get(info.endpoints[0].ticket, options).read_all() == large
                with pytest.raises(fl.FlightUnauthenticatedError, match="missing, wrong or expired"):
                    client.flight.authenticate_basic_token("alice", "guess")
            assert adbc_reads(address, info.serialize(), adbc_options(site, **PASSWORD)) == large
        assert java_logs_in(site, proxy.address, "jdbc|alice|pass word") == [{"way": "jdbc", "rows": 2_000_000}]
        assert proxy.connections >= 5
