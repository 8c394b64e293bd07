"""Options: how the connector finds its server, and how it logs in. Stock Flight servers hear what it says."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.flight as fl
import pytest
import trustme
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from service import Client, Server

TABLE = pa.table({"x": [1, 2, 3]})


class Heard(fl.ServerMiddlewareFactory):
    """Keeps the authorization of every call, and asks for one; a user's is answered with a token."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.token = "for-ada"

    def start_call(self, info: Any, headers: dict[str, list[str]]) -> fl.ServerMiddleware | None:
        (said,) = headers.get("authorization", ["nothing"])
        self.calls.append((info.method.name, said))
        if said == "Basic " + base64.b64encode(b"ada:lovelace").decode():
            return Token(self.token)
        if said not in ("Bearer sesame", f"Bearer {self.token}"):
            raise fl.FlightUnauthenticatedError("who are you?")
        return None


class Token(fl.ServerMiddleware):
    def __init__(self, token: str) -> None:
        self._token = token

    def sending_headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._token}"}


class Allowing(fl.ServerAuthHandler):
    """Lets the handshake pass: the middleware looks at the headers."""

    def authenticate(self, outgoing: Any, incoming: Any) -> None:
        pass

    def is_valid(self, token: bytes) -> str:
        return ""


class Stock(fl.FlightServerBase):
    """Answers for any dataset with ``TABLE``, in flightcache's words."""

    def get_flight_info(self, context: Any, descriptor: fl.FlightDescriptor) -> fl.FlightInfo:
        column = {"name": "x", "type": "int64", "decoded_bytes": 24, "null_count": 0}
        facts = {"generation": "1", "rows": 3, "decoded_bytes": 24, "stored_bytes": 24, "columns": [column]}
        endpoint = fl.FlightEndpoint(b"t", [])
        return fl.FlightInfo(TABLE.schema, descriptor, [endpoint], 3, 24, True, json.dumps(facts).encode())

    def do_get(self, context: Any, ticket: fl.Ticket) -> fl.RecordBatchStream:
        return fl.RecordBatchStream(TABLE)

    def do_action(self, context: Any, action: fl.Action) -> Iterator[bytes]:
        yield b"\x08\x01"  # a lease that is cancelled


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def stock(heard: Heard) -> Iterator[Stock]:
    with Stock("grpc://127.0.0.1:0", auth_handler=Allowing(), middleware={"heard": heard}) as running:
        threading.Thread(target=running.serve, daemon=True).start()
        yield running


def read(spark: SparkSession, address: str, **options: str) -> DataFrame:
    return spark.read.format("flightcache").option("address", address).options(**options).load("any")


def test_a_token_goes_with_every_call(spark: SparkSession, stock: Stock, heard: Heard) -> None:
    frame = read(spark, f"grpc://127.0.0.1:{stock.port}", token="sesame")
    assert frame.collect() == [(1,), (2,), (3,)]
    assert {said for _, said in heard.calls} == {"Bearer sesame"}
    assert {"GET_FLIGHT_INFO", "DO_GET"} <= {method for method, _ in heard.calls}
    assert "sesame" not in frame._jdf.queryExecution().toString()


def test_a_user_is_given_a_token(spark: SparkSession, stock: Stock, heard: Heard) -> None:
    frame = read(spark, f"grpc://127.0.0.1:{stock.port}", username="ada", password="lovelace")
    assert frame.collect() == [(1,), (2,), (3,)]
    assert ("HANDSHAKE", "Basic " + base64.b64encode(b"ada:lovelace").decode()) in heard.calls
    assert {said for method, said in heard.calls if method != "HANDSHAKE"} == {"Bearer for-ada"}
    heard.token = "another"  # the first one has ended
    again = read(spark, f"grpc://127.0.0.1:{stock.port}", username="ada", password="lovelace")
    assert again.collect() == [(1,), (2,), (3,)]


