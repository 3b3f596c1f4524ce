"""`limit`: for a while the program uses fewer processors than it could have."""

from __future__ import annotations

import contextlib
from types import TracebackType
from typing import Optional

from numaestro._program import PROGRAM

__all__ = ["limit"]


class limit(contextlib.ContextDecorator):  # noqa: N801  (used like a function)
    """Uses at most `max` processors within a ``with`` block, or within a decorated function.

    ::

        with numaestro.limit(max=4):
            load()                  # I/O does not gain from more

    The manager takes the other processors back and gives them to other programs; after the block
    it gives what it can. Limits may nest and may overlap in several threads: the lowest holds, for
    the whole process. A limit above what the process can have does nothing. A limit below the
    minimum of the program (``numaestro run --min``) is an answer of `processors` only.

    A process that is forked within the block keeps the limit until its own copy of the block ends.
    A program that is started within the block does not have it.

    Raises `TypeError` or `ValueError` if `max` is no whole number from 1 on.
    """

    def __init__(self, *, max: int) -> None:  # noqa: A002  (the name that users read)
        if isinstance(max, bool) or not isinstance(max, int):
            raise TypeError(f"limit(max=...) takes a whole number, not {type(max).__name__}")
        if max < 1:
            raise ValueError(f"limit(max={max}): a program needs at least 1 processor")
        self._most = max

    def __enter__(self) -> limit:
        PROGRAM.begin_limit(self._most)
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        PROGRAM.end_limit(self._most)
