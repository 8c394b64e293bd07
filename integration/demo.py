"""One command for the curious: starts a server, runs the example against it, and stops it."""

from __future__ import annotations

import subprocess
import sys

from service import ROOT, Server


def main() -> int:
    with Server() as server:
        print(f"serving on {server.address}")
        example = [sys.executable, ROOT / "examples" / "quickstart.py", "--address", server.address]
        return subprocess.run(example).returncode


if __name__ == "__main__":
    sys.exit(main())
