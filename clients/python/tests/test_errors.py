"""What goes wrong has a class of its own, which is also Python's, and the server's text."""

from __future__ import annotations

import threading
from concurrent import futures
from pathlib import Path

import pyarrow as pa
import pyarrow.flight as fl
import pytest
import trustme

import flightcache
import tables
from flightcache import Client, errors
from service import Server

DATA = tables.table("flat", 1000)

CLASSES = {
    flightcache.DatasetNotFound: KeyError,
    flightcache.GenerationGone: KeyError,
    flightcache.TransactionNotFound: KeyError,
    flightcache.BadRequest: ValueError,
    flightcache.DatasetExists: ValueError,
    flightcache.NotSupported: NotImplementedError,
    flightcache.ResourceExhausted: MemoryError,
    flightcache.Unavailable: ConnectionError,
    flightcache.TimedOut: TimeoutError,
    flightcache.NotAllowed: PermissionError,
    flightcache.DataLoss: OSError,
    flightcache.Forked: RuntimeError,
}


def test_classes() -> None:
    for mine, python in CLASSES.items():
        assert issubclass(mine, python)
        assert issubclass(mine, flightcache.FlightcacheError)
        assert str(mine("what it was")) == "what it was"
    named = {n for n, v in vars(errors).items() if isinstance(v, type) and issubclass(v, Exception)}
    assert named == {n for n in flightcache.__all__ if isinstance(getattr(flightcache, n), type)} & named
    assert all(getattr(errors, n).__doc__ for n in named)


def test_an_unknown_dataset(client: Client, name: str) -> None:
    for call in (
        lambda: client.get(name),
        lambda: client.count(name),
        lambda: client.schema(name),
        lambda: client.statistics(name),
        lambda: client.dataset(name),
        lambda: client.scan(name),
        lambda: client.drop(name),
        lambda: client.pin(name),
        lambda: client.evict(name),
        lambda: client.compact(name),
    ):
        with pytest.raises(flightcache.DatasetNotFound, match=name) as raised:
            call()
        assert "gRPC" not in str(raised.value)
        assert "\n" not in str(raised.value)
    with pytest.raises(KeyError):
        client.get(name)


def test_bad_names_columns_and_filters(client: Client, name: str) -> None:
    client.put(name, DATA)
    for call, text in (
        (lambda: client.put("", DATA), "name"),
        (lambda: client.get("a//b"), "segment 2"),
        (lambda: client.get(name, ["nope"]), "nope"),
        (lambda: client.get(name, filters=[["nope", "=", 1]]), "nope"),
        (lambda: client.get(name, filters=[["id", "about", 1]]), "about"),
        (lambda: client.statistics(name, ["nope"]), "nope"),
        (lambda: client.put(name, DATA, sorted_by=["nope"]), "nope"),
    ):
        with pytest.raises(ValueError, match=text) as raised:
            call()
        assert isinstance(raised.value, flightcache.BadRequest)


def test_an_evicted_dataset(client: Client, name: str) -> None:
    client.put(name, DATA)
    assert client.evict(name)["dropped"]
    with pytest.raises(flightcache.DatasetNotFound, match="evicted"):
        client.get(name)


def test_no_memory() -> None:
    with Server("--memory", "8MiB", "--put-wait", "0.1s") as server, flightcache.connect(server.address) as client:
        with pytest.raises(flightcache.ResourceExhausted, match="budget"):
            client.put("large", tables.table("flat", 400_000), codec="none")
        client.put("small", DATA, pin=True)
        with pytest.raises(flightcache.Refused, match="pinned"):
            client.evict("small")


def test_a_damaged_file(tmp_path: Path) -> None:
    with (
        Server("--memory", "64MiB", "--data-dir", str(tmp_path / "data")) as server,
        flightcache.connect(server.address) as client,
    ):
        client.put("spilled", tables.table("flat", 100_000))
        client.evict("spilled")
        for file in (tmp_path / "data" / "segments").iterdir():
            content = bytearray(file.read_bytes())
            content[2000:40_000] = bytes(38_000)
            file.write_bytes(content)
        with pytest.raises(flightcache.DataLoss, match="batch"):
            client.get("spilled")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("gRPC returned resource exhausted error, with message: no room", flightcache.ResourceExhausted),
        ("gRPC returned precondition failed error, with message: no room", flightcache.Refused),
        ("gRPC returned aborted error, with message: no room", flightcache.Conflict),
        ("gRPC returned data loss error, with message: no room. Detail: Internal", flightcache.DataLoss),
        ("Unknown: Flight returned already exists error, with message: no room", flightcache.DatasetExists),
        ("Flight returned unimplemented error, with message: no room. Client context: OK", flightcache.NotSupported),
        ("Flight returned not found error, with message: no room", flightcache.NotFound),
        ("Flight returned a new error, with message: no room", flightcache.BadRequest),
    ],
)
def test_texts(text: str, kind: type[flightcache.FlightcacheError]) -> None:
    got = errors.translated(pa.ArrowInvalid(text))
    assert type(got) is kind
    assert str(got) == "no room"
    assert errors.translated(pa.ArrowInvalid("no answer of a server")) is None


