"""Puts that are sent twice, puts that become visible together, and datasets that go by themselves."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

import tables
from service import Client, Server

DATA = tables.table("flat", 20_000, batch_rows=5_000)


def _part(mark: int, rows: int = 1000) -> pa.Table:
    return pa.table({"mark": pa.array([mark] * rows, pa.int64()), "row": pa.array(range(rows), pa.int64())})


def _marks(data: pa.Table) -> list[int]:
    """The marks of a table's parts in their order, each once."""
    marks = data["mark"].to_pylist()
    return [m for i, m in enumerate(marks) if i == 0 or marks[i - 1] != m]


def test_a_put_sent_again_is_not_stored_again(client: Client, name: str) -> None:
    first = client.put(name, DATA, mode="append", put_id="one")
    charge = client.charged()
    assert client.put(name, DATA, mode="append", put_id="one") == first
    assert client.put(name, DATA.slice(5), mode="append", put_id="one") == first  # rows are not looked at
    for data, keys, says in [
        (_part(1), {"mode": "append"}, "another schema"),
        (DATA, {"mode": "replace"}, "mode append, now replace"),
        (DATA, {"mode": "append", "rows": DATA.num_rows + 1}, f"{DATA.num_rows} rows, now"),
    ]:
        with pytest.raises(pa.ArrowInvalid, match=says):
            client.put(name, data, put_id="one", **keys)
    assert client.charged() == charge
    assert client.get(name).equals(DATA)
    assert client.put(name, DATA, mode="append", put_id="two")["rows"] == 2 * DATA.num_rows
    assert client.put(name, DATA, mode="append", put_id="one")["rows"] == DATA.num_rows


def test_many_duplicates_at_once(server: Server, client: Client, name: str) -> None:
    def put(_: int) -> dict:
        with server.client() as own:
            return own.put(name, DATA, mode="append", put_id="one")

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(put, range(24)))
    assert all(a == answers[0] for a in answers)
    assert client.get(name).equals(DATA)


def test_a_failed_put_frees_its_id(client: Client, name: str) -> None:
    with pytest.raises(pa.ArrowInvalid, match="nothing was stored"):
        client.put(name, DATA, put_id="one", rows=1)
    assert client.put(name, DATA, put_id="one")["rows"] == DATA.num_rows


@pytest.mark.parametrize("mode", ["replace", "append", "create"])
@pytest.mark.parametrize("order", [None, [3, 1, 2, 0], [2]], ids=["completion", "reordered", "one"])
def test_a_transaction_is_one_generation(
    server: Server, client: Client, name: str, mode: str, order: list[int] | None
) -> None:
    before = _part(-1)
    if mode != "create":
        client.put(name, before)
    begun = client.action("begin", dataset=name, mode=mode)
    puts = threading.Barrier(4)

    def put(mark: int) -> None:
        with server.client() as own:
            puts.wait()
            facts = own.put(name, _part(mark), transaction=begun["transaction"], put_id=str(mark))
            assert facts["rows"] == 1000
            assert own.put(name, _part(9), transaction=begun["transaction"], put_id=str(mark)) == facts

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(put, range(4)))
    if mode == "create":
        assert name not in client.names()
    else:
        assert client.get(name).equals(before)
    keys = {} if order is None else {"puts": [str(mark) for mark in order]}
    facts = client.action("commit", dataset=name, transaction=begun["transaction"], **keys)
    marks = _marks(client.get(name))
    if mode == "append":
        assert marks.pop(0) == -1
    assert (sorted(marks) if order is None else marks) == (order or [0, 1, 2, 3])
    assert client.describe(name)["generation"] == facts["generation"]
    assert client.action("commit", dataset=name, transaction=begun["transaction"], **keys) == facts
    assert client.stats().get("transactions", 0) == 0


def test_transactions_that_end_give_everything_back(client: Client, name: str) -> None:
    charge = client.charged()
    aborted = client.action("begin", dataset=name)["transaction"]
    late = client.action("begin", dataset=name, ttl=1)["transaction"]
    for transaction in (aborted, late):
        client.put(name, DATA, transaction=transaction)
    assert client.charged() > charge
    assert client.action("abort", transaction=aborted)["aborted"]
    assert client.settled_charge(charge) == charge
    for transaction in (aborted, late):
        with pytest.raises(KeyError, match="begin another"):
            client.put(name, DATA, transaction=transaction)
        with pytest.raises(KeyError, match="begin another"):
            client.action("commit", dataset=name, transaction=transaction)
    assert name not in client.names()


def test_what_a_transaction_refuses(client: Client, name: str) -> None:
    transaction = client.action("begin", dataset=name, mode="append")["transaction"]
    with pytest.raises(pa.ArrowInvalid, match="leave the mode out"):
        client.put(name, DATA, transaction=transaction, mode="replace")
    client.put(name, DATA, transaction=transaction, mode="append")
    with pytest.raises(pa.ArrowInvalid, match="first put"):
        client.put(name, _part(1), transaction=transaction)
    with pytest.raises(pa.ArrowInvalid, match="no completed put"):
        client.action("commit", dataset=name, transaction=transaction, puts=["one"])
    assert client.action("commit", dataset=name, transaction=transaction)["rows"] == DATA.num_rows


def test_a_dataset_goes_at_its_time(client: Client, name: str) -> None:
    charge = client.charged()
    client.put(name, DATA, ttl=1)
    assert client.describe(name)["expires"] > client.describe(name)["created"]
    assert client.settled_charge(charge) == charge
    assert name not in client.names()
    with pytest.raises(KeyError, match=name):
        client.get(name)


def test_a_replacement_ends_the_time(client: Client, name: str) -> None:
    client.put(name, DATA, ttl=1)
    client.put(name, DATA)
    assert "expires" not in client.describe(name)
    time.sleep(1.2)
    assert client.get(name).equals(DATA)
    client.drop(name)


def test_pins_last_over_puts(client: Client, name: str) -> None:
    client.put(name, DATA, pin=True)
    client.put(name, DATA)
    assert client.describe(name)["pinned"]
    assert client.action("unpin", dataset=name) == {"dataset": name, "pinned": False}
    assert not client.describe(name)["pinned"]
    assert client.action("pin", dataset=name) == {"dataset": name, "pinned": True}
    client.put(name, DATA, pin=False)
    assert not client.describe(name)["pinned"]
