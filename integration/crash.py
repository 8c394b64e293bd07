"""A durable workload that a crash may end at any moment, and what must be there after it.

Each dataset has one writer, which knows what was acknowledged and what was under way. After a crash the dataset must be
what was acknowledged or, if something was under way, what that would have made of it: whole, and nothing in between.
"""

from __future__ import annotations

import dataclasses
import random
import threading
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc as ipc

from service import Client, Server

CODECS = ("none", "lz4", "zstd")


@dataclass(frozen=True)
class Part:
    """The rows of one put: all that is in them follows from the mark."""

    mark: int

    def table(self) -> pa.Table:
        rng = random.Random(self.mark)
        rows = rng.choice((0, 1, 100, 3_000, 20_000))
        data = pa.table(
            {
                "mark": pa.array([self.mark] * rows, pa.int64()),
                "row": pa.array(range(rows), pa.int64()),
                "word": pa.array([f"{self.mark}/{i % 97}" for i in range(rows)], pa.string()).dictionary_encode(),
            }
        )
        size = rng.choice((500, 7_000, 100_000))
        return pa.Table.from_batches(data.to_batches(max_chunksize=size), data.schema)


@dataclass(frozen=True)
class State:
    """What a dataset is. None in its place is a dataset that is not there."""

    parts: tuple[Part, ...]
    durable: bool
    pinned: bool = False
    generation: str | None = None  # None: not known, as no answer came

    def table(self) -> pa.Table:
        return pa.concat_tables([p.table() for p in self.parts]).unify_dictionaries()


def after_crash(s: State | None) -> State | None:
    return s if s is not None and s.durable else None


class WrongError(AssertionError):
    """A dataset is not what it may be."""


