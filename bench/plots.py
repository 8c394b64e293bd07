"""The results as pictures: one of all targets, and one for each section."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from report import PEER, Section
from rounds import Figure


def _save(canvas: plt.Figure, path: Path) -> None:
    canvas.tight_layout()
    canvas.savefig(path, dpi=90, bbox_inches="tight")
    plt.close(canvas)


def targets(sections: list[Section], path: Path) -> None:
    """A bar for each target: how far the value is from it. What is left of 1 is met."""
    rows = [row for section in sections for row in section.rows if row.target]
    if not rows:
        return
    values = [row.target / row.value if row.at_least else row.value / row.target for row in rows]
    canvas, panel = plt.subplots(figsize=(11, 1 + 0.26 * len(rows)))
    bars = panel.barh(range(len(rows)), values, color=["tab:green" if row.passed else "tab:red" for row in rows])
    panel.bar_label(bars, [f"{row.value:.3g} of {row.target:g}" for row in rows], padding=2, fontsize=7)
    panel.set_yticks(range(len(rows)), [row.what for row in rows], fontsize=7)
    panel.axvline(1, color="black", linewidth=1)
    panel.set_xscale("log")
    panel.set_xlabel("value over target; left of the line it is met")
    panel.invert_yaxis()
    panel.margins(x=0.15)
    panel.spines[["top", "right"]].set_visible(False)
    _save(canvas, path)


def _value(figure: Figure, cpu: bool) -> float:
    return figure.cpu_seconds if cpu else figure.seconds


def section(s: Section, path: Path) -> None:
    """Two panels, time and server CPU, with a group of bars for each kind of work: ratios to the peer, or times."""
    figures = s.figures
    names = list(dict.fromkeys(name for by_name in figures.values() for name in by_name))
    relative = all(PEER in by_name for by_name in figures.values())
    shown = [name for name in names if not (relative and name == PEER)]
    kinds, height = list(figures), 0.8 / len(shown)
    canvas, panels = plt.subplots(1, 2, figsize=(12, 1.5 + 0.2 * len(kinds) * len(shown)), sharey=True)
    for panel, cpu in zip(panels, (False, True), strict=True):
        for i, name in enumerate(shown):
            places, values = [], []
            for k, kind in enumerate(kinds):
                if figure := figures[kind].get(name):
                    places.append(k + (i - (len(shown) - 1) / 2) * height)
                    value = _value(figure, cpu)
                    values.append(value / _value(figures[kind][PEER], cpu) if relative else 1e3 * value)
            bars = panel.barh(places, values, height, label=name)
            panel.bar_label(bars, fmt="%.3g", padding=2, fontsize=7)
        panel.set_xscale("log")
        if relative:
            panel.axvline(1, color="black", linewidth=1)
        panel.tick_params(axis="x", which="both", labelsize=7)
        panel.set_title(("server CPU" if cpu else "time") + (f" against {PEER}" if relative else ", ms"))
        panel.set_yticks(range(len(kinds)), kinds, fontsize=8)
        panel.spines[["top", "right"]].set_visible(False)
        panel.margins(x=0.15)
    panels[0].invert_yaxis()
    panels[1].legend(fontsize=7)
    _save(canvas, path)
