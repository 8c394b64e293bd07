"""Interleaved measuring: in each round every contender does the same work once, in an order that alternates.

A figure is a median over the rounds of one run, and is read only as a ratio to another of the same run: on small
machines the same work takes other times on other days.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from machine import cpu_seconds


@dataclass
class Figure:
    """The samples of one kind of work by one contender: wall and server CPU seconds of one call."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return statistics.median(self.wall)

    @property
    def cpu_seconds(self) -> float:
        return statistics.median(self.cpu)


@dataclass
class Work:
    """What one contender does in a round: ``call``, ``repeat`` times; ``pid`` is whose CPU time is read."""

    name: str
    pid: int
    call: Callable[[], object]
    want: object
    repeat: int = 1


def interleave(works: list[Work], rounds: int) -> dict[str, Figure]:
    """Measures all works over ``rounds`` rounds, after one that does not count. A wrong result ends the run."""
    figures = {work.name: Figure() for work in works}
    for turn in range(-1, rounds):
        for work in works if turn % 2 == 0 else works[::-1]:
            gc.collect()
            cpu, wall = cpu_seconds(work.pid), time.perf_counter()
            for _ in range(work.repeat):
                result = work.call()
            wall, cpu = time.perf_counter() - wall, cpu_seconds(work.pid) - cpu
            if result != work.want:
                raise AssertionError(f"{work.name} gave {result}, not {work.want}")
            if turn >= 0:
                figures[work.name].wall.append(wall / work.repeat)
                figures[work.name].cpu.append(cpu / work.repeat)
    return figures
