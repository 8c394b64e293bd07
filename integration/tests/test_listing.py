"""ListFlights, ListActions, and what belongs to names."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.flight as fl
import pytest

from service import Client, Server

ONE_ROW = pa.table({"n": [1]})


@pytest.fixture
def listed(client: Client) -> list[str]:
    names = ["a", "a/b", "a/b/c", "ab", "b", "größe/Ω", 'quo"te/sp ace']
    for name in names:
        client.put(name, ONE_ROW)
    yield names
    for name in names:
        client.drop(name)


def test_list_flights_gives_all_names_in_order(client: Client, listed: list[str]) -> None:
    assert client.names() == sorted(listed, key=lambda n: [p.encode() for p in n.split("/")])


@pytest.mark.parametrize("prefix", ["a", "a/b", "b", "größe", "nothing"])
def test_list_flights_by_prefix(client: Client, listed: list[str], prefix: str) -> None:
    got = client.names(prefix)
    by_segment = [n for n in listed if n == prefix or n.startswith(prefix + "/")]
    by_text = [n for n in listed if n.startswith(prefix)]
    assert sorted(got) in (sorted(by_segment), sorted(by_text))


def test_listed_flights_can_be_read_by_their_tickets(client: Client, listed: list[str]) -> None:
    for info in client.flight.list_flights():
        assert info.total_records == 1
        assert info.schema.equals(ONE_ROW.schema)
        (endpoint,) = info.endpoints
        assert endpoint.ticket.ticket.decode() in listed
        assert client.flight.do_get(endpoint.ticket).read_all().equals(ONE_ROW)


def test_list_actions_names_what_do_action_knows(client: Client) -> None:
    names = {a.type for a in client.flight.list_actions()}
    assert {"drop", "describe", "server_stats"} <= names


def test_server_stats_of_one_dataset(client: Client, listed: list[str]) -> None:
    assert client.stats(dataset="a/b")["rows_in"] == 1


def test_a_restarted_server_starts_empty() -> None:
    for _ in range(2):
        with Server() as server, server.client() as client:
            assert client.names() == []
            client.put("a", ONE_ROW)
            assert server.stop() == 0


def test_sigterm_ends_an_idle_server_at_once_and_cleanly() -> None:
    with Server() as server, server.client() as client:
        client.put("a", ONE_ROW)
        assert server.stop() == 0
        with pytest.raises((fl.FlightUnavailableError, fl.FlightCancelledError, pa.ArrowException)):
            client.names()
