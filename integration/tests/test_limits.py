"""What is over a limit is refused, and the client is told by which option."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.flight as fl
import pytest

import tables
from service import Client, Server, command_of, wait

FLAT = tables.table("flat", 40_000, batch_rows=1000)
NUMBERS = pa.table({"n": pa.array(range(10_000), pa.int64())})
ZEROS = pa.table({"n": pa.array([0], pa.int64()).take(pa.array([0] * 10_000_000))})
"""80 MB for a client that is sent it plain, and next to nothing as it is stored."""
FLAGS = {
    "--max-columns": "6",
    "--max-nesting": "2",
    "--max-metadata": "1KiB",
    "--max-datasets": "8",
    "--max-dataset-size": "1MiB",
    "--quota": "small/**=200KiB",
    "--max-gets": "2",
    "--max-puts": "2",
    "--max-connections": "40",
}


@pytest.fixture(scope="module")
def limited() -> Iterator[Server]:
    with Server(*(word for pair in FLAGS.items() for word in pair)) as running:
        yield running
        assert running.stop() == 0


def _wide() -> pa.Table:
    return pa.table({f"c{i}": [i] for i in range(7)})


def _noted() -> pa.Table:
    return NUMBERS.replace_schema_metadata({"note": "x" * 2000})


REFUSED: dict[str, Callable[[Client], object]] = {
    "--max-columns": lambda c: c.put("d", _wide()),
    "--max-nesting": lambda c: c.put("d", pa.table({"l": pa.array([[[1]]])})),
    "--max-metadata": lambda c: c.put("d", _noted()),
    "--max-dataset-size": lambda c: c.put("d", FLAT, codec="none"),
    "--quota": lambda c: [c.put(f"small/{i}", NUMBERS, codec="none") for i in range(3)],
    "--max-datasets": lambda c: [c.put(f"many/{i}", NUMBERS.slice(0, 1)) for i in range(9)],
}


@pytest.mark.parametrize("option", REFUSED)
def test_the_option_is_named(limited: Server, option: str) -> None:
    with limited.client() as client:
        with pytest.raises((fl.FlightError, pa.ArrowException), match=f"option {option}\\)"):
            REFUSED[option](client)
        for name in client.names():
            client.drop(name)
        assert client.settled_charge(0) == 0


def test_gets_and_puts_of_one_caller(limited: Server) -> None:
    with limited.client() as client:
        client.put("d", ZEROS, codec="zstd")
        readers = [client.flight.do_get(fl.Ticket(command_of("d", wire="none"))) for _ in range(2)]
        for reader in readers:
            reader.read_chunk()
        with pytest.raises((fl.FlightError, pa.ArrowException), match=r"option --max-gets\)"):
            client.get("d")
        for reader in readers:
            assert sum(chunk.data.num_rows for chunk in reader) > 0
        assert client.get("d").num_rows == ZEROS.num_rows
        writers = [client.flight.do_put(fl.FlightDescriptor.for_path(f"p{i}"), NUMBERS.schema)[0] for i in range(2)]
        for writer in writers:
            writer.write_table(NUMBERS)
        wait(lambda: client.stats()["staged_bytes"] >= 2 * NUMBERS.nbytes)
        with pytest.raises((fl.FlightError, pa.ArrowException), match=r"option --max-puts\)"):
            client.put("late", NUMBERS)
        for writer in writers:
            writer.close()
        assert client.names() == ["d", "p0", "p1"]


def test_puts_at_once_never_pass_a_quota() -> None:
    """What was answered is within it, and as much as fits can be put afterwards."""
    size = 80_000
    with Server("--quota", f"q/**={5 * size + size // 2}") as server:

        def put(i: int) -> bool:
            with server.client() as client:
                try:
                    client.put(f"q/{i % 4}", NUMBERS, codec="none", mode="append")
                except (fl.FlightError, pa.ArrowException) as e:
                    assert "option --quota)" in str(e)  # noqa: PT017
                    return False
                return True

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            done = sum(pool.map(put, range(40)))
        assert done <= 5
        while done < 5:
            assert put(9)
            done += 1
        assert not put(9)
        with server.client() as client:
            total = sum(client.describe(name)["stored_bytes"] for name in client.names())
            assert total == 5 * size


def test_rate_of_one_caller() -> None:
    def call_often(client: Client) -> None:
        for _ in range(100):
            client.names()

    with Server("--max-rate", "5") as server, server.client() as client:
        reason = r"more than 5 calls a second.*option --max-rate\)"
        with pytest.raises((fl.FlightError, pa.ArrowException), match=reason):
            call_often(client)
