"""The examples of the documentation run as they stand."""

from __future__ import annotations

import subprocess
import sys

from service import ROOT, Client, Server


def test_quickstart(server: Server, client: Client) -> None:
    example = [sys.executable, ROOT / "examples" / "quickstart.py", "--address", server.address]
    done = subprocess.run(example, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "336,776 rows" in done.stdout
    facts = client.describe("travel/flights")
    assert facts["rows"] == 336_776
    assert len(facts["columns"]) == 19
