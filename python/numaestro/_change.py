"""`on_change`: calls functions of the program when its number of processors has changed.

One daemon thread serves all subscriptions. It sleeps until its source counts a change (under a
manager that is a futex, so it uses no processor time), compares the number with the one that it
told last, and calls the functions one after the other. It ends when no subscription is left.
"""

from __future__ import annotations

import atexit
import os
import threading
from types import TracebackType
from typing import Callable, Optional

from numaestro._program import PROGRAM

__all__ = ["Subscription", "on_change"]

#: Seconds after which a thread without subscriptions sees that it has none.
_SLEEP_S = 10.0


class Subscription:
    """One function that is called at changes; also a context manager, which cancels at its end."""

    def __init__(self, callback: Callable[[int], object]) -> None:
        self._callback = callback

    def cancel(self) -> None:
        """Ends the subscription; a call that has begun goes on. Cancelling twice is harmless."""
        _WATCH.remove(self)

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.cancel()

    def tell(self, processors: int) -> None:
        """Calls the function. An exception is reported as one of a thread, and ends nothing."""
        try:
            self._callback(processors)
        except Exception as error:
            details = (type(error), error, error.__traceback__, threading.current_thread())
            threading.excepthook(threading.ExceptHookArgs(details))


class _Watch:
    """The thread and its subscriptions. The number told last belongs to the thread."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._subscriptions: tuple[Subscription, ...] = ()
        self._runs = False

    def add(self, subscription: Subscription) -> None:
        source = PROGRAM.source()
        with self._lock:
            self._subscriptions = (*self._subscriptions, subscription)
            if not self._runs:
                # Counted before the processors are: no change after this call is missed.
                start = (source.wait_change(0, 0), PROGRAM.processors())
                thread = threading.Thread(target=self._serve, args=start, name="numaestro", daemon=True)
                thread.start()
                self._runs = True

    def remove(self, subscription: Subscription) -> None:
        with self._lock:
            self._subscriptions = tuple(other for other in self._subscriptions if other is not subscription)

    def remove_all(self) -> None:
        """At the end of the interpreter: nobody is called, and nothing of the program is kept."""
        with self._lock:
            self._subscriptions = ()

    def start_in_child(self) -> None:
        """After a fork there is no thread, and the functions belong to the parent."""
        self.__init__()  # type: ignore[misc]

    def _serve(self, seen: int, told: int) -> None:
        source = PROGRAM.source()
        while self._goes_on():
            seen = source.wait_change(seen, _SLEEP_S)
            processors = PROGRAM.processors()
            if processors != told:
                told = processors
                self._tell(processors)

    def _tell(self, processors: int) -> None:
        for subscription in self._subscriptions:
            subscription.tell(processors)

    def _goes_on(self) -> bool:
        with self._lock:
            self._runs = bool(self._subscriptions)
            return self._runs


_WATCH = _Watch()
os.register_at_fork(after_in_child=_WATCH.start_in_child)
atexit.register(_WATCH.remove_all)


def on_change(callback: Callable[[int], object]) -> Subscription:
    """Calls ``callback(processors)`` whenever the number of processors has changed.

    The number is the one that `processors` answers. The calls come from a thread of this package,
    one after the other, and never at once when this function is called. Changes that follow each
    other closely may be one call. Under a manager a call comes within milliseconds. Without one
    the package looks at the affinity of the process twice a second, so a program that was adopted
    (``numaestro adopt``), or moved by ``taskset``, hears of it too.

    Returns the subscription; `Subscription.cancel` ends it. A process that is forked later has no
    subscriptions.
    """
    if not callable(callback):
        raise TypeError(f"on_change takes a function, not {type(callback).__name__}")
    subscription = Subscription(callback)
    _WATCH.add(subscription)
    return subscription