class Writer:
    """The one writer of a dataset."""

    def __init__(self, name: str, rng: random.Random, compacts: bool) -> None:
        self.name, self.rng, self.compacts = name, rng, compacts
        self.acknowledged: State | None = None
        self.under_way: State | None = None
        self.busy = False  # something is under way, and under_way is what it makes
        self.again: tuple[str, Part] | None = None  # the append under way has this put_id
        self.operations = 0
        self.failure: BaseException | None = None

    def run(self, server: Server, over: threading.Event) -> None:
        """Works until the server is killed, which is told before. Everything that fails earlier is a failure."""
        try:
            with server.client() as client:
                while not over.is_set():
                    self.step(client)
                    self.operations += 1
        except WrongError as e:
            self.failure = e
        except Exception as e:
            if not over.is_set():
                self.failure = e

    def begin(self, to: State | None) -> State | None:
        self.under_way, self.busy = to, True
        return to

    def end(self, generation: str | None = None) -> None:
        now = self.under_way
        if now is not None and generation is not None:
            now = dataclasses.replace(now, generation=generation)
        self.acknowledged, self.busy, self.again = now, False, None

    def part(self) -> Part:
        return Part(self.rng.randrange(1 << 40))

    def step(self, client: Client) -> None:
        actions = ["replace", "replace", "append", "append", "identified", "transaction", "read"]
        if self.acknowledged is not None:
            actions += ["append", "append", "drop", "pin", "evict", "volatile"]
            if self.compacts:
                actions.append("compact")
        getattr(self, self.rng.choice(actions))(client)

    def _keys(self, client: Client) -> dict[str, object]:
        keys: dict[str, object] = {}
        if self.rng.random() < 0.5:
            keys["codec"] = self.rng.choice(CODECS)
        if self.rng.random() < 0.3:
            keys["ttl"] = 3600
        if self.compacts and self.rng.random() < 0.5:
            keys["encode"] = "deferred"
        return keys

    def _pinned(self) -> bool:
        return self.acknowledged is not None and self.acknowledged.pinned

    def replace(self, client: Client) -> None:
        part = self.part()
        self.begin(State((part,), True, self._pinned()))
        self.end(client.put(self.name, part.table(), **self._keys(client))["generation"])

    def volatile(self, client: Client) -> None:
        part = self.part()
        self.begin(State((part,), False, self._pinned()))
        self.end(client.put(self.name, part.table(), durable=False, **self._keys(client))["generation"])

    def appended(self, part: Part) -> State:
        was = self.acknowledged
        if was is None:
            return State((part,), True)
        return State((*was.parts, part), was.durable, was.pinned)

    def append(self, client: Client) -> None:
        part = self.part()
        self.begin(self.appended(part))
        self.end(client.put(self.name, part.table(), mode="append", **self._keys(client))["generation"])

    def identified(self, client: Client) -> None:
        part = self.part()
        self.again = (f"put {part.mark}", part)
        self.begin(dataclasses.replace(self.appended(part), durable=True))
        facts = client.put(self.name, part.table(), mode="append", durable=True, put_id=self.again[0])
        self.end(facts["generation"])

    def transaction(self, client: Client) -> None:
        parts = [self.part() for _ in range(self.rng.randrange(1, 4))]
        begun = client.action("begin", dataset=self.name, mode="replace")["transaction"]
        for i, part in enumerate(parts):
            client.put(self.name, part.table(), transaction=begun, put_id=str(i))
        order = self.rng.sample(range(len(parts)), len(parts))
        self.begin(State(tuple(parts[i] for i in order), True, self._pinned()))
        commit = client.action("commit", dataset=self.name, transaction=begun, puts=[str(i) for i in order])
        self.end(commit["generation"])

    def drop(self, client: Client) -> None:
        self.begin(None)
        client.drop(self.name)
        self.end()

    def pin(self, client: Client) -> None:
        was = self.acknowledged
        assert was is not None
        self.begin(dataclasses.replace(was, pinned=not was.pinned))
        client.action("unpin" if was.pinned else "pin", dataset=self.name)
        self.end()

    def evict(self, client: Client) -> None:
        if self.acknowledged is not None and self.acknowledged.durable and not self._pinned():
            client.action("evict", dataset=self.name)

    def compact(self, client: Client) -> None:
        client.action("compact", dataset=self.name)

    def read(self, client: Client) -> None:
        self.expect(client, [self.acknowledged])

    def expect(self, client: Client, states: list[State | None]) -> State | None:
        """Finds the one of these states that the dataset has."""
        try:
            facts = client.describe(self.name)
        except KeyError:
            if None not in states:
                raise WrongError(f"{self.name} is gone, and may be {states}") from None
            return None
        data = client.get(self.name)
        for s in states:
            if s is None or s.generation not in (None, facts["generation"]):
                continue
            want = s.table()
            if (
                facts["pinned"] == s.pinned
                and facts.get("durable", False) == s.durable
                and facts["rows"] == want.num_rows == data.num_rows
                and data.unify_dictionaries().equals(want)
            ):
                return dataclasses.replace(s, generation=facts["generation"])
        raise WrongError(f"{self.name} is {facts}, {data.num_rows} rows, and may be {states}")

    def check(self, client: Client) -> State | None:
        """What the dataset is after a crash and a start. A put that was under way is sent again, if it has an id."""
        states = [after_crash(self.acknowledged)]
        if self.busy:
            states.append(after_crash(self.under_way))
        now = self.expect(client, states)
        if self.again is not None:
            put_id, part = self.again
            was = now.parts if now is not None else ()
            if now is None or part not in was:  # else it was done, perhaps upon rows that no longer were durable alone
                now = State((*was, part), True, now is not None and now.pinned)
            facts = client.put(self.name, part.table(), mode="append", durable=True, put_id=put_id)
            if now.generation not in (None, facts["generation"]):
                raise WrongError(f"{put_id} was done by {now.generation}, and is answered with {facts['generation']}")
            now = self.expect(client, [dataclasses.replace(now, generation=facts["generation"])])
        self.acknowledged, self.busy, self.again = now, False, None
        return now


def rows_in_files(folder: Path) -> int:
    """The rows of all segments, as pyarrow reads them. Everything in the folder must be one."""
    rows = 0
    for path in sorted(folder.iterdir()):
        with ipc.open_file(path) as file:
            rows += sum(file.get_batch(i).num_rows for i in range(file.num_record_batches))
    return rows
