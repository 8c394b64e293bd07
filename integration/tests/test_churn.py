"""A short churn in each eviction mode; ``churn.py`` runs longer ones."""

from __future__ import annotations

import random

import pytest

import churn
from churn import MIB

SECONDS = 20
# So small that the workers fill it in this time.
BUDGET = 128 * MIB


@pytest.mark.parametrize("eviction", ["reject", "drop", "spill"])
def test_churn(eviction: str) -> None:
    result = churn.run(SECONDS, BUDGET, eviction, random.SystemRandom().randrange(1 << 30))
    assert churn.report(result)
    most, stats, totals = result["seen"].most, result["stats"], result["totals"]
    assert result["seen"].samples > SECONDS
    assert most["charged_bytes"] > BUDGET // 2, "the budget was never nearly full"
    assert min(stats["puts"], stats["gets"]) > 100
    assert totals["bytes read"] > BUDGET // 4
    if eviction == "drop":
        assert stats["evictions"] > 0
    if eviction == "spill":
        assert min(most["spilled_bytes"], most["files"]) > 0
