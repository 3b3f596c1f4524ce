"""`follow`: libraries use as many threads as the process has processors, also while that changes.

A change arrives in the thread of `on_change`. Some settings are made there at once. The others have
to be made by a thread of the program, so the main thread makes them between two of its instructions
(`numaestro._main_thread`). Code that runs there takes no lock: the main thread may hold it.
"""

from __future__ import annotations

import logging
import threading
import types
import warnings
from typing import Any, Optional, Union

from numaestro._change import Subscription, on_change
from numaestro._libraries import NAMES, Setting, connection_setting, loaded, setting_of
from numaestro._main_thread import call_soon
from numaestro._program import PROGRAM

__all__ = ["Follower", "follow"]

_LOG = logging.getLogger("numaestro")


class _Steered:
    """One setting, and the number that was set last. Another number is the program's own choice."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self._former = setting.get()
        self._last: Any = threading.local() if setting.per_thread else types.SimpleNamespace()
        self._left_alone = False

    def apply(self, processors: int) -> None:
        """Sets the number; for this thread if each thread has its own."""
        if not self._left_alone:
            self._try(self._apply, processors)

    def end(self) -> None:
        """Sets the number that was there before, unless the program has chosen another since."""
        if not self._left_alone:
            self._left_alone = True
            self._try(self._restore)

    def _apply(self, processors: int) -> None:
        present, last = self.setting.get(), self._number()
        if last is not None and present not in (last, processors):
            self._left_alone = True
            _LOG.info("%s keeps %s threads, which the program has chosen", self.setting.name, present)
        elif present != processors:
            self._last.number = self.setting.set(processors)
        else:
            self._last.number = processors

    def _restore(self) -> None:
        last = self._number()
        if last is not None and self.setting.get() == last:
            self.setting.restore(self._former)

    def _number(self) -> Optional[int]:
        return getattr(self._last, "number", None)

    def _try(self, action: Any, *arguments: int) -> None:
        try:
            action(*arguments)
        except Exception as error:  # A closed connection, say: the program goes on.
            self._left_alone = True
            _LOG.warning("%s does not follow any more: %s", self.setting.name, error)


class Follower:
    """Libraries that follow. Also a context manager, which cancels at its end."""

    def __init__(self, settings: list[Setting]) -> None:
        #: The names of the libraries.
        self.libraries: tuple[str, ...] = tuple(setting.name for setting in settings)
        self._steered = tuple(_Steered(setting) for setting in settings)
        self._due = False
        # First, so that no change is missed between the two.
        self._subscription: Subscription = on_change(self._changed)
        self.apply()

    def apply(self) -> None:
        """Sets the present number now, for the calling thread where each thread has its own."""
        processors = PROGRAM.processors()
        for steered in self._steered:
            steered.apply(processors)

    def cancel(self) -> None:
        """Ends it. The libraries get the numbers back that they had, for the calling thread."""
        self._subscription.cancel()
        for steered in self._steered:
            steered.end()

    def __enter__(self) -> Follower:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[types.TracebackType],
    ) -> None:
        self.cancel()

    def _changed(self, processors: int) -> None:
        for steered in self._steered:
            if not steered.setting.in_program:
                steered.apply(processors)
        if not self._due and any(steered.setting.in_program for steered in self._steered):
            self._due = True
            call_soon(self._apply_in_program)

    def _apply_in_program(self) -> None:
        self._due = False
        processors = PROGRAM.processors()
        for steered in self._steered:
            if steered.setting.in_program:
                steered.apply(processors)


def follow(*libraries: Union[str, Any]) -> Follower:
    """Libraries use as many threads as `processors` answers, from now on and after each change.

    `libraries` are names (``"torch"``, ``"duckdb"``, ``"numba"``, ``"joblib"``, ``"dask"``), which
    are imported if need be, and connections of DuckDB. Without any, all of the five follow that the
    program has imported. ``"duckdb"`` means the default connection.

    The call sets the numbers at once. After a change:

    * joblib and Dask have the new number at once, for their next call;
    * torch, Numba and DuckDB have it when the main thread has ended the call of a library that it
      is in. Torch and Numba have a number for each thread: other threads of the program call
      `Follower.apply` themselves.

    A number that the program sets later wins: that library is left alone from then on.

    Returns the follower; `Follower.cancel` ends it. A process that is forked later follows nothing.
    Raises `ValueError` for a name that is not known, and `ImportError` for a library that is not
    installed.
    """
    wanted = libraries or tuple(loaded())
    if not wanted:
        names = ", ".join(NAMES)
        warnings.warn(f"follow() found none of {names}: import the libraries first", RuntimeWarning, stacklevel=2)
    return Follower([setting_of(one) if isinstance(one, str) else connection_setting(one) for one in wanted])