def test_nobody_is_told_what_to_give(spark: SparkSession, stock: Stock) -> None:
    with pytest.raises(PySparkException, match=r"who are you.*give the option token, or username and password"):
        read(spark, f"grpc://127.0.0.1:{stock.port}")


def test_tls(spark: SparkSession, heard: Heard, tmp_path: Path) -> None:
    authority = trustme.CA()
    own = authority.issue_cert("localhost")
    roots = tmp_path / "roots.pem"
    authority.cert_pem.write_to_path(roots)
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(other)
    certificates = [(own.cert_chain_pems[0].bytes(), own.private_key_pem.bytes())]
    with Stock(
        "grpc+tls://localhost:0", auth_handler=Allowing(), tls_certificates=certificates, middleware={"heard": heard}
    ) as running:
        threading.Thread(target=running.serve, daemon=True).start()
        address = f"grpc+tls://localhost:{running.port}"
        trusting = {"token": "sesame", "tls.root-certs": str(roots)}
        assert read(spark, address, **trusting).collect() == [(1,), (2,), (3,)]
        with pytest.raises(PySparkException, match="cannot be reached"):
            read(spark, address, token="sesame", **{"tls.root-certs": str(other)})


def test_tls_of_the_built_server(spark: SparkSession, tmp_path: Path) -> None:
    authority = trustme.CA()
    own = authority.issue_cert("localhost")
    files = {name: tmp_path / name for name in ("roots.pem", "server.pem", "server.key")}
    authority.cert_pem.write_to_path(files["roots.pem"])
    own.cert_chain_pems[0].write_to_path(files["server.pem"])
    own.private_key_pem.write_to_path(files["server.key"])
    flags = ["--tls-cert", str(files["server.pem"]), "--tls-key", str(files["server.key"])]
    plain, secure = "grpc://127.0.0.1:0", "grpc+tls://localhost:0"
    with Server(*flags, listen=[plain, secure]) as running, running.client() as client:
        client.put("secret", TABLE)
        address = f"grpc+tls://localhost:{running.addresses[1].rsplit(':', 1)[1]}"
        frame = read(spark, address, **{"tls.root-certs": str(files["roots.pem"]), "dataset": "secret"})
        assert frame.collect() == [(1,), (2,), (3,)]
        writer = frame.write.format("flightcache").option("address", address).option("dataset", "secret")
        writer.option("tls.root-certs", str(files["roots.pem"])).mode("append").save()
        assert client.describe("secret")["rows"] == 6
        assert running.stop() == 0, running.log()


def test_the_first_server_that_answers_is_used(spark: SparkSession, server: Server, client: Client, name: str) -> None:
    client.put(name, TABLE)
    addresses = f"grpc://127.0.0.1:1,{server.address}"
    reader = spark.read.format("flightcache").option("address", addresses).option("dataset", name)
    assert reader.load().collect() == [(1,), (2,), (3,)]
    with pytest.raises(PySparkException, match=r"127.0.0.1:1: the server cannot be reached .* is it running"):
        reader.option("address", "grpc://127.0.0.1:1").load()


def test_a_dataset_that_is_not_there(spark: SparkSession, server: Server) -> None:
    with pytest.raises(PySparkException, match=r"dataset no/such at grpc://.*: NOT_FOUND: .*no/such"):
        spark.read.format("flightcache").option("address", server.address).load("no/such")
    with pytest.raises(PySparkException, match="give the option dataset"):
        spark.read.format("flightcache").option("address", server.address).load()


def test_a_schema_that_is_given(spark: SparkSession, server: Server, client: Client, name: str) -> None:
    client.put(name, pa.table({"x": [1, 2], "y": ["a", "b"]}))
    reader = spark.read.format("flightcache").option("address", server.address).option("dataset", name)
    assert reader.schema("y STRING").load().collect() == [("a",), ("b",)]
    with pytest.raises(PySparkException, match="column x is BIGINT, and STRING in the given schema"):
        reader.schema("x STRING").load().collect()
    with pytest.raises(PySparkException, match="no column z"):
        reader.schema("z STRING").load().collect()
