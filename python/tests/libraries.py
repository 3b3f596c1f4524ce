"""Cases of `follow`, one for each library; they run under a manager, and in a Python that has the libraries."""

from __future__ import annotations

import importlib
import os
import statistics
import sys
import threading
import time
from typing import Any, Callable

import numaestro
from cases import PATIENCE_S, end, eventually, main, neighbour, raises, skip

ALL = len(os.sched_getaffinity(os.getppid()))
ROUNDS = 20


def library(name: str) -> Any:
    if ALL < 2:
        skip("one processor only")
    try:
        module = importlib.import_module(name)
    except ImportError:
        skip(f"{name} is not here")
    assert eventually(lambda: numaestro.processors() == ALL)
    return module


def delays(work: Callable[[], object], number: Callable[[], int]) -> None:
    """How long after a request the library has the new number, while the main thread computes.

    For more processors the request goes to the manager, and its decision comes back.
    """
    limited = numaestro.limit(max=1)

    def delay(request: Callable[[], object], wanted: int) -> float:
        began = time.perf_counter()
        request()
        while number() != wanted and time.perf_counter() - began < PATIENCE_S:
            work()
        assert number() == wanted, (number(), wanted)
        return 1000 * (time.perf_counter() - began)

    times: list[tuple[float, float]] = []
    for _ in range(ROUNDS):
        fewer = delay(limited.__enter__, 1)
        assert eventually(lambda: len(os.sched_getaffinity(0)) == 1)
        times.append((fewer, delay(lambda: limited.__exit__(None, None, None), ALL)))
    words = (f"{statistics.median(some):.2f} ms, {max(some):.2f} ms at most" for some in zip(*times))
    print(f"follows after {' (fewer), '.join(words)} (more), in {ROUNDS} changes each")


def a_neighbour_and_a_choice(module_name: str, number: Callable[[], int], choose: Callable[[], object]) -> None:
    """It follows while a program comes and goes, is left alone after `choose`, which sets ALL + 1."""
    follower = numaestro.follow(module_name)
    assert follower.libraries == (module_name,)
    assert eventually(lambda: number() == ALL), (number(), numaestro.processors())
    other = neighbour()
    assert eventually(lambda: number() == ALL // 2), number()
    end(other)
    assert eventually(lambda: number() == ALL), number()
    choose()
    chosen = number()
    with numaestro.limit(max=1):
        time.sleep(0.3)
        assert number() == chosen, (number(), chosen)
    time.sleep(0.3)
    follower.cancel()
    assert number() == chosen


def torch() -> None:
    module = library("torch")
    a = module.rand(300, 300)
    follower = numaestro.follow("torch")
    delays(lambda: a @ a, module.get_num_threads)
    follower.cancel()
    a_neighbour_and_a_choice("torch", module.get_num_threads, lambda: module.set_num_threads(ALL + 1))


def torch_in_another_thread() -> None:
    module = library("torch")
    follower = numaestro.follow()
    numbers: list[int] = []

    def work() -> None:
        follower.apply()
        numbers.append(module.get_num_threads())

    with numaestro.limit(max=1):
        assert eventually(lambda: module.get_num_threads() == 1)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert numbers == [1], numbers


def duckdb() -> None:
    module = library("duckdb")
    connection = module.connect()
    connection.execute("CREATE TABLE t AS SELECT range AS i FROM range(300000)")

    def number() -> int:
        with connection.cursor() as cursor:
            return int(cursor.execute("SELECT current_setting('threads')").fetchone()[0])

    query = "SELECT i % 100 AS k, count(*) AS n FROM t GROUP BY k ORDER BY k"
    expected = connection.execute(query).fetchall()
    follower = numaestro.follow(connection)

    def work() -> None:
        connection.execute(query)
        time.sleep(0.001)  # A change comes before the result is fetched.
        assert connection.fetchall() == expected

    delays(work, number)
    connection.execute(f"SET threads TO {ALL + 1}")
    with numaestro.limit(max=1):
        time.sleep(0.3)
        assert number() == ALL + 1
    follower.cancel()
    assert number() == ALL + 1
    # A connection that is closed ends only its own following.
    numaestro.follow(connection)
    connection.close()
    with numaestro.limit(max=1):
        time.sleep(0.2)


def duckdb_by_default() -> None:
    module = library("duckdb")

    def number() -> int:
        return int(module.execute("SELECT current_setting('threads')").fetchone()[0])

    a_neighbour_and_a_choice("duckdb", number, lambda: module.execute(f"SET threads TO {ALL + 1}"))


def numba() -> None:
    module = library("numba")
    follower = numaestro.follow("numba")

    @module.njit(parallel=True)  # type: ignore[untyped-decorator]
    def total(n: int) -> int:
        s = 0
        for i in module.prange(n):
            s += i
        return s

    assert total(1000) == 499500
    delays(lambda: total(100000), module.get_num_threads)
    follower.cancel()
    follower = numaestro.follow("numba")
    module.set_num_threads(1)
    follower.apply()
    assert module.get_num_threads() == 1, "the program's own choice"


def joblib() -> None:
    module = library("joblib")
    assert "LOKY_MAX_CPU_COUNT" not in os.environ
    follower = numaestro.follow("joblib")
    assert module.cpu_count() == ALL
    with numaestro.limit(max=1):
        assert eventually(lambda: module.cpu_count() == 1)
        assert module.effective_n_jobs(-1) == 1
    assert eventually(lambda: module.cpu_count() == ALL)
    squares = module.Parallel(n_jobs=-1)(module.delayed(pow)(i, 2) for i in range(20))
    assert squares == [i * i for i in range(20)]
    follower.cancel()
    assert "LOKY_MAX_CPU_COUNT" not in os.environ


def dask() -> None:
    module = library("dask")
    config = importlib.import_module("dask.config")
    work = module.delayed(sum)([module.delayed(pow)(i, 2) for i in range(50)])
    follower = numaestro.follow("dask")
    assert config.get("num_workers") == ALL
    with numaestro.limit(max=1):
        assert eventually(lambda: config.get("num_workers") == 1)
        assert work.compute() == 40425
    assert eventually(lambda: config.get("num_workers") == ALL)
    with config.set(num_workers=3):
        with numaestro.limit(max=1):
            time.sleep(0.2)
            assert config.get("num_workers") == 3
    follower.cancel()
    config.set(num_workers=None)
    with numaestro.follow("dask"):
        assert eventually(lambda: config.get("num_workers") == ALL)
    assert config.get("num_workers") is None and work.compute() == 40425


def a_library_that_is_not_installed() -> None:
    sys.modules["dask"] = None  # type: ignore[assignment]  # As if it were not there.
    raises(ImportError, lambda: numaestro.follow("dask"))


def exceptions_of_signal_handlers_arrive() -> None:
    """Even if the signal comes while the main thread sets numbers for us."""
    from numaestro._main_thread import call_soon

    class Stop(Exception):
        pass

    def interrupted() -> None:
        raise Stop("now", 3)

    for _ in range(20):
        try:
            threading.Thread(target=call_soon, args=(interrupted,)).start()
            until = time.monotonic() + PATIENCE_S
            while time.monotonic() < until:
                pass
        except Stop as stop:
            assert stop.args == ("now", 3), stop.args
            assert repr(stop) == "Stop('now', 3)"
        else:
            raise AssertionError("it was lost")


if __name__ == "__main__":
    main(globals())
