"""This process: its source of processors, and the limits that it sets itself at the moment.

There is one `Program` in a process. It owns the limits, and tells the manager the lowest of them as
a request. Whoever asks for the number of processors reads two values and takes no lock: the asker
may be a signal handler, or code that runs between any two instructions of the main thread.
"""

from __future__ import annotations

import os
import threading
from typing import Optional

from numaestro._source import Source, find

__all__ = ["PROGRAM", "Program"]


class Program:
    """See the module."""

    def __init__(self) -> None:
        self._source: Optional[Source] = None
        self._limits: tuple[int, ...] = ()
        self._requested = 0
        self._lock = threading.RLock()

    def source(self) -> Source:
        """The source, which is found at the first use: importing the package attaches nothing."""
        if self._source is None:
            with self._lock:
                if self._source is None:
                    self._source = find()
                    self._request(self._source)
        return self._source

    def processors(self) -> int:
        """The number of processors that the process can have, within its own limits."""
        return min(self.source().processors(), *self._limits, _NO_LIMIT)

    def begin_limit(self, most: int) -> None:
        """One more limit."""
        source = self.source()
        with self._lock:
            self._limits = (*self._limits, most)
            self._request(source)

    def end_limit(self, most: int) -> None:
        """One limit of that number ends; limits may end in any order."""
        source = self.source()
        with self._lock:
            rest = list(self._limits)
            rest.remove(most)
            self._limits = tuple(rest)
            self._request(source)

    def _request(self, source: Source) -> None:
        wanted = min(self._limits, default=0)
        if wanted != self._requested:
            self._requested = wanted
            source.request(wanted)

    def start_in_child(self) -> None:
        """After a fork: the limits go on, everything else begins anew, a request too."""
        self._source = None
        self._requested = 0
        self._lock = threading.RLock()


#: Above every number of processors.
_NO_LIMIT = 1 << 30

PROGRAM = Program()
os.register_at_fork(after_in_child=PROGRAM.start_in_child)
