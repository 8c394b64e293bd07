"""The messages of a put in every order: which ones the server takes, and when it answers. README.md lists them."""

from __future__ import annotations

import json
import re
from typing import Any

import pyarrow as pa
import pyarrow.flight as fl
import pytest

import tables
import wiretool as wire
from service import ROOT, Client, Server, command_of, counted

DATASET = "streams/one"
PATH = DATASET.split("/")
DATA = tables.table("flat", 3000, batch_rows=1000)
SCHEMA, *BATCHES = wire.stream(DATA)
NO_ROWS = wire.message(*wire.split(next(tables.batches("flat", 0)).serialize()))

CHANGING = pa.table(
    {
        "n": pa.chunked_array([[1, 2, 3], [4, 5, 6]]),
        "word": pa.chunked_array(
            [pa.array(["a", "b", "a"]).dictionary_encode(), pa.array(["a", "b", "c"]).dictionary_encode()]
        ),
    }
)
WORDS_SCHEMA, WORDS, FIRST, OTHER_WORDS, SECOND = wire.stream(CHANGING)
ONE_DICTIONARY = CHANGING.slice(0, 3)

DESCRIPTOR = wire.message(path=PATH)
ELSEWHERE = {"path": ["streams", "elsewhere"]}
BROKEN = {"command": wire.message(command=b"{")["command"]}


def _tensor() -> dict[str, Any]:
    sink = pa.BufferOutputStream()
    pa.ipc.write_tensor(pa.Tensor.from_numpy(DATA["v"].combine_chunks().fill_null(0).to_numpy()), sink)
    return wire.message(*wire.split(sink.getvalue()))


