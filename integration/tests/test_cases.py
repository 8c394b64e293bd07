"""CASES.md names tests that exist."""

from __future__ import annotations

import re

import pytest

from service import ROOT

NAMED = sorted(set(re.findall(r"`([\w/.]+\.(?:py|go))::(\w+)`", (ROOT / "integration" / "CASES.md").read_text())))


@pytest.mark.parametrize(("file", "test"), NAMED, ids="::".join)
def test_the_named_test_exists(file: str, test: str) -> None:
    start = "def" if file.endswith(".py") else "func"
    assert re.search(rf"^{start} {test}\(", (ROOT / file).read_text(), re.MULTILINE)


def test_every_line_has_a_test() -> None:
    lines = [line for line in (ROOT / "integration" / "CASES.md").read_text().splitlines() if re.match(r"\| \d", line)]
    assert len(lines) > 60
    for line in lines:
        assert "::" in line, line
