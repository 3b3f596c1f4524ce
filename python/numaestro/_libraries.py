"""How each library takes its number of threads: one small class for each, and nothing else.

A setting knows its library only. It does not know who decides, when it is called, or whether the
user has chosen a number; `numaestro._follow` does.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, Callable, Optional, Protocol

__all__ = ["NAMES", "Setting", "connection_setting", "loaded", "setting_of"]


class Setting(Protocol):
    """A library's number of threads."""

    #: The name of the library.
    name: str
    #: Each thread has a number of its own.
    per_thread: bool
    #: Only a thread of the program may ask for the number or set it.
    in_program: bool

    def get(self) -> Optional[int]:
        """The present number; None if the library decides by itself."""

    def set(self, processors: int) -> int:
        """Sets it as near to `processors` as the library can, and returns the number that it set."""

    def restore(self, former: Optional[int]) -> None:
        """Sets what `get` has answered before."""


class Torch:
    """PyTorch: ``torch.set_num_threads``. Its OpenMP setting belongs to the calling thread."""

    name = "torch"
    per_thread = True
    in_program = True

    def __init__(self, module: Any) -> None:
        self._torch = module

    def get(self) -> Optional[int]:
        return int(self._torch.get_num_threads())

    def set(self, processors: int) -> int:
        self._torch.set_num_threads(processors)
        return processors

    def restore(self, former: Optional[int]) -> None:
        if former is not None:
            self.set(former)


class Numba:
    """Numba: a mask over its pool, for the calling thread. The pool itself keeps its size.

    Asking for the number starts the pool, with the threading layer that is configured then.
    """

    name = "numba"
    per_thread = True
    in_program = True

    def __init__(self, module: Any) -> None:
        self._numba = module

    def get(self) -> Optional[int]:
        return int(self._numba.get_num_threads())

    def set(self, processors: int) -> int:
        number = min(processors, int(self._numba.config.NUMBA_NUM_THREADS))
        self._numba.set_num_threads(number)
        return number

    def restore(self, former: Optional[int]) -> None:
        if former is not None:
            self.set(former)


class DuckDB:
    """A DuckDB database: ``SET threads``, through a cursor, so that no pending result is lost.

    Not from a thread of the package: a change of the pool beside a running query may fail.
    """

    name = "duckdb"
    per_thread = False
    in_program = True

    def __init__(self, connection: Callable[[], Any]) -> None:
        self._connection = connection

    def get(self) -> Optional[int]:
        with self._connection().cursor() as cursor:
            row = cursor.execute("SELECT current_setting('threads')").fetchone()
            return int(row[0])

    def set(self, processors: int) -> int:
        with self._connection().cursor() as cursor:
            cursor.execute(f"SET threads TO {int(processors)}")
        return processors

    def restore(self, former: Optional[int]) -> None:
        if former is not None:
            self.set(former)


class Joblib:
    """joblib: the number of workers for ``n_jobs=-1``, which it asks at each call of `Parallel`.

    The variable is loky's public one. Programs that are started meanwhile inherit it.
    """

    name = "joblib"
    per_thread = False
    in_program = False
    _VARIABLE = "LOKY_MAX_CPU_COUNT"

    def __init__(self, module: Any) -> None:
        del module

    def get(self) -> Optional[int]:
        text = os.environ.get(self._VARIABLE)
        return None if text is None else int(text)

    def set(self, processors: int) -> int:
        os.environ[self._VARIABLE] = str(processors)
        return processors

    def restore(self, former: Optional[int]) -> None:
        if former is None:
            os.environ.pop(self._VARIABLE, None)
        else:
            self.set(former)


class Dask:
    """Dask: ``num_workers`` of the local schedulers, which they ask at each ``compute``.

    Clusters of ``dask.distributed`` keep the size that they were started with.
    """

    name = "dask"
    per_thread = False
    in_program = False

    def __init__(self, module: Any) -> None:
        self._config = importlib.import_module("dask.config")
        del module

    def get(self) -> Optional[int]:
        number = self._config.get("num_workers", None)
        return None if number is None else int(number)

    def set(self, processors: int) -> int:
        self._config.set(num_workers=processors)
        return processors

    def restore(self, former: Optional[int]) -> None:
        self._config.set(num_workers=former)


def _default_database(module: Any) -> DuckDB:
    default = module.default_connection
    return DuckDB(default if callable(default) else lambda: default)


_SETTINGS: dict[str, Callable[[Any], Setting]] = {
    "torch": Torch,
    "duckdb": _default_database,
    "numba": Numba,
    "joblib": Joblib,
    "dask": Dask,
}
#: The libraries that can be followed.
NAMES = tuple(_SETTINGS)


def loaded() -> list[str]:
    """The libraries that the program has imported so far."""
    return [name for name in NAMES if name in sys.modules]


def setting_of(name: str) -> Setting:
    """The setting of a library, which is imported if it is not yet."""
    if name not in _SETTINGS:
        known = ", ".join(NAMES)
        raise ValueError(f"follow({name!r}): no such library is known; known are {known}, and connections of duckdb")
    return _SETTINGS[name](importlib.import_module(name))


def connection_setting(connection: Any) -> Setting:
    """The setting of the database of a DuckDB connection."""
    if type(connection).__name__ != "DuckDBPyConnection":
        raise TypeError(f"follow takes names of libraries and connections of duckdb, not {type(connection).__name__}")
    return DuckDB(lambda: connection)
