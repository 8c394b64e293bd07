"""Runs the cells of walk.py and writes walk.md: the text, the code, what it printed and the figures that it showed.

``python docs/render.py --address grpc://127.0.0.1:8815 --to docs`` makes the page anew.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent
TEXT, CODE = "# %% [markdown]\n", "# %%\n"


def cells(program: str) -> list[tuple[bool, str]]:
    """The cells of a program, each with whether it is text."""
    out: list[tuple[bool, str]] = []
    for line in program.splitlines(keepends=True):
        if line in (TEXT, CODE):
            out.append((line == TEXT, ""))
        else:
            is_text, body = out[-1]
            out[-1] = (is_text, body + (line.removeprefix("#").removeprefix(" ") if is_text else line))
    return [(is_text, body.strip("\n")) for is_text, body in out]


def render(program: Path, to: Path) -> str:
    """The page of a program whose figures go to the folder ``to``."""
    scope: dict[str, object] = {"__name__": "__main__"}
    page, figures = [], 0
    for is_text, body in cells(program.read_text()):
        if is_text:
            page.append(body)
            continue
        page.append(f"```python\n{body}\n```")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(body, str(program), "exec"), scope)
        if text := printed.getvalue().rstrip("\n"):
            page.append(f"```text\n{text}\n```")
        for number in plt.get_fignums():
            figures += 1
            name = f"{program.stem}-{figures}.png"
            figure = plt.figure(number)
            figure.savefig(to / name, dpi=100, metadata={"Software": None})
            page.append(f"![{figure.axes[0].get_title()}]({name})")
            plt.close(figure)
    return "\n\n".join(page) + "\n"


def main() -> None:
    """Make the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", default="grpc://127.0.0.1:8815")
    parser.add_argument("--to", type=Path, default=HERE)
    arguments = parser.parse_args()
    os.environ["FLIGHTCACHE_ADDRESS"] = arguments.address
    # Agg has nothing to show figures on: they are saved after each cell.
    plt.show = lambda *_, **__: None
    page = render(HERE / "walk.py", arguments.to)
    (arguments.to / "walk.md").write_text(page)


if __name__ == "__main__":
    main()
