"""The results as Markdown: the targets first, then each section with its ratios to the peer."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from rounds import Figure, Figures

PEER = "pyarrow"
"""The contender that others are compared with, where it takes part."""


@dataclass
class Row:
    """One line of the results: a value, beside its target if it has one. ``at_least`` turns the comparison round."""

    what: str
    value: float
    target: float | None = None
    unit: str = "x"
    measured: str = ""
    at_least: bool = False

    @property
    def passed(self) -> bool:
        if self.target is None:
            return True
        return self.value >= self.target if self.at_least else self.value <= self.target

    def cells(self) -> list[str]:
        sign = "≥" if self.at_least else "≤"
        unit = "x" if self.unit == "x" else f" {self.unit}"
        digits = 2 if self.unit in ("x", "ms") else 1
        return [
            self.what,
            self.measured,
            f"{self.value:.{digits}f}{unit}",
            "" if self.target is None else f"{sign} {self.target:g}{unit}",
            "" if self.target is None else "pass" if self.passed else "**miss**",
        ]


@dataclass
class Section:
    """One part of the run: what is done, its figures, and the rows made of them. ``resident`` is by server, in MiB."""

    title: str
    about: str
    figures: Figures = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    resident: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def picture(self) -> str:
        """The file name of its plot."""
        return re.sub("[^a-z0-9]+", "-", self.title.lower()).strip("-") + ".png"

    def ratio(
        self, kind: str, name: str, target: float | None = None, cpu: bool = False, peer: str = PEER, prefix: str = ""
    ) -> None:
        """Adds a row: the time, or the server's CPU time, of one contender against another's."""
        ours, theirs = self.figures[kind][name], self.figures[kind][peer]
        a, b = (ours.cpu_seconds, theirs.cpu_seconds) if cpu else (ours.seconds, theirs.seconds)
        what = f"{prefix}{kind}, {name.removeprefix('flightcache ')}: {'server CPU' if cpu else 'time'} against {peer}"
        self.rows.append(Row(what, a / b, target, measured=f"{1e3 * a:.2f} ms / {1e3 * b:.2f} ms"))


def table(head: list[str], lines: list[list[str]]) -> str:
    """A table in Markdown."""
    rule = ["---"] * len(head)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *lines])


def _over(a: float, b: float | None) -> str:
    return f"{a / b:.2f}x" if b else ""


def figures_table(figures: Figures) -> str:
    """Every figure, one line for each kind of work and contender, ratios to the peer first."""
    lines = []
    for kind, by_name in figures.items():
        peer: Figure | None = by_name.get(PEER)
        for name, f in by_name.items():
            alone = f is peer or peer is None
            lines.append(
                [
                    kind,
                    name,
                    "" if alone else _over(f.seconds, peer.seconds),
                    "" if alone else _over(f.cpu_seconds, peer.cpu_seconds),
                    f"{1e3 * f.seconds:.2f}",
                    f"{1e3 * min(f.wall):.2f}",
                    f"{1e3 * f.cpu_seconds:.2f}",
                    "" if f.wire is None else f"{f.wire / 2**20:.2f}",
                ]
            )
    head = ["work", "contender", "time ratio", "CPU ratio", "time ms", "least ms", "server CPU ms", "sent MiB"]
    return table(head, lines)


def _section(section: Section, plots: str) -> str:
    parts = [f"## {section.title}", section.about]
    if section.figures:
        parts.append(f"![{section.title}]({plots}/{section.picture})")
    if rows := [row.cells()[:3] for row in section.rows if row.target is None]:
        parts.append(table(["work", "measured", "value"], rows))
    if section.figures:
        parts.append(figures_table(section.figures))
    if section.resident:
        lines = [[name, f"{now:.0f}", f"{peak:.0f}"] for name, (now, peak) in section.resident.items()]
        parts.append(table(["server", "resident MiB at the end", "at most"], lines))
    return "\n\n".join(parts)


def markdown(sections: list[Section], facts: str, how: str, limits: str, plots: str) -> str:
    """The whole report; ``limits`` says what stops a target that is missed."""
    targets = [row.cells() for section in sections for row in section.rows if row.target is not None]
    parts = ["# Side by side", how, f"Machine: {facts}.", "## Against the targets"]
    parts.append(table(["work", "measured", "value", "target", ""], targets))
    parts.append(f"![Every value over its target]({plots}/targets.png)")
    if limits:
        parts.append(limits.strip())
    return "\n\n".join([*parts, *(_section(s, plots) for s in sections)]) + "\n"
