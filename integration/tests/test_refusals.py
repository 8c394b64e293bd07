"""A put that must fail fails soon, and its client learns why, however it goes on writing."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.flight as fl
import pytest

import clients
import tables
from service import BINARY, Client, Server, command_of

ROWS = 10
THERE = pa.table({"n": range(ROWS)})
OTHER = pa.table({"other": ["x"] * ROWS})
SCHEMAS = {"n": THERE.schema, "other": OTHER.schema}

REFUSED: dict[str, tuple[fl.FlightDescriptor, str, list[str]]] = {
    "a path that is no name": (fl.FlightDescriptor.for_path("a", "", "b"), "n", ["bad dataset name", "segment 2"]),
    "a command that is no JSON": (fl.FlightDescriptor.for_command(b"put it"), "n", ["put command", "JSON"]),
    "an unknown key": (fl.FlightDescriptor.for_command(command_of("new", mod="create")), "n", ['"mod"', '"mode"']),
    "create of what exists": (
        fl.FlightDescriptor.for_command(command_of("there", mode="create")),
        "n",
        ['"there"', "dataset exists", "replace or append"],
    ),
    "append of another schema": (
        fl.FlightDescriptor.for_command(command_of("there", mode="append")),
        "other",
        ['"there"', "schema"],
    ),
    "an unknown transaction": (
        fl.FlightDescriptor.for_command(command_of("there", transaction="none")),
        "n",
        ["transaction"],
    ),
    "durable without a folder": (
        fl.FlightDescriptor.for_command(command_of("there", durable=True)),
        "n",
        ['"there"', "--data-dir"],
    ),
}
"""Puts that can be refused before any data: what they are for, their schema, and what the error must say."""

SOON = 60
"""Seconds: far more than the server takes, and far less than a client that is left alone."""


@pytest.fixture(scope="module", autouse=True)
def _there(server: Server) -> Iterator[None]:
    with server.client() as client:
        client.put("there", THERE)
        charge = client.charged()
        yield
        assert client.settled_charge(charge) == charge
        assert client.names() == ["there"]
        assert client.get("there").equals(THERE)


def _batch(schema: str, rows: int) -> pa.RecordBatch:
    if schema == "n":
        return pa.record_batch({"n": np.arange(rows)})
    return pa.record_batch({"other": pa.array([f"{n:07}" for n in range(rows)])})


def _write(
    client: Client, refused: str, batch: pa.RecordBatch, batches: int, pause: float = 0
) -> tuple[Exception, int]:
    """Puts ``batch`` again and again, as ``_attempt`` does."""
    return _attempt(client, REFUSED[refused][0], itertools.repeat(batch, batches), batch.schema, pause)


def _attempt(
    client: Client,
    descriptor: fl.FlightDescriptor,
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    pause: float = 0,
) -> tuple[Exception, int]:
    """Writes until the put fails or all is written; gives the error, and how many batches were written before it."""
    writer, _ = client.flight.do_put(descriptor, schema)
    written = 0
    try:
        try:
            for batch in batches:
                writer.write_batch(batch)
                written += 1
                time.sleep(pause)
        finally:
            writer.close()
    except (pa.ArrowException, KeyError) as error:
        return error, written
    raise AssertionError("the put was taken")


def _says(error: Exception, refused: str) -> None:
    for part in REFUSED[refused][2]:
        assert part in str(error), error


@pytest.mark.parametrize("refused", REFUSED)
def test_200_batches_of_a_refused_put(client: Client, refused: str) -> None:
    """They are received and forgotten, and the client sees the reason at its end."""
    began = time.monotonic()
    error, _ = _write(client, refused, _batch(REFUSED[refused][1], 5000), 200)
    _says(error, refused)
    assert time.monotonic() - began < SOON


@pytest.mark.parametrize("refused", REFUSED)
def test_a_refused_put_does_not_receive_all(client: Client, refused: str) -> None:
    """A client with gigabytes to send is told long before it has sent them, with the reason."""
    began = time.monotonic()
    error, written = _write(client, refused, _batch(REFUSED[refused][1], 100_000), 10_000)
    _says(error, refused)
    assert written < 1000, "the server goes on receiving what it forgets"
    assert time.monotonic() - began < SOON


def test_clients_that_do_not_hurry_are_told_too(server: Server) -> None:
    """Some write a few rows at a time, for minutes; others wait for an answer and never end their stream."""

    def write(refused: str) -> None:
        with server.client() as own:
            began = time.monotonic()
            error, written = _write(own, refused, _batch(REFUSED[refused][1], 10), 3000, 0.1)
            _says(error, refused)
            assert written < 3000
            assert time.monotonic() - began < SOON

    def wait(refused: str) -> None:
        with server.client() as own:
            began = time.monotonic()
            descriptor, schema, _ = REFUSED[refused]
            writer, results = own.flight.do_put(descriptor, SCHEMAS[schema])
            error = None
            try:
                try:
                    assert results.read() is None, "a put that was refused has an answer"
                finally:
                    writer.close()
            except (pa.ArrowException, KeyError) as caught:
                error = caught
            assert error is not None
            _says(error, refused)
            assert time.monotonic() - began < SOON

    with ThreadPoolExecutor(2 * len(REFUSED)) as pool:
        for done in [pool.submit(call, refused) for call in (write, wait) for refused in REFUSED]:
            done.result()


def test_a_put_that_fails_amid_its_data_says_so(server: Server, client: Client) -> None:
    """What is wrong is found in the third batch; the client goes on writing."""
    command = fl.FlightDescriptor.for_command(command_of("there", mode="append", sorted_by=["n"]))
    firsts = [100, 200, 50, *range(300, 20_000, 100)]
    batches = [pa.record_batch({"n": range(first, first + 100)}) for first in firsts]
    error, _ = _attempt(client, command, batches, batches[0].schema)
    assert re.search(r'"there".*(order|sorted)', str(error)), error


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table of 200 batches, and one of more bytes than the server goes on to receive."""
    folder = tmp_path_factory.mktemp("many")
    made = {"many batches": tables.table("flat", 200_000, batch_rows=1000), "large": tables.table("flat", 1_200_000)}
    clients.write(folder, made)
    return folder


@pytest.mark.parametrize("client_of", clients.COMMANDS)
def test_clients_in_other_languages(server: Server, many: Path, client_of: str) -> None:
    """The status reaches them whole: neither a reset nor the end of a stream hides it."""
    outcomes = clients.run(client_of, server.address, many, "put", ["{"])
    assert len(outcomes) == 2
    for outcome in outcomes.values():
        assert outcome.step == "call"
        assert "bad dataset name" in outcome.why, outcomes


def test_200_batches_of_our_own_client(server: Server, many: Path) -> None:
    file = many / "many batches.arrows"
    done = subprocess.run(
        [BINARY, "put", "--address", server.address, "--mode", "create", str(file), "there"],
        capture_output=True,
        text=True,
        timeout=SOON,
    )
    assert done.returncode != 0
    assert "dataset exists" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_refused_puts_are_no_errors_of_the_server(server: Server, client: Client) -> None:
    for refused, (_, schema, _) in REFUSED.items():
        _says(_write(client, refused, _batch(schema, 10), 3)[0], refused)
    codes = [json.loads(line.partition("\tcall\t")[2])["code"] for line in server.log().splitlines() if "DoPut" in line]
    assert set(codes) <= {"OK", "InvalidArgument", "AlreadyExists", "NotFound", "FailedPrecondition"}
