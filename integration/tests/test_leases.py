"""What GetFlightInfo counted, its tickets deliver until their lease ends, whatever becomes of the dataset."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.flight as fl
import pytest

import tables
from service import Client, Server

LEASE_SECONDS = 60
CANCELLED, NOT_CANCELLABLE = 1, 3
DATA = tables.table("flat", 30_000, batch_rows=10_000)
OTHER = DATA.slice(0, 7)


@pytest.fixture
def short() -> Iterator[Client]:
    """A client of a server whose leases last for a tenth of a second."""
    with Server("--lease", "100ms") as server, server.client() as connected:
        yield connected


def _read(client: Client, info: fl.FlightInfo) -> pa.Table:
    return pa.concat_tables([client.flight.do_get(e.ticket).read_all() for e in info.endpoints])


def _seconds_left(endpoint: fl.FlightEndpoint) -> float:
    assert endpoint.expiration_time is not None
    return (endpoint.expiration_time.value - time.time_ns()) / 1e9


@pytest.mark.parametrize("keys", [{}, {"partitions": 3}, {"columns": ["i64"]}, {"limit": 12_345}], ids=str)
def test_tickets_outlive_a_replacement_and_a_drop(client: Client, name: str, keys: dict) -> None:
    keys = {k: DATA.column_names[:1] if k == "columns" else v for k, v in keys.items()}
    charge = client.charged()
    client.put(name, DATA, batching="keep")
    info = client.info(name, **keys)
    want = _read(client, info)
    assert want.num_rows == info.total_records
    for e in info.endpoints:
        assert LEASE_SECONDS - 30 < _seconds_left(e) <= LEASE_SECONDS + 1
    client.put(name, OTHER)
    assert _read(client, info).equals(want)
    client.drop(name)
    assert _read(client, info).equals(want)
    assert client.stats()["leases"] >= 1
    assert client.charged() > charge
    assert client.cancel(info) == CANCELLED
    assert client.settled_charge(charge) == charge
    for e in info.endpoints:
        with pytest.raises(KeyError, match=r"lease of this ticket has ended"):
            client.flight.do_get(e.ticket).read_all()


def test_each_info_has_a_lease_of_its_own(client: Client, name: str) -> None:
    client.put(name, DATA)
    first, second = client.info(name), client.info(name)
    assert client.describe(name)["leases"] == 2
    client.put(name, OTHER)
    assert client.describe(name)["leased_bytes"] > 0
    assert client.cancel(first) == CANCELLED
    assert client.describe(name)["leases"] == 1
    assert _read(client, second).equals(DATA)
    renewed = client.renew(second.endpoints[0])
    assert renewed.expiration_time.value >= second.endpoints[0].expiration_time.value
    assert renewed.ticket == second.endpoints[0].ticket
    assert client.flight.do_get(renewed.ticket).read_all().equals(DATA)
    client.cancel(second)
    assert client.describe(name)["leased_bytes"] == 0


def test_a_listing_takes_no_lease(client: Client, name: str) -> None:
    client.put(name, DATA)
    (info,) = client.flight.list_flights(name.encode())
    assert info.endpoints[0].expiration_time is None
    assert client.describe(name)["leases"] == 0
    assert client.cancel(info) == NOT_CANCELLABLE
    with pytest.raises(pa.ArrowInvalid, match="no lease"):
        client.renew(info.endpoints[0])


def test_leases_end_by_themselves(short: Client) -> None:
    short.put("d", DATA)
    infos = [short.info("d") for _ in range(50)]
    short.drop("d")
    assert short.settled_charge(0) == 0
    assert short.stats()["leases"] == 0
    for info in infos[:3]:
        with pytest.raises(KeyError, match="lease of this ticket has ended"):
            _read(short, info)
        with pytest.raises(KeyError, match="lease has ended"):
            short.renew(info.endpoints[0])


def test_the_newest_generation_reads_without_its_lease(short: Client) -> None:
    short.put("d", DATA)
    info = short.info("d")
    while short.stats()["leases"]:
        time.sleep(0.02)
    assert _read(short, info).equals(DATA)
    short.put("d", OTHER)
    with pytest.raises(KeyError, match="replaced"):
        _read(short, info)


def test_no_leases_where_none_are_wanted() -> None:
    with Server("--lease", "0") as server, server.client() as client:
        client.put("d", DATA)
        info = client.info("d")
        assert info.endpoints[0].expiration_time is None
        assert _read(client, info).equals(DATA)
        client.drop("d")
        assert client.settled_charge(0) == 0