def _to_path(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return wire.described(messages, path=PATH)


def _remark(text: bytes = b"a remark") -> dict[str, Any]:
    return {"metadata": wire.message(text)["header"]}


# By the rows of the README's tables: streams that do the same, and what is there afterwards.
TAKEN: dict[str, tuple[list[list[dict[str, Any]]], pa.Table]] = {
    "descriptor with the schema, then batches": (
        [_to_path([SCHEMA, *BATCHES]), wire.described([SCHEMA, *BATCHES], command=command_of(DATASET, mode="create"))],
        DATA,
    ),
    "descriptor alone, then the schema, then batches": (
        [[DESCRIPTOR, SCHEMA, *BATCHES], [{"path": PATH}, SCHEMA, *BATCHES]],
        DATA,
    ),
    "descriptor with every message": (
        [
            [{**m, "path": PATH} for m in (SCHEMA, *BATCHES)],
            _to_path([SCHEMA, *({**m, **ELSEWHERE} for m in BATCHES)]),
            _to_path([SCHEMA, *({**m, **BROKEN} for m in BATCHES)]),
        ],
        DATA,
    ),
    "schema without batches": ([_to_path([SCHEMA]), [DESCRIPTOR, SCHEMA]], DATA.slice(0, 0)),
    "batches without rows between others": (
        [_to_path([SCHEMA, NO_ROWS, BATCHES[0], NO_ROWS, NO_ROWS, *BATCHES[1:], NO_ROWS])],
        DATA,
    ),
    "application metadata alone, anywhere": (
        [
            [_remark(), *_to_path([SCHEMA, *BATCHES])],
            _to_path([SCHEMA, _remark(), BATCHES[0], _remark(), _remark(), *BATCHES[1:], _remark()]),
            [{**DESCRIPTOR, **_remark()}, _remark(), SCHEMA, *BATCHES],
            _to_path([SCHEMA, *({**m, **_remark()} for m in BATCHES)]),
        ],
        DATA,
    ),
    "dictionary before the batches that need it": ([_to_path([WORDS_SCHEMA, WORDS, FIRST])], ONE_DICTIONARY),
    "dictionary replaced between batches": (
        [
            _to_path([WORDS_SCHEMA, WORDS, FIRST, OTHER_WORDS, SECOND]),
            _to_path([WORDS_SCHEMA, OTHER_WORDS, WORDS, WORDS, FIRST, OTHER_WORDS, SECOND]),
        ],
        CHANGING,
    ),
    "dictionary extended by deltas": ([_to_path(wire.stream(CHANGING, emit_dictionary_deltas=True))], CHANGING),
}
REFUSED: dict[str, tuple[list[list[dict[str, Any]]], str]] = {
    "nothing at all": ([[]], "ended before a schema"),
    "descriptor and nothing else": ([[DESCRIPTOR], [DESCRIPTOR, _remark()]], "ended before a schema"),
    "no descriptor": ([[SCHEMA], [SCHEMA, *BATCHES], [_remark(), SCHEMA]], "no descriptor"),
    "descriptor after the schema": ([[SCHEMA, *_to_path(BATCHES)], [SCHEMA, DESCRIPTOR, *BATCHES]], "no descriptor"),
    "batch before the schema": ([_to_path(BATCHES), _to_path([BATCHES[0], SCHEMA, *BATCHES])], "no schema"),
    "dictionary before the schema": ([_to_path([WORDS, WORDS_SCHEMA, FIRST])], "no schema"),
    "second schema": (
        [_to_path([SCHEMA, SCHEMA, *BATCHES]), _to_path([SCHEMA, *BATCHES, SCHEMA]), _to_path([SCHEMA, WORDS_SCHEMA])],
        "second schema",
    ),
    "batch before its dictionary": ([_to_path([WORDS_SCHEMA, FIRST, WORDS])], "dictionary 0 has 0 values"),
    "body without a header": (
        [_to_path([SCHEMA, wire.message(body=b"1234")]), [wire.message(body=b"1234"), SCHEMA]],
        "no header",
    ),
    "message of another kind": (
        [_to_path([SCHEMA, _tensor(), *BATCHES])],
        "a tensor, where a schema or a batch is needed",
    ),
}


@pytest.mark.parametrize("order", TAKEN)
def test_orders_that_are_taken(server: Server, client: Client, order: str) -> None:
    streams, wanted = TAKEN[order]
    for messages in streams:
        report = wire.put(server.address, messages)
        assert report["code"] == "OK", report
        assert len(report["results"]) == 1
        assert client.names() == [DATASET]
        got = client.get(DATASET)
        assert got.schema.equals(wanted.schema)
        assert got.unify_dictionaries().equals(wanted.unify_dictionaries())
        client.drop(DATASET)


@pytest.mark.parametrize("order", REFUSED)
def test_orders_that_are_refused(server: Server, client: Client, order: str) -> None:
    streams, says = REFUSED[order]
    for messages in streams:
        report = wire.put(server.address, messages)
        assert report["code"] == "InvalidArgument", report
        assert says in report["message"]
        assert report["results"] is None
        assert client.names() == []
        assert client.settled_charge(0) == 0


def test_the_readme_lists_them() -> None:
    text = (ROOT / "README.md").read_text()
    for title, orders in (("taken", TAKEN), ("refused", REFUSED)):
        table = re.search(rf"^\| {title} \| \|\n\|---\|---\|\n((?:\|.*\n)+)", text, re.MULTILINE)
        assert table is not None
        rows = [row.split("|")[1].strip() for row in table[1].splitlines()]
        assert rows == list(orders)


def test_the_answer_comes_once_after_the_commit(client: Client, name: str) -> None:
    writer, results = client.flight.do_put(fl.FlightDescriptor.for_command(command_of(name)), DATA.schema)
    writer.write_table(DATA)
    writer.done_writing()
    answer = results.read()
    assert answer is not None
    facts = json.loads(answer.to_pybytes())
    info = client.info(name)
    client.cancel(info)  # its lease
    assert facts == json.loads(info.app_metadata)
    assert results.read() is None
    writer.close()
    assert client.get(name).equals(DATA)
    client.drop(name)


def test_a_client_that_reads_no_answer_has_put_all_the_same(client: Client, name: str) -> None:
    writer, _ = client.flight.do_put(fl.FlightDescriptor.for_command(command_of(name)), DATA.schema)
    writer.write_table(DATA)
    writer.close()
    assert client.get(name).equals(DATA)
    client.drop(name)


def test_nothing_is_answered_before_the_half_close(client: Client, name: str) -> None:
    """Who waits for an answer without it waits in vain, and has put nothing."""
    options = fl.FlightCallOptions(timeout=1)
    writer, results = client.flight.do_put(fl.FlightDescriptor.for_command(command_of(name)), DATA.schema, options)
    writer.write_table(DATA)

    def wait() -> None:
        try:
            assert results.read() is None
        finally:
            writer.close()

    with pytest.raises(fl.FlightTimedOutError):
        wait()
    assert client.names() == []
    assert client.settled_charge(0) == 0


def test_a_put_is_readable_when_it_is_answered(server: Server, client: Client, name: str) -> None:
    """At once and by anyone: through a ticket, a path and the listing, whether the client reads the answer or not."""
    with server.client() as other, counted(client) as grown:
        for i in range(200):
            data = pa.table({"i": [i] * (i + 1)})
            if i % 2:
                client.put(name, data)
            else:
                writer, _ = client.flight.do_put(fl.FlightDescriptor.for_path(*name.split("/")), data.schema)
                writer.write_table(data)
                writer.close()
            assert other.get(name).equals(data)
            assert other.info(name).total_records == i + 1
            client.put(f"{name}/{i}", data)
            assert f"{name}/{i}" in other.names()
            assert client.drop(f"{name}/{i}")
            assert f"{name}/{i}" not in other.names()
    assert grown["puts"] == 400
    client.drop(name)
