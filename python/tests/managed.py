"""Cases that run under a manager."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time

import numaestro
from cases import PATIENCE_S, end, eventually, main, neighbour, raises, skip

ALL = len(os.sched_getaffinity(os.getppid()))


def has_all() -> bool:
    return numaestro.processors() == ALL


def two_or_skip() -> None:
    if ALL < 2:
        skip("one processor only")
    assert eventually(has_all), numaestro.processors()


def the_number_is_the_managers() -> None:
    assert numaestro.managed()
    assert eventually(has_all), numaestro.processors()
    assert numaestro.processors() == len(os.sched_getaffinity(0))


def limits_are_told_to_the_manager() -> None:
    two_or_skip()
    with numaestro.limit(max=1):
        assert numaestro.processors() == 1
        assert eventually(lambda: len(os.sched_getaffinity(0)) == 1)
        with numaestro.limit(max=ALL):
            assert numaestro.processors() == 1
        with numaestro.limit(max=10**9):
            assert numaestro.processors() == 1
    assert eventually(lambda: has_all() and len(os.sched_getaffinity(0)) == ALL)


def limits_may_overlap() -> None:
    two_or_skip()
    first, second = numaestro.limit(max=1), numaestro.limit(max=1)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert numaestro.processors() == 1
    second.__exit__(None, None, None)
    assert eventually(has_all)

    @numaestro.limit(max=1)
    def limited(depth: int) -> int:
        return limited(depth - 1) if depth else numaestro.processors()

    assert limited(3) == 1
    assert eventually(has_all)
    try:
        with numaestro.limit(max=1):
            raise KeyError
    except KeyError:
        assert eventually(has_all)


def limits_in_many_threads() -> None:
    two_or_skip()

    def work() -> None:
        for _ in range(50):
            with numaestro.limit(max=1):
                assert numaestro.processors() == 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert eventually(has_all)


def a_limit_below_the_minimum() -> None:
    """Started with ``--min 2``: the manager leaves the minimum, the program's own numbers are lower."""
    two_or_skip()
    with numaestro.limit(max=1):
        time.sleep(0.2)
        assert numaestro.processors() == 1
        assert len(os.sched_getaffinity(0)) == ALL


def a_neighbour_comes_and_goes() -> None:
    two_or_skip()
    told: list[int] = []
    subscription = numaestro.on_change(told.append)
    for _ in range(3):
        other = neighbour()
        assert eventually(lambda: told[-1:] == [ALL // 2]), told
        assert numaestro.processors() == ALL // 2
        end(other)
        assert eventually(lambda: told[-1:] == [ALL]), told
    before = len(told)
    subscription.cancel()
    with numaestro.limit(max=1):
        time.sleep(0.2)
    assert len(told) == before, told


def a_callback_that_fails_does_no_harm() -> None:
    two_or_skip()
    told: list[int] = []
    reported: list[object] = []
    threading.excepthook = lambda details: reported.append(details.exc_type)

    def fails(processors: int) -> None:
        raise KeyError(processors)

    with numaestro.on_change(fails), numaestro.on_change(told.append):
        with numaestro.limit(max=1):
            assert eventually(lambda: told == [1]), told
        assert eventually(lambda: told == [1, ALL]), told
    assert reported == [KeyError, KeyError], reported


def the_child_of_a_fork() -> None:
    two_or_skip()
    told: list[int] = []
    numaestro.on_change(told.append)
    with numaestro.limit(max=1):
        assert eventually(lambda: told == [1])
        child = os.fork()
        if child == 0:
            # Its limit goes on until its own block ends; it has no subscriptions.
            good = numaestro.managed() and numaestro.processors() == 1
            status = 0 if good else 1
        else:
            _, status = os.waitpid(child, 0)
            assert status == 0
    if child == 0:
        # The parent has one processor, and the machine has the other.
        os._exit(status or (0 if eventually(lambda: numaestro.processors() >= 1) and told == [1] else 2))
    assert eventually(lambda: told == [1, ALL]), told


def workers_of_a_limited_program() -> None:
    two_or_skip()
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        with numaestro.limit(max=1):
            with context.Pool(2) as pool:
                numbers = pool.map(numbers_of_a_worker, range(4), chunksize=1)
        expected = 1 if method == "fork" else None
        assert all(number >= 1 for number in numbers), numbers
        assert expected is None or set(numbers) == {expected}, numbers
    assert eventually(has_all), numaestro.processors()


def numbers_of_a_worker(_: int) -> int:
    return numaestro.processors()


def the_manager_dies() -> None:
    """The program goes on, and hears of the processors that it has then."""
    two_or_skip()
    told: list[int] = []
    numaestro.on_change(told.append)
    other = neighbour()
    assert eventually(lambda: told[-1:] == [ALL // 2]), told
    os.kill(int(os.environ["MANAGER"]), signal.SIGKILL)
    assert eventually(lambda: told[-1:] == [ALL]), told
    assert has_all()
    end(other)


def the_exit_is_the_programs_own() -> None:
    numaestro.on_change(print)
    threading.Thread(target=time.sleep, args=(0.01,)).start()
    began = time.monotonic()
    sys.exit(7 if time.monotonic() - began < PATIENCE_S else 1)


def wrong_arguments() -> None:
    assert "at least 1" in raises(ValueError, lambda: numaestro.limit(max=0))
    assert "whole number" in raises(TypeError, lambda: numaestro.limit(max=1.5))  # type: ignore[arg-type]
    assert "whole number" in raises(TypeError, lambda: numaestro.limit(max=True))
    assert "function" in raises(TypeError, lambda: numaestro.on_change(3))  # type: ignore[arg-type]
    message = raises(ValueError, lambda: numaestro.follow("tensorflow"))
    assert "torch" in message and "duckdb" in message
    assert "connections" in raises(TypeError, lambda: numaestro.follow(3))


if __name__ == "__main__":
    main(globals())
