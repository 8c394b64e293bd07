"""What several sections do."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import machine
from contenders import Contender
from report import Section
from rounds import Figure, Work, interleave


def puts(contenders: list[Contender], table: pa.Table, rounds: int) -> dict[str, Figure]:
    """Puts of the table. Those that are encoded after the answer are waited for, outside the clock."""
    works = [Work(c.name, c.pid, lambda c=c: c.put(table), after=c.settle if c.encode else None) for c in contenders]
    return interleave(works, rounds)


def gets(
    contenders: list[Contender], rows: int, columns: list[str] | None, rounds: int, repeat: int = 1, **keys: Any
) -> dict[str, Figure]:
    """Reads of the columns, and the bytes that the server sends for one of them."""
    figures = interleave(
        [Work(c.name, c.pid, lambda c=c: c.get(columns, **keys), rows, repeat) for c in contenders], rounds
    )
    wire(contenders, figures, columns, **keys)
    return figures


def wire(contenders: list[Contender], figures: dict[str, Figure], columns: list[str] | None, **keys: Any) -> None:
    """Adds the bytes of one read to the figures."""
    for c in contenders:
        figures[c.name].wire = c.drain(columns=columns, **keys)["bytes"]


def resident(section: Section, contenders: list[Contender]) -> None:
    """Adds what the servers' memory is now, and was at most."""
    by_pid: dict[int, list[str]] = {}
    for c in contenders:
        by_pid.setdefault(c.pid, []).append(c.name)
    for pid, names in by_pid.items():
        name = names[0] if len(names) == 1 else f"flightcache, {len(names)} datasets"
        section.resident[name] = machine.rss_mib(pid), machine.peak_mib(pid)
