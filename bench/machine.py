"""What the machine and the processes on it tell about themselves."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import time
from pathlib import Path


def cpu_seconds(pid: int) -> float:
    """The CPU time that a process has used, to the nanosecond: Linux gives every process a clock of its own."""
    return time.clock_gettime((~pid << 3) | 2)


def _status_mib(pid: int, key: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) / 1024
    raise ProcessLookupError(f"process {pid} has ended")


def rss_mib(pid: int) -> float:
    """A process's resident memory."""
    return _status_mib(pid, "VmRSS:")


def peak_mib(pid: int) -> float:
    """The most resident memory that a process has had."""
    return _status_mib(pid, "VmHWM:")


def facts() -> str:
    """One line: processor, memory, system and versions."""
    model = "unknown processor"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    go = subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True, check=True).stdout.strip()
    pyarrow = importlib.metadata.version("pyarrow")
    return (
        f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB; Linux {platform.release()}; {go}; "
        f"Python {platform.python_version()}, pyarrow {pyarrow}"
    )
