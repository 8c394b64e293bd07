"""Stock clients in Python, Go, Java and Rust put every type of table and read what each of the others has put."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.flight as fl
import pytest

import client_limits
import clients
import compare
import tables
import zoo
from client_limits import limits_of
from clients import ALL, Outcome
from service import Client, Server

OK = Outcome("ok")
TABLES = clients.tables()
OTHERS = list(clients.COMMANDS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("zoo")
    clients.write(made, TABLES)
    return made


@pytest.fixture(scope="module")
def puts(server: Server, folder: Path) -> dict[str, Outcome]:
    """The outcome of every put. Each client's name is the prefix of its datasets."""
    outcomes = {}
    with server.client() as connected:
        for name, table in TABLES.items():
            connected.put_to(fl.FlightDescriptor.for_path("Python", name), table.schema, table.to_batches())
            outcomes[f"Python/{name}"] = OK
    for client in OTHERS:
        outcomes |= clients.run(client, server.address, folder, "put", [client])
    return outcomes


@pytest.fixture(scope="module")
def python(server: Server) -> Iterator[Client]:
    with server.client() as connected:
        yield connected


def _unexpected(outcome: Outcome, step: str, error: str) -> str | None:
    """What is wrong with the outcome, if it should be ``step`` with ``error`` in its reason."""
    if outcome.step == (step or "ok") and error in outcome.why:
        return None
    return f"{outcome.step}: {outcome.why}"


@pytest.mark.parametrize("client", OTHERS)
def test_what_a_client_can_put(puts: dict[str, Outcome], client: str) -> None:
    wrong = {}
    for name in TABLES:
        limit = next((known for known in limits_of(client, name) if known.put), None)
        step, error = (limit.put, limit.error) if limit else ("", "")
        if found := _unexpected(puts[f"{client}/{name}"], step, error):
            wrong[name] = found
    assert wrong == {}


def _written(puts: dict[str, Outcome], writer: str) -> list[str]:
    """The tables that ``writer`` has put."""
    return [name for name in TABLES if puts[f"{writer}/{name}"] == OK]


def _loses(writer: str, name: str) -> bool:
    return any(limit.loses for limit in limits_of(writer, name))


@pytest.mark.parametrize("writer", ALL)
def test_python_reads_what_a_client_has_put(puts: dict[str, Outcome], python: Client, writer: str) -> None:
    written = _written(puts, writer)
    assert len(written) > 0.8 * len(TABLES)
    for name in written:
        limit = next((known for known in limits_of("Python", name) if known.get), None)
        for wire in ("stored", "none"):
            if limit:
                with pytest.raises(pa.ArrowException, match=limit.error):
                    python.get(f"{writer}/{name}", wire=wire)
            elif not _loses(writer, name):
                compare.assert_same(python.get(f"{writer}/{name}", wire=wire), TABLES[name])


@pytest.fixture(scope="module")
def reads(server: Server, folder: Path, puts: dict[str, Outcome]) -> dict[str, dict[str, Outcome]]:
    """For each reader the outcome of every read; only after all of the puts."""
    assert puts
    return {client: clients.run(client, server.address, folder, "get", ALL) for client in OTHERS}


@pytest.mark.parametrize("writer", ALL)
@pytest.mark.parametrize("reader", OTHERS)
def test_what_a_client_reads_of_a_clients_put(
    puts: dict[str, Outcome], reads: dict[str, dict[str, Outcome]], reader: str, writer: str
) -> None:
    wrong = {}
    for name in _written(puts, writer):
        if _loses(writer, name):
            continue
        limit = next((known for known in limits_of(reader, name) if known.get), None)
        step, error = (limit.get, limit.error) if limit else ("", "")
        if found := _unexpected(reads[reader][f"{writer}/{name}"], step, error):
            wrong[name] = found
    assert wrong == {}


def test_what_a_put_loses(puts: dict[str, Outcome], reads: dict[str, dict[str, Outcome]]) -> None:
    """The limits that say so are real: of what a library no longer loses, its limit shall go."""
    for limit in client_limits.LIMITS:
        for name in TABLES:
            if limit.loses and limit.covers(limit.client, name):
                dataset = f"{limit.client}/{name}"
                assert puts[dataset] == OK
                assert {reads[reader][dataset].step for reader in OTHERS} & {"schema", "values"}, (limit, name)


@pytest.mark.parametrize("client", OTHERS)
def test_a_client_notices_other_values(server: Server, folder: Path, python: Client, client: str) -> None:
    """What the clients find equal is equal: under another prefix lie tables that are one row off."""
    changed = clients.shifted()
    assert len(changed) > 0.9 * len(zoo.ARRAYS | zoo.DICTIONARIES)
    for name, table in changed.items():
        python.put_to(fl.FlightDescriptor.for_path("shifted", name), table.schema, table.to_batches())
    outcomes = clients.run(client, server.address, folder, "get", ["shifted"])
    unnoticed = {name for name in changed if outcomes[f"shifted/{name}"].step != "values"}
    unread = {name for name in changed if any(limit.get for limit in limits_of(client, name))}
    assert unnoticed <= unread, {name: outcomes[f"shifted/{name}"] for name in unnoticed - unread}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one table, whose one batch is larger than the messages that stock clients accept."""
    made = tmp_path_factory.mktemp("large")
    clients.write(made, {"large batch": TABLES["large batch"]})
    return made


@pytest.mark.parametrize("client", OTHERS)
def test_a_client_sees_why_it_is_refused(server: Server, large: Path, client: str) -> None:
    """Also of a put that the server refuses while the client still sends."""
    [put] = clients.run(client, server.address, large, "put", ["{"]).values()
    assert (put.step, "bad dataset name" in put.why) == ("call", True), put
    [get] = clients.run(client, server.address, large, "get", ["nowhere"]).values()
    assert (get.step, "no such dataset" in get.why) == ("call", True), get


def test_java_reads_again_and_again_in_little_memory(server: Server, tmp_path: Path) -> None:
    """400 MiB through 48 MiB: nothing of a stream that was closed stays, and no message is large."""
    clients.write(tmp_path, {"moderate": tables.table("flat", 60_000, batch_rows=60_000)})
    clients.run("Go", server.address, tmp_path, "put", ["again"])
    reads = clients.outcomes(clients.little_java(48), server.address, tmp_path, "get", ["again"] * 100)
    assert reads == [("again/moderate", OK)] * 100


def test_a_server_of_stored_bytes_is_for_clients_that_read_them(large: Path) -> None:
    """The default sends plain batches to all of these clients; this is why."""
    with Server("--wire", "stored", "--codec", "lz4") as server:
        clients.run("Go", server.address, large, "put", ["stored"])
        read = {client: clients.run(client, server.address, large, "get", ["stored"]) for client in OTHERS}
    assert read["Go"] == {"stored/large batch": OK}
    for client in ("Java", "Rust"):
        [outcome] = read[client].values()
        assert (outcome.step, "ompress" in outcome.why or "lz4" in outcome.why) == ("call", True), outcome


def test_every_limit_is_of_a_table_that_is_tested() -> None:
    unknown = [
        (limit.client, pattern)
        for limit in client_limits.LIMITS
        for pattern in limit.tables
        if not fnmatch.filter(TABLES, pattern)
    ]
    assert unknown == []


def test_clients_md_is_up_to_date() -> None:
    text = client_limits.DOCUMENT.read_text(encoding="utf-8")
    tables = client_limits.document(ALL, list(TABLES))
    assert client_limits.placed(text, tables) == text, "run: python integration/client_limits.py"
