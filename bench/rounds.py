"""Interleaved measuring: in each round every contender does the same work once, in an order drawn for it.

A figure is a median over the rounds of one run, and is read only as a ratio to another of the same run: on small
machines the same work takes other times on other days.
"""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from machine import cpu_seconds


@dataclass
class Figure:
    """The samples of one kind of work by one contender: wall and server CPU seconds of one call.

    ``settle`` has the seconds that what comes after the answer took, where there is such a thing; its CPU is in
    ``cpu``. ``wire`` are the bytes of the messages that the server sends, gRPC's framing apart; None: not measured.
    """

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    settle: list[float] = field(default_factory=list)
    wire: int | None = None

    @property
    def seconds(self) -> float:
        return statistics.median(self.wall)

    @property
    def cpu_seconds(self) -> float:
        return statistics.median(self.cpu)

    @property
    def settle_seconds(self) -> float:
        return statistics.median(self.settle)


Figures = dict[str, dict[str, Figure]]
"""By kind of work, then by contender."""


@dataclass
class Work:
    """What one contender does in a round: ``call``, ``repeat`` times; ``pid`` is whose CPU time is read.

    A call that is timed by somebody else, such as a client process with a clock of its own, gives a float: these are
    then the seconds, and ``want`` is None. ``before`` and ``after`` run outside the clock; ``after`` waits for what the
    server goes on with, so its CPU counts.
    """

    name: str
    pid: int
    call: Callable[[], object]
    want: object = None
    repeat: int = 1
    before: Callable[[], object] | None = None
    after: Callable[[], object] | None = None

    def once(self) -> tuple[float, float, float | None]:
        """Wall and CPU seconds of a call, and the seconds that ``after`` took."""
        wall = cpu = 0.0
        settle = None
        for _ in range(self.repeat):
            if self.before:
                self.before()
            cpu_before, start = cpu_seconds(self.pid), time.perf_counter()
            result = self.call()
            end = time.perf_counter()
            if isinstance(result, float):
                wall += result
            elif result != self.want:
                raise AssertionError(f"{self.name} gave {result}, not {self.want}")
            else:
                wall += end - start
            if self.after:
                self.after()
                settle = (settle or 0) + time.perf_counter() - end
            cpu += cpu_seconds(self.pid) - cpu_before
        n = self.repeat
        return wall / n, cpu / n, None if settle is None else settle / n


def interleave(works: list[Work], rounds: int, warm: bool = True) -> dict[str, Figure]:
    """Measures all works over ``rounds`` rounds, after one that does not count. A wrong result ends the run.

    Without ``warm`` the first round counts too: for work that cannot be done once more, or takes too long for it. The
    order is drawn, the same in every run: what memory a call finds depends on the one before it, its client's as well.
    """
    figures = {work.name: Figure() for work in works}
    order = random.Random(1)
    for turn in range(-1 if warm else 0, rounds):
        for work in order.sample(works, len(works)):
            gc.collect()
            wall, cpu, settle = work.once()
            if turn >= 0:
                figures[work.name].wall.append(wall)
                figures[work.name].cpu.append(cpu)
                if settle is not None:
                    figures[work.name].settle.append(settle)
    return figures
