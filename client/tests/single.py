"""A Python program of one thread: single.py one | child | pinned

one: NumPy whose OpenBLAS has one thread. Says how many threads the kernel counts, and what Python
warns of when it forks (since 3.12: that there are several threads).
child: NumPy as it is. Its child says the same; it loads libraries, and multiplies nothing.
pinned: as one, after it has bound itself to its first processor.
"""
import ctypes
import os
import sys
import time
import warnings

how = sys.argv[1]
if how != "child":
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
if how == "pinned":
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import numpy


def say():
    time.sleep(0.3)  # a thread of somebody else's would be there by then
    print("threads", len(os.listdir("/proc/self/task")))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if os.fork() == 0:
            os._exit(0)
        os.wait()
    print("warnings", len(caught))


if how == "child":
    warnings.simplefilter("ignore")  # the parent's
    sys.stdout.flush()
    if os.fork() == 0:
        ctypes.CDLL(None)
        import zlib, sqlite3
        ctypes.CDLL(None)
        say()
        sys.stdout.flush()
        os._exit(0)
    os.wait()
else:
    a = numpy.ones((300, 300))
    assert ((a @ a) == 300).all()
    say()
