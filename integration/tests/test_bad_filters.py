"""Filters that mean nothing are refused: the message names the column, what is wrong with it, and what to write."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.flight as fl
import pytest

import filter_tables
from service import Client, Server, command_of

DATASET = "bad/filters"


@pytest.fixture(scope="module", autouse=True)
def _stored(server: Server) -> Iterator[None]:
    with server.client() as client:
        client.put(DATASET, filter_tables.lay_out("sorted", 4, 4))
        yield


UNKNOWN = {
    "a name": ["velocity", "=", 1],
    "a path": ["st.n.x", "=", "a"],
    "an ordinal": [1000, "=", 1],
    "a child of no struct": ["i8.x", "=", 1],
}
OTHER_TYPE = {
    "text for an integer": ["i8", "=", "5"],
    "number for a text": ["s", "=", 5],
    "number for a date": ["date32", "<", 19_000],
    "number for binary": ["bin", "=", 1],
    "flag for a number": ["f64", "=", True],
    "number for a flag": ["flag", "=", 1],
    "text for a flag": ["flag", "=", "true"],
    "one of a list": ["i32", "in", [1, "2"]],
    "start of a number": ["i64", "starts with", "1"],
    "start of a flag": ["flag", "starts with", "t"],
    "value for a struct": ["st", "=", 1],
    "text in a dictionary of integers": ["dict_int", "=", "a"],
}
MISREAD = {
    "no date": ["date32", "=", "2023-02-29"],
    "no month": ["date64", "=", "2023-13-01"],
    "no time": ["time_us", ">", "25 o'clock"],
    "no timestamp": ["ts_us", ">", "yesterday"],
    "a zone for none": ["ts_us", ">", "2024-02-29T12:00:00Z"],
    "no zone": ["ts_utc", ">", "2024-02-29T12:00:00Mars"],
    "a month has no length": ["dur_s", ">", "P1M"],
    "no base64": ["bin", "=", "***"],
    "base64 without padding": ["bin", "=", "AA"],
    "no decimal": ["d128", "=", "12,5"],
    "no float": ["f64", "=", "nan"],
}


def refused(client: Client, filters: Any, **keys: Any) -> str:
    """The message that DoGet and GetFlightInfo both give."""
    messages = []
    with pytest.raises(pa.ArrowInvalid) as got:
        client.get(DATASET, filters=filters, **keys)
    messages.append(str(got.value))
    with pytest.raises(pa.ArrowInvalid) as got:
        client.info(DATASET, filters=filters, **keys)
    messages.append(str(got.value))
    with pytest.raises(pa.ArrowInvalid) as got:
        client.flight.get_schema(fl.FlightDescriptor.for_command(command_of(DATASET, filters=filters, **keys)))
    messages.append(str(got.value))
    assert all("\n" not in m.split(" gRPC client debug context")[0] for m in messages)
    return messages[0]


def names(message: str, column: str) -> bool:
    """Whether a message names the column."""
    return re.search(rf"column {re.escape(column)} is ", message) is not None


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_columns_are_named_with_those_there_are(client: Client, name: str) -> None:
    message = refused(client, [UNKNOWN[name]])
    assert str(UNKNOWN[name][0]) in message
    assert DATASET in message
    assert "the dataset has" in message


@pytest.mark.parametrize("name", OTHER_TYPE)
def test_literals_of_another_type_are_refused(client: Client, name: str) -> None:
    term = OTHER_TYPE[name]
    message = refused(client, [["row", ">", 0], term])
    assert names(message, term[0])
    assert DATASET in message


@pytest.mark.parametrize("name", MISREAD)
def test_texts_that_a_type_does_not_read_are_refused_with_an_example(client: Client, name: str) -> None:
    term = MISREAD[name]
    message = refused(client, [["row", ">", 0], term])
    assert names(message, term[0])
    assert "is not a" in message or "is not base64 with padding" in message


GRAMMAR = {
    "nothing": ([], "leave the key out"),
    "an empty term": ([[]], "[column, operator, value]"),
    "an empty list of terms": ([[], [["i8", "=", 1]]], "[column, operator, value]"),
    "no value": ([["i8", "="]], "has no value"),
    "too many": ([["i8", "=", 1, 2]], "takes one value"),
    "a value for null": ([["i8", "is null", 1]], "takes no value"),
    "no operator": ([["i8"]], "the operator is missing"),
    "an unknown operator": ([["i8", "~", 1]], "want an operator, one of"),
    "a list for one": ([["i8", "=", [1]]], "filters[0]"),
    "one for a list": ([["i8", "in", 1]], "a list of values"),
    "an object": ({"i8": 1}, "filters"),
    "an object for a value": ([["i8", "=", {"a": 1}]], "filters[0]"),
    "mixed lists": ([["i8", "=", 1], [["i8", "=", 1]]], "mixed"),
    "a start that is a number": ([["s", "starts with", 5]], "want a string"),
    "a list of lists": ([["i8", "in", [[1]]]], "filters[0]"),
    "a negative ordinal": ([[-1, "=", 1]], "ordinal"),
}


@pytest.mark.parametrize("name", GRAMMAR)
def test_what_is_no_filter_is_refused(client: Client, name: str) -> None:
    wanted, hint = GRAMMAR[name]
    assert hint in refused(client, wanted)


def test_too_many_literals_are_refused(client: Client) -> None:
    message = refused(client, [["i64", "in", [1] * 100_001]])
    assert "100000" in message.replace(",", "")
    assert client.get(DATASET, columns=["row"], filters=[["i64", "in", [1] * 99_999]]).num_rows == 0


def test_too_many_terms_are_refused(client: Client) -> None:
    message = refused(client, [[["i64", "=", i]] for i in range(30_000)])
    assert "too large" in message
    few = [[["i64", "=", i]] for i in range(5_000)]
    assert client.get(DATASET, columns=["row"], filters=few).num_rows == 1


def test_numbers_of_any_length_or_exponent_do_no_harm(client: Client) -> None:
    for number in ("1e999999999", "-1e999999999", "1e-999999999", "9" * 1000, "0." + "0" * 900 + "1"):
        command = f'{{"dataset": "{DATASET}", "columns": ["row"], "filters": [["i64", "<", {number}]]}}'
        got = client.flight.do_get(fl.Ticket(command.encode())).read_all()
        positive = not number.startswith("-")
        tiny = number.startswith(("0.", "1e-"))
        data = filter_tables.lay_out("sorted", 4, 4)["i64"].to_pylist()
        assert got.num_rows == sum(1 for v in data if v is not None and positive and (v <= 0 or not tiny))
    digits = f'{{"dataset": "{DATASET}", "filters": [["i64", "<", {"9" * 1101}]]}}'
    with pytest.raises(pa.ArrowInvalid, match=r"digits|long|bytes"):
        client.flight.do_get(fl.Ticket(digits.encode())).read_all()


def test_a_filter_deeper_or_wider_than_a_command_may_be_is_refused(client: Client) -> None:
    wide = json.dumps([[["s", "=", "x" * 64]]] * 20_000)
    with pytest.raises(pa.ArrowInvalid, match=r"bytes|MiB"):
        client.flight.do_get(fl.Ticket(f'{{"dataset": "{DATASET}", "filters": {wide}}}'.encode())).read_all()
    deep = "[" * 100_000 + "]" * 100_000
    with pytest.raises(pa.ArrowInvalid, match="filters"):
        client.flight.do_get(fl.Ticket(f'{{"dataset": "{DATASET}", "filters": {deep}}}'.encode())).read_all()
    assert client.get(DATASET, columns=["row"]).num_rows == 16


def test_a_type_without_an_order_has_only_nulls_to_ask_for(client: Client, name: str) -> None:
    lists = pa.table({"l": pa.array([[1], None, [], [2]])})
    client.put(name, lists)
    assert client.get(name, filters=[["l", "is null"]]).equals(lists.slice(1, 1))
    assert client.get(name, filters=[["l", "is not null"]]).num_rows == 3
    with pytest.raises(pa.ArrowInvalid, match="column l is "):
        client.get(name, filters=[["l", "=", 1]])
