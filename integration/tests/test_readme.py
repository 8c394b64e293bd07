"""The Python of the README runs as it stands, block after block, against a server."""

from __future__ import annotations

import re

from service import ROOT, Server

DEFAULT_ADDRESS = "grpc://127.0.0.1:8815"


def test_python_blocks(server: Server) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 2
    scope: dict[str, object] = {}
    for block in blocks:
        assert "assert" in block
        exec(block.replace(DEFAULT_ADDRESS, server.address), scope)