class Codes(fl.FlightServerBase):
    """A server that answers every read with the error that its ticket names."""

    def do_get(self, context: fl.ServerCallContext, ticket: fl.Ticket) -> fl.FlightDataStream:
        known = {
            b"unauthenticated": fl.FlightUnauthenticatedError,
            b"unauthorized": fl.FlightUnauthorizedError,
            b"cancelled": fl.FlightCancelledError,
            b"timed out": fl.FlightTimedOutError,
            b"internal": fl.FlightInternalError,
        }
        raise known[ticket.ticket]("what it was")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("unauthenticated", flightcache.NotAllowed),
        ("unauthorized", flightcache.NotAllowed),
        ("cancelled", flightcache.Cancelled),
        ("timed out", flightcache.TimedOut),
        ("internal", flightcache.FlightcacheError),
    ],
)
def test_codes_of_any_server(code: str, kind: type[flightcache.FlightcacheError]) -> None:
    with (
        Codes("grpc://127.0.0.1:0") as server,
        fl.connect(f"grpc://127.0.0.1:{server.port}") as client,
        pytest.raises(kind, match="what it was"),
        errors.server_errors(),
    ):
        client.do_get(fl.Ticket(code.encode())).read_all()


class Headers(fl.ServerMiddlewareFactory):
    """Keeps what calls carry."""

    def __init__(self) -> None:
        self.seen: futures.Future[dict[str, list[str]]] = futures.Future()

    def start_call(self, info: object, headers: dict[str, list[str]]) -> None:
        if not self.seen.done():
            self.seen.set_result(headers)


def test_tokens_and_headers_are_sent() -> None:
    headers = Headers()
    with Codes("grpc://127.0.0.1:0", middleware={"headers": headers}) as server:
        address = f"grpc://127.0.0.1:{server.port}"
        client = flightcache.connect(address, token="s3cret", headers={"X-Team": "a"}, retries=0)
        with client, pytest.raises(NotImplementedError):
            client.schema("x")
    sent = headers.seen.result(10)
    assert sent["authorization"] == ["Bearer s3cret"]
    assert sent["x-team"] == ["a"]
    assert sent["flightcache-accept-codecs"] == ["zstd, lz4"]


class Schemas(fl.FlightServerBase):
    """A server that has one schema for everything."""

    def get_schema(self, context: fl.ServerCallContext, descriptor: fl.FlightDescriptor) -> fl.SchemaResult:
        return fl.SchemaResult(DATA.schema)


def test_tls() -> None:
    """Over TLS, with the certificate of the server's own authority, and not without it."""
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost")
    pair = (certificate.cert_chain_pems[0].bytes(), certificate.private_key_pem.bytes())
    with Schemas("grpc+tls://localhost:0", tls_certificates=[pair]) as server:
        address = f"grpc+tls://localhost:{server.port}"
        with flightcache.connect(address, tls_root_certs=authority.cert_pem.bytes()) as client:
            assert client.schema("x").equals(DATA.schema)
        with flightcache.connect(address, disable_server_verification=True) as client:
            assert client.schema("x").equals(DATA.schema)
        with flightcache.connect(address, retries=0) as client, pytest.raises(flightcache.Unavailable):
            client.schema("x")


def test_unix_sockets(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with Server("--listen", f"grpc+unix://{path}") as server:
        assert server.address
        with flightcache.connect(f"grpc+unix://{path}") as client:
            client.put("x", DATA)
            assert client.get("x").equals(DATA)


@pytest.mark.parametrize("address", ["", "nonsense", "http://127.0.0.1:1"])
def test_bad_addresses(address: str) -> None:
    with pytest.raises(flightcache.BadRequest, match=r"grpc\+tls"):
        flightcache.connect(address)
    assert threading.active_count() < 100
