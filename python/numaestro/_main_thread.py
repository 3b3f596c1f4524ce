"""Calls functions in the main thread, between two of its instructions.

``Py_AddPendingCall`` is how the interpreter itself handles signals. The main thread comes to it
after the call of a library that it is in. A thread that waits in the kernel comes to it when it
goes on.
"""

from __future__ import annotations

import _thread
import collections
import ctypes
import os
import threading
import time
from typing import Callable

__all__ = ["call_soon"]

#: Seconds until the next try while the interpreter's queue of 32 calls is full.
_FULL_S = 0.01
#: Seconds that the last instructions of a call need, by far.
_PAUSE_S = 0.002

_due: collections.deque[Callable[[], None]] = collections.deque()


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)  # type: ignore[misc, untyped-decorator, unused-ignore]
def _run_due(_: object) -> int:
    try:
        while _due:
            _due.popleft()()
    except BaseException as error:
        # A handler of a signal has raised it here, where ctypes would lose it.
        _thread.start_new_thread(_raise_in_main, (error,))
    return 0


def _raise_in_main(error: BaseException) -> None:
    """The main thread raises an exception of the same kind and with the same arguments.

    It is raised between any two instructions, and those of `_run_due` must be over by then.
    """
    time.sleep(_PAUSE_S)
    kind = type(error)
    again = type(kind.__name__, (kind,), {"__init__": lambda self: kind.__init__(self, *error.args)})
    main = ctypes.c_ulong(threading.main_thread().ident or 0)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(main, ctypes.py_object(again))


def call_soon(function: Callable[[], None]) -> None:
    """Calls it soon, and returns at once. `function` must take no lock and raise nothing."""
    _due.append(function)
    while ctypes.pythonapi.Py_AddPendingCall(_run_due, None) != 0:
        time.sleep(_FULL_S)


os.register_at_fork(after_in_child=_due.clear)
