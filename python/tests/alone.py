"""Cases that run without a manager, and as a program that a manager has adopted."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings

import numaestro
from cases import end, eventually, main, neighbour, skip

ALL = sorted(os.sched_getaffinity(0))


def the_number_is_that_of_the_affinity() -> None:
    assert not numaestro.managed()
    assert numaestro.processors() == len(ALL)
    with numaestro.limit(max=1):
        assert numaestro.processors() == 1
        assert sorted(os.sched_getaffinity(0)) == ALL
    with numaestro.limit(max=10**9):
        assert numaestro.processors() == len(ALL)


def changes_of_the_affinity_are_seen() -> None:
    if len(ALL) < 2:
        skip("one processor only")
    told: list[int] = []
    with numaestro.on_change(told.append):
        os.sched_setaffinity(0, ALL[:1])
        assert eventually(lambda: told == [1]), told
        os.sched_setaffinity(0, ALL)
        assert eventually(lambda: told == [1, len(ALL)]), told
        began = time.monotonic()
        with numaestro.limit(max=1):
            assert eventually(lambda: told[2:] == [1]), told
        assert eventually(lambda: told[3:] == [len(ALL)]), told
        print(f"two limits told after {1000 * (time.monotonic() - began):.0f} ms")


def an_adopted_program_hears_of_changes() -> None:
    if len(ALL) < 2:
        skip("one processor only")
    told: list[int] = []
    numaestro.on_change(told.append)
    subprocess.run([sys.executable, "-m", "numaestro", "adopt", "--force", str(os.getpid())], check=True, stdout=sys.stderr)
    other = neighbour()
    assert eventually(lambda: told[-1:] == [len(ALL) // 2]), told
    assert numaestro.processors() == len(ALL) // 2 and not numaestro.managed()
    end(other)
    assert eventually(lambda: told[-1:] == [len(ALL)]), told


def following_nothing_is_said() -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert numaestro.follow().libraries == ()
    assert len(said) == 1 and "import the libraries first" in str(said[0].message)


def importing_does_nothing() -> None:
    lean = "import sys, threading, numaestro; print(threading.active_count(), 'torch' in sys.modules, 'pytest' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", lean], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["1", "False", "False"], done.stdout


if __name__ == "__main__":
    main(globals())
