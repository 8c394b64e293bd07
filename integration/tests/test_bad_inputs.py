"""Each wrong input gets an error of the right kind that names the dataset and the cure, and leaves nothing behind."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pyarrow as pa
import pyarrow.flight as fl
import pytest

import tables
import wiretool as wire
from service import Client, Server, command_of

STORED = "bad/stored"
ABSENT = "bad/absent"
DATA = tables.table("flat", 5000)
TWICE = pa.table([[1], [2]], names=["n", "n"])


@dataclasses.dataclass(frozen=True)
class Wrong:
    """One wrong call: what it does, the exception that pyarrow raises, and what the message must say."""

    id: str
    call: Callable[[Client], object]
    error: type[Exception]
    says: list[str]


def _ticket(ticket: bytes) -> Callable[[Client], object]:
    return lambda c: c.flight.do_get(fl.Ticket(ticket)).read_all()


def _info(command: bytes) -> Callable[[Client], object]:
    return lambda c: c.flight.get_flight_info(fl.FlightDescriptor.for_command(command))


def _path(*path: str) -> Callable[[Client], object]:
    return lambda c: c.flight.get_flight_info(fl.FlightDescriptor.for_path(*path))


def _put(dataset: str, data: pa.Table = DATA, **keys: object) -> Callable[[Client], object]:
    return lambda c: c.put(dataset, data, **keys)


def _action(name: str, **body: object) -> Callable[[Client], object]:
    return lambda c: c.action(name, **body)


def _raw_action(name: str, body: bytes) -> Callable[[Client], object]:
    return lambda c: list(c.flight.do_action(fl.Action(name, body)))


OTHER_NAMES = pa.table({"other": [1]})
OTHER_TYPE = DATA.set_column(1, "k", DATA["k"].cast(pa.int32()))
OTHER_ORDER = DATA.select(["k", "id", "v", "s1", "s2", "s3"])
FEWER = DATA.select(["id", "k"])

WRONG = [
    Wrong("get unknown dataset", _ticket(ABSENT.encode()), KeyError, [ABSENT]),
    Wrong("get unknown dataset by command", _ticket(command_of(ABSENT)), KeyError, [ABSENT]),
    Wrong("info of an unknown dataset", _info(command_of(ABSENT)), KeyError, [ABSENT]),
    Wrong("info of an unknown path", _path("bad", "absent"), KeyError, [ABSENT]),
    Wrong("describe unknown dataset", _action("describe", dataset=ABSENT), KeyError, [ABSENT]),
    Wrong("drop unknown dataset", _action("drop", dataset=ABSENT), KeyError, [ABSENT]),
    Wrong("unknown column", _ticket(command_of(STORED, columns=["idd"])), pa.ArrowInvalid, [STORED, "idd"]),
    Wrong("info of an unknown column", _info(command_of(STORED, columns=["x"])), pa.ArrowInvalid, [STORED, '"x"']),
    Wrong("path into a leaf", _ticket(command_of(STORED, columns=["id.x"])), pa.ArrowInvalid, [STORED, "id.x"]),
    Wrong("ordinal out of range", _ticket(command_of(STORED, columns=[6])), pa.ArrowInvalid, [STORED, "6"]),
    Wrong("negative ordinal", _ticket(command_of(STORED, columns=[-1])), pa.ArrowInvalid, ["-1"]),
    Wrong("ambiguous column", _ticket(command_of("bad/twice", columns=["n"])), pa.ArrowInvalid, ["bad/twice", '"n"']),
    Wrong("ticket of bad JSON", _ticket(b'{"dataset": '), pa.ArrowInvalid, ["JSON"]),
    Wrong("ticket with text after JSON", _ticket(b'{"dataset": "a"} x'), pa.ArrowInvalid, ["follows the object"]),
    Wrong("command that is no object", _info(b"[1]"), pa.ArrowInvalid, ["JSON"]),
    Wrong("unknown key", _ticket(command_of(STORED, colums=["id"])), pa.ArrowInvalid, ["colums", "columns"]),
    Wrong("key of a wrong type", _ticket(command_of(STORED, columns="id")), pa.ArrowInvalid, ["columns"]),
    Wrong("empty ticket", _ticket(b""), pa.ArrowInvalid, ["ticket"]),
    Wrong("forged opaque ticket", _ticket(b"\x01" + b"x" * 40), pa.ArrowInvalid, ["ticket"]),
    Wrong("command without a dataset", _info(b"{}"), pa.ArrowInvalid, ["dataset"]),
    Wrong("unknown generation", _ticket(command_of(STORED, generation="none-1")), KeyError, [STORED, "none-1"]),
    Wrong("unknown wire", _ticket(command_of(STORED, wire="brotli")), pa.ArrowInvalid, ["brotli", "zstd"]),
    Wrong("name with a slash", _path("a/b"), pa.ArrowInvalid, ["a/b"]),
    Wrong("name with a control character", _path("a\nb"), pa.ArrowInvalid, ["control"]),
    Wrong("name of nine segments", _path(*"abcdefghi"), pa.ArrowInvalid, ["8"]),
    Wrong("empty segment", _path("a", ""), pa.ArrowInvalid, ["empty"]),
    Wrong("segment too long", _path("x" * 256), pa.ArrowInvalid, ["255"]),
    Wrong("name like JSON", _path("{a"), pa.ArrowInvalid, ["{"]),
    Wrong("put to a bad name", _put("a//b"), pa.ArrowInvalid, ["segment 2", "empty"]),
    Wrong("put in an unknown mode", _put(STORED, mode="upsert"), pa.ArrowInvalid, ["upsert", "append"]),
    Wrong("put with an unknown codec", _put(STORED, codec="gzip"), pa.ArrowInvalid, ["gzip", "zstd"]),
    Wrong("put with an unknown key", _put(STORED, codecs="zstd"), pa.ArrowInvalid, ["codecs", "codec"]),
    Wrong("put of too few rows", _put(STORED, rows=5001), pa.ArrowInvalid, [STORED, "5001", "5000"]),
    Wrong("put of too many rows", _put(STORED, rows=4999), pa.ArrowInvalid, [STORED, "4999"]),
    Wrong("create what exists", _put(STORED, mode="create"), pa.ArrowException, [STORED, "exists"]),
    Wrong("append other names", _put(STORED, OTHER_NAMES, mode="append"), pa.ArrowInvalid, [STORED, "schema"]),
    Wrong("append another type", _put(STORED, OTHER_TYPE, mode="append"), pa.ArrowInvalid, [STORED, "k"]),
    Wrong("append another order", _put(STORED, OTHER_ORDER, mode="append"), pa.ArrowInvalid, [STORED, "id"]),
    Wrong("append fewer columns", _put(STORED, FEWER, mode="append"), pa.ArrowInvalid, [STORED, "schema"]),
    Wrong("unknown action", _action("drp", dataset=STORED), pa.ArrowException, ["drp"]),
    Wrong("action with an unknown key", _action("drop", datasets=STORED), pa.ArrowInvalid, ["datasets", "dataset"]),
    Wrong("action with bad JSON", _raw_action("drop", b"{"), pa.ArrowInvalid, ["JSON"]),
    Wrong("action without a dataset", _action("drop"), pa.ArrowInvalid, ["dataset"]),
]


@pytest.fixture(scope="module", autouse=True)
def stored(server: Server) -> None:
    with server.client() as client:
        client.put(STORED, DATA)
        client.put("bad/twice", TWICE)


@pytest.mark.parametrize("wrong", WRONG, ids=lambda w: w.id)
def test_wrong_calls(client: Client, wrong: Wrong) -> None:
    names, facts, charge = client.names(), client.describe(STORED), client.charged()
    with pytest.raises(wrong.error) as caught:
        wrong.call(client)
    text = str(caught.value)
    for part in wrong.says:
        assert part in text
    assert "panic" not in text
    assert "goroutine" not in text
    assert client.names() == names
    assert client.describe(STORED) == facts
    assert client.settled_charge(charge) == charge
    assert client.get(STORED).equals(DATA)


def test_already_exists_is_its_own_code(server: Server) -> None:
    header, _ = wire.split(DATA.schema.serialize())
    report = wire.put(server.address, [wire.message(header, command=command_of(STORED, mode="create"))])
    assert report["code"] == "AlreadyExists"
    assert STORED in report["message"]


def test_a_ticket_of_a_replaced_generation_says_so(client: Client, name: str) -> None:
    client.put(name, DATA)
    generation = client.describe(name)["generation"]
    assert client.get(name, generation=generation).equals(DATA)
    client.put(name, DATA.slice(1))
    with pytest.raises(KeyError, match="replaced") as caught:
        client.get(name, generation=generation)
    assert name in str(caught.value)


LATER_ACTIONS = ["SetSessionOptions", "GetSessionOptions", "CloseSession"]


def test_a_durable_put_needs_a_data_folder(client: Client, name: str) -> None:
    names = client.names()
    with pytest.raises(pa.ArrowInvalid, match=f"{name}.*no data directory.*--data-dir"):
        client.put(name, DATA, durable=True)
    assert client.names() == names


@pytest.mark.parametrize("action", LATER_ACTIONS)
def test_actions_that_are_not_offered_yet_say_so(client: Client, action: str) -> None:
    with pytest.raises(pa.ArrowNotImplementedError, match=action):
        client.action(action)
    assert action not in {a.type for a in client.flight.list_actions()}


def _exchange(client: Client) -> None:
    writer, reader = client.flight.do_exchange(fl.FlightDescriptor.for_path("a"))
    with writer:
        reader.read_all()


def test_calls_that_are_not_offered_say_so(client: Client) -> None:
    with pytest.raises(pa.ArrowNotImplementedError, match="DoExchange"):
        _exchange(client)
    with pytest.raises(pa.ArrowNotImplementedError, match="Handshake"):
        client.flight.authenticate_basic_token("user", "password")


def test_a_message_over_the_limit_is_refused_with_the_cure() -> None:
    with Server("--max-message", "1MiB") as server, server.client() as client:
        charge = client.charged()
        big = tables.table("flat", 100_000, batch_rows=100_000)
        # pyarrow shows ResourceExhausted under a class of its own choice: the text carries the code's meaning.
        with pytest.raises(pa.ArrowException, match=r"too large.*--max-message.*send smaller"):
            client.put("big", big)
        assert client.names() == []
        assert client.settled_charge(charge) == charge
        header, _ = wire.split(big.schema.serialize())
        report = wire.put(
            server.address,
            [
                wire.message(header, path=["big"]),
                wire.message(*wire.split(big.to_batches()[0].serialize())),
            ],
        )
        assert report["code"] == "ResourceExhausted"
        client.put("big", tables.table("flat", 100_000, batch_rows=5000))
        assert client.get("big").num_rows == 100_000


SCHEMA_HEADER, _ = wire.split(DATA.schema.serialize())
BATCH_HEADER, BATCH_BODY = wire.split(DATA.to_batches()[0].serialize())
HOSTILE = {
    "no message at all": [],
    "no descriptor": [wire.message(SCHEMA_HEADER)],
    "descriptor only": [wire.message(path=["hostile"])],
    "batch before the schema": [wire.message(BATCH_HEADER, BATCH_BODY, path=["hostile"])],
    "garbage for a schema": [wire.message(b"\x10\x00\x00\x00garbage!" * 4, path=["hostile"])],
    "garbage for a batch": [wire.message(SCHEMA_HEADER, path=["hostile"]), wire.message(b"\xff" * 64, BATCH_BODY)],
    "a body cut short": [
        wire.message(SCHEMA_HEADER, path=["hostile"]),
        wire.message(BATCH_HEADER, BATCH_BODY[: len(BATCH_BODY) // 2]),
    ],
    "no body": [wire.message(SCHEMA_HEADER, path=["hostile"]), wire.message(BATCH_HEADER)],
    "a header cut short": [
        wire.message(SCHEMA_HEADER, path=["hostile"]),
        wire.message(BATCH_HEADER[: len(BATCH_HEADER) // 2], BATCH_BODY),
    ],
    "two schemas that differ": [
        wire.message(SCHEMA_HEADER, path=["hostile"]),
        wire.message(wire.split(OTHER_NAMES.schema.serialize())[0]),
    ],
    "offsets of 0xff": [
        wire.message(SCHEMA_HEADER, path=["hostile"]),
        wire.message(BATCH_HEADER, b"\xff" * len(BATCH_BODY)),
    ],
}


@pytest.mark.parametrize("messages", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_streams(server: Server, client: Client, messages: list[dict]) -> None:
    names, charge = client.names(), client.charged()
    report = wire.put(server.address, messages)
    assert report["code"] == "InvalidArgument", report
    assert report["results"] is None
    assert client.names() == names
    assert client.settled_charge(charge) == charge


@pytest.mark.parametrize("columns", [5, 7], ids=["one too few", "one too many"])
def test_batches_of_other_counts_than_their_schema(server: Server, client: Client, columns: int) -> None:
    wider = pa.schema([*DATA.schema, pa.field("more", pa.int64())][:columns])
    header, _ = wire.split(wider.serialize())
    names, charge = client.names(), client.charged()
    report = wire.put(server.address, [wire.message(header, path=["counts"]), wire.message(BATCH_HEADER, BATCH_BODY)])
    assert report["code"] == "InvalidArgument", report
    assert "counts" in report["message"]
    assert client.names() == names
    assert client.settled_charge(charge) == charge


def test_a_descriptor_may_come_before_the_schema(server: Server, client: Client, name: str) -> None:
    report = wire.put(
        server.address,
        [
            wire.message(path=name.split("/")),
            wire.message(SCHEMA_HEADER),
            wire.message(BATCH_HEADER, BATCH_BODY),
        ],
    )
    assert report["code"] == "OK", report
    assert client.get(name).equals(DATA)


def test_a_descriptor_may_come_with_every_message(server: Server, client: Client, name: str) -> None:
    path = name.split("/")
    report = wire.put(
        server.address,
        [wire.message(SCHEMA_HEADER, path=path), wire.message(BATCH_HEADER, BATCH_BODY, path=path)],
    )
    assert report["code"] == "OK", report
    assert client.get(name).equals(DATA)


def test_flipped_bytes_are_refused_or_kept_but_never_fatal(server: Server, client: Client) -> None:
    charge = client.charged()
    for position in range(0, len(BATCH_HEADER), 7):
        bad = bytearray(BATCH_HEADER)
        bad[position] ^= 0xFF
        report = wire.put(
            server.address,
            [wire.message(SCHEMA_HEADER, path=["flipped"]), wire.message(bytes(bad), BATCH_BODY)],
        )
        assert report["code"] in ("OK", "InvalidArgument", "Unimplemented", "ResourceExhausted"), (position, report)
        if report["code"] == "OK":
            client.get("flipped").validate(full=True)
            client.drop("flipped")
    assert client.settled_charge(charge) == charge
