"""How far a put or a read is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import pyarrow as pa

from ._sources import size

Progress = bool | Callable[[int, int], object]
"""True: a line on the standard error, if that is a terminal. A function: called with the rows and the bytes so far."""

_EACH = 0.1
"""Seconds between two changes of the line."""
_WIDTH = 30


class Meter:
    """Counts batches, and shows them by choice."""

    def __init__(self, progress: Progress, what: str, total: int | None) -> None:
        """``total`` is the number of rows to come, if it is known."""
        self._tell = progress if callable(progress) else None
        self._shown = progress is True and sys.stderr.isatty()
        self._what, self._total = what, total
        self._began = self._last = time.monotonic()
        self._rows = self._bytes = 0

    def count(self, batch: pa.RecordBatch) -> None:
        """Adds a batch."""
        if self._tell is None and not self._shown:
            return
        self._rows += batch.num_rows
        self._bytes += size(batch)
        if self._tell is not None:
            self._tell(self._rows, self._bytes)
        now = time.monotonic()
        if self._shown and now - self._last >= _EACH:
            self._last = now
            sys.stderr.write(f"\r{self.line(now - self._began)}\x1b[K")
            sys.stderr.flush()

    def line(self, seconds: float) -> str:
        """What is shown after so many seconds."""
        mib = self._bytes / (1 << 20)
        text = f"{self._rows:,} rows, {mib:,.1f} MiB, {mib / max(seconds, 1e-9):,.0f} MiB/s"
        if not self._total:
            return f"{self._what}: {text}"
        done = min(self._rows / self._total, 1.0)
        bar = "#" * round(done * _WIDTH)
        return f"{self._what} [{bar:<{_WIDTH}}] {done:4.0%} {text}"

    def end(self) -> None:
        """Ends the line."""
        if self._shown:
            sys.stderr.write(f"\r{self.line(time.monotonic() - self._began)}\x1b[K\n")
            sys.stderr.flush()
