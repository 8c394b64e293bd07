"""The results as a Markdown table with targets, and as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from rounds import Figure


@dataclass
class Row:
    """One line of the results: a value, beside its target if it has one. ``at_least`` turns the comparison round."""

    what: str
    value: float
    target: float | None
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
        unit = {"MiB": " MiB", "%": " %"}.get(self.unit, "x")
        digits = 2 if unit == "x" else 1
        return [
            self.what,
            self.measured,
            f"{self.value:.{digits}f}{unit}",
            "" if self.target is None else f"{sign} {self.target:g}{unit}",
            "" if self.target is None else "pass" if self.passed else "**miss**",
        ]


def _table(head: list[str], lines: list[list[str]]) -> str:
    rule = ["---"] * len(head)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *lines])


def figures_table(figures: dict[str, dict[str, Figure]]) -> str:
    """Every figure, one line for each kind of work and server."""
    lines = [
        [kind, name, f"{1e3 * f.seconds:.2f}", f"{1e3 * min(f.wall):.2f}", f"{1e3 * f.cpu_seconds:.2f}"]
        for kind, by_name in figures.items()
        for name, f in by_name.items()
    ]
    return _table(["work", "server", "time, median ms", "time, least ms", "server CPU, median ms"], lines)


def markdown(rows: list[Row], figures: dict[str, dict[str, Figure]], facts: str, how: str) -> str:
    """The whole report."""
    targets = _table(["work", "measured", "value", "target", ""], [row.cells() for row in rows])
    return f"""# Side by side

{how}

Machine: {facts}.

## Against the targets

{targets}

## Every figure

![Time and server CPU of each kind of work](results.png)

{figures_table(figures)}
"""


def plot(figures: dict[str, dict[str, Figure]], path: Path) -> None:
    """Two panels, time and server CPU, with a group of bars for each kind of work."""
    names = list(dict.fromkeys(name for by_name in figures.values() for name in by_name))
    kinds = list(figures)
    height = 0.8 / len(names)
    canvas, panels = plt.subplots(1, 2, figsize=(12, 1 + 0.28 * len(kinds) * len(names)), sharey=True)
    for panel, title in zip(panels, ["time of one call, ms", "server CPU of one call, ms"], strict=True):
        for i, name in enumerate(names):
            places, values = [], []
            for k, kind in enumerate(kinds):
                if figure := figures[kind].get(name):
                    places.append(k + (i - (len(names) - 1) / 2) * height)
                    values.append(1e3 * (figure.seconds if panel is panels[0] else figure.cpu_seconds))
            bars = panel.barh(places, values, height, label=name)
            panel.bar_label(bars, fmt="%.3g", padding=2, fontsize=7)
        panel.set_xscale("log")
        panel.set_title(title)
        panel.set_yticks(range(len(kinds)), kinds)
        panel.spines[["top", "right"]].set_visible(False)
        panel.margins(x=0.15)
    panels[0].invert_yaxis()
    panels[1].legend(fontsize=8)
    canvas.tight_layout()
    canvas.savefig(path, dpi=110)
