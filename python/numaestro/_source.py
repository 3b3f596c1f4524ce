"""The two places that know how many processors this process can have.

Under ``numaestro run`` the preloaded library is part of the process and exports the functions of
``numaestro.h``; ``ctypes.CDLL(None)`` finds them without a file name. Everywhere else the affinity
of the process is the answer, because that is how a manager steers a program that it has adopted.

Both count changes, so a thread that passes on the last count misses none (``numaestro_wait_change``
explains this). Nothing here starts a thread or takes a lock of another module.
"""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Protocol

__all__ = ["Affinity", "Shim", "Source", "find"]

#: ``numaestro_wait_change`` came with this version of ``numaestro.h``: major * 65536 + minor.
_VERSION_LEAST = 0x00010003
#: The most processors that ``numaestro_request`` takes.
_REQUEST_MOST = 65536
#: Seconds between two looks at the affinity: the kernel tells nobody that it has changed.
_LOOK_S = 0.5


class Source(Protocol):
    """What both places answer."""

    @property
    def managed(self) -> bool:
        """A manager decides about this process, and hears its requests."""

    def processors(self) -> int:
        """The number of processors that the process can have now, at least 1."""

    def request(self, processors: int) -> None:
        """The program could use so many; 0 withdraws the request. Counts as a change."""

    def wait_change(self, seen: int, seconds: float) -> int:
        """The number of changes; if it is `seen`, waits for the next one, or for so long.

        It may end early, and says nothing of how the processors have changed.
        """


class Shim:
    """The functions of ``numaestro.h`` in this process, which is attached to a manager."""

    managed = True

    def __init__(self, functions: ctypes.CDLL) -> None:
        self._owned = functions.numaestro_owned
        self._request = functions.numaestro_request
        self._wait_change = functions.numaestro_wait_change
        self._request.argtypes = [ctypes.c_int]
        self._wait_change.argtypes = [ctypes.c_uint32, ctypes.c_uint]
        self._wait_change.restype = ctypes.c_uint32

    def processors(self) -> int:
        # Also those that it lends while it is sequential: a library that is told 1 opens no parallel
        # region, and only a region brings them back at once.
        return int(self._owned())

    def request(self, processors: int) -> None:
        self._request(min(processors, _REQUEST_MOST))

    def wait_change(self, seen: int, seconds: float) -> int:
        # ctypes lets other threads of Python run meanwhile.
        return int(self._wait_change(seen, int(seconds * 1000)))


class Affinity:
    """The affinity of the process: that of its first thread."""

    managed = False

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._requests = 0

    def processors(self) -> int:
        return max(len(os.sched_getaffinity(os.getpid())), 1)

    def request(self, processors: int) -> None:
        del processors  # Nobody hears it.
        with self._condition:
            self._requests += 1
            self._condition.notify_all()

    def wait_change(self, seen: int, seconds: float) -> int:
        with self._condition:
            self._condition.wait_for(lambda: self._requests != seen, min(seconds, _LOOK_S))
            return self._requests


def find() -> Source:
    """The shim if it is here and attached, else affinity. May take 0.4 s if a manager is busy."""
    functions = ctypes.CDLL(None)
    try:
        version = int(functions.numaestro_api_version())
        usable = version >> 16 == _VERSION_LEAST >> 16 and version >= _VERSION_LEAST
        if usable and functions.numaestro_attach() == 0:
            return Shim(functions)
    except AttributeError:
        pass  # No such functions: the process was not started by `numaestro run`.
    return Affinity()
