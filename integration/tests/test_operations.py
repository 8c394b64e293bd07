"""What engines and operators do: projections, limits, readers that are used twice, and where the server listens."""

from __future__ import annotations

import json
import socket
import subprocess
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.flight as fl
import pytest
from test_identity import Site

import tables
from service import Client, Server, StartError, command_of, counted, serve_command, wait

WIDE = tables.table("wide", 20_000, batch_rows=1000, columns=16)


@pytest.fixture(scope="module")
def large(server: Server) -> str:
    """A dataset of 64 batches, each some hundred KiB on the wire."""
    with server.client() as client:
        client.put("large", tables.table("flat", 640_000, batch_rows=10_000), codec="none", batching="keep")
    return "large"


def test_one_of_16_columns_by_a_command_over_tls_with_a_login_and_a_certificate(tmp_path: Path) -> None:
    """The projection is in the command, which comes back as it was sent, and in the ticket."""
    site = Site(tmp_path)
    with site.server() as server, site.client(server, own=True) as client:
        client.put(
            "sales/wide", WIDE, fl.FlightCallOptions(headers=[(b"authorization", f"Bearer {site.token}".encode())])
        )
        options = fl.FlightCallOptions(headers=[client.flight.authenticate_basic_token("alice", "pass word")])
        command = json.dumps({"columns": ["c7"], "dataset": "sales/wide"}, indent=3).encode()
        descriptor = fl.FlightDescriptor.for_command(command)
        assert client.flight.get_schema(descriptor, options).schema == WIDE.select(["c7"]).schema
        info = client.flight.get_flight_info(descriptor, options)
        assert info.descriptor.command == command
        assert info.schema == WIDE.select(["c7"]).schema
        assert info.total_bytes == WIDE.column("c7").nbytes
        (endpoint,) = info.endpoints
        assert client.flight.do_get(endpoint.ticket, options).read_all().equals(WIDE.select(["c7"]))
        everything = fl.FlightDescriptor.for_command(command_of("sales/wide"))
        (endpoint,) = client.flight.get_flight_info(everything, options).endpoints
        assert client.flight.do_get(endpoint.ticket, options).read_all().equals(WIDE)


def test_limit_10_over_a_large_table(server: Server, client: Client, large: str) -> None:
    """A ticket may have the limit; an engine that stops by itself has the server stop too."""
    whole = client.describe(large)["stored_bytes"]
    with counted(client) as done:
        assert client.get(large, limit=10).num_rows == 10
    assert done["rows_out"] == 10
    assert done["bytes_out"] < whole / 1000
    with counted(client) as done:
        gets = client.stats()["gets"]
        with server.client() as other, duckdb.connect() as engine:
            reader = other.flight.do_get(fl.Ticket(large.encode())).to_reader()
            assert len(engine.from_arrow(reader).limit(10).fetchall()) == 10
            del reader
        wait(lambda: client.stats()["gets"] > gets)
    # What is on its way by then fills the windows of a connection.
    assert done["bytes_out"] < whole


def test_two_queries_on_one_reader_and_a_ticket_twice(client: Client, large: str) -> None:
    """A reader is used up by its first query, and a second one ends. A ticket is never used up."""
    (endpoint,) = client.info(large).endpoints
    for ticket in (endpoint.ticket, fl.Ticket(large.encode()), fl.Ticket(command_of(large))):
        with duckdb.connect() as engine:
            engine.register("once", client.flight.do_get(ticket).to_reader())
            assert engine.sql("SELECT count(*) FROM once").fetchall() == [(640_000,)]
            try:
                again = engine.sql("SELECT count(*) FROM once").fetchall()
            except (duckdb.Error, pa.ArrowException):
                again = [(0,)]
            assert again == [(0,)]
            assert engine.from_arrow(client.flight.do_get(ticket).to_reader()).count("*").fetchall() == [(640_000,)]


def _own_address() -> str:
    """An address of this machine that is not its loopback; one is given if it has no other."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))  # nothing is sent
            return s.getsockname()[0]
        except OSError:
            return "127.0.0.2"


def test_the_default_is_the_loopback_and_beyond_it_takes_a_word() -> None:
    """A server that was told nothing is not reached by another address of its machine."""
    try:
        with Server(listen=[]) as server:
            said = " ".join(server.addresses)
    except StartError as e:  # somebody else has the port
        said = str(e)
    assert "grpc://127.0.0.1:8815" in said
    with Server(listen=["grpc://127.0.0.1:0"]) as server:
        port = int(server.address.rpartition(":")[2])
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((_own_address(), port), timeout=5)
        assert "WARN" not in server.log()
    for address in ("grpc://0.0.0.0:0", f"grpc://{_own_address()}:0", "grpc://[::]:0", "grpc://:0"):
        if address.startswith("grpc://127."):
            continue
        refused = subprocess.run(serve_command(listen=[address]), capture_output=True, text=True, timeout=60)
        assert refused.returncode == 1
        assert "beyond the loopback anyone could read" in refused.stderr
    with Server("--insecure", listen=["grpc://0.0.0.0:0"]) as server:
        assert "--insecure: whoever reaches this address may read and write everything" in server.log()
