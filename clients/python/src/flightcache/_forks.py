"""What a fork does to connections.

gRPC's threads do not exist in a forked child, so a call there waits for ever, also one over a connection that the child
makes itself. So once this process has had a connection, its children are told instead. What the parent had open must
not be closed in the child either: that waits as well, so the child keeps it for good.
"""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from collections.abc import Iterable
from typing import Any

from .errors import Forked

_handles: weakref.WeakSet[Any] = weakref.WeakSet()
_guard = threading.Lock()
_used = False
_forked = False


def _before() -> None:
    _guard.acquire()


def _in_parent() -> None:
    _guard.release()


def _in_child() -> None:
    global _forked
    if _used:
        _forked = True
        for handle in list(_handles):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(handle))
    _guard.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)


def check() -> None:
    """Raises :class:`flightcache.Forked` in a process that cannot use connections."""
    if _forked:
        raise Forked(
            "this process was forked from one that had connections, which gRPC does not survive: start it with the "
            "method 'spawn' or 'forkserver' (multiprocessing.get_context), or fork before the first flightcache.connect"
        )


def remember(handles: Iterable[Any]) -> None:
    """Notes that these objects of pyarrow.flight hold threads and sockets of this process."""
    global _used
    with _guard:
        _used = True
        _handles.update(handles)
