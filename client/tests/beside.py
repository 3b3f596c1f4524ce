"""NumPy, and perhaps an OpenMP library beside it: beside.py SECONDS [plugin.so] [own]

With "-" for SECONDS it works until its standard input ends.

Prints the team sizes of the plugin as the programs in C do, and the number of threads that OpenBLAS
uses at the end. "own": the program sets that number to 3 by itself, half-way.
"""
import ctypes
import glob
import os
import select
import sys
import time

import numpy

seconds = float("inf") if sys.argv[1] == "-" else float(sys.argv[1])
until = time.monotonic() + seconds
half = time.monotonic() + seconds / 2
plugins = [ctypes.CDLL(word) for word in sys.argv[2:] if word.endswith(".so")]
own = "own" in sys.argv[2:]


def goes_on():
    if seconds < float("inf"):
        return time.monotonic() < until
    return not select.select([sys.stdin], [], [], 0)[0]


def openblas():
    for path in glob.glob(os.path.join(os.path.dirname(numpy.__file__), "..", "numpy.libs", "*openblas*")):
        library = ctypes.CDLL(path)
        for prefix in ("scipy_openblas", "openblas"):
            for suffix in ("64_", ""):
                try:
                    return library[f"{prefix}_get_num_threads{suffix}"], library[f"{prefix}_set_num_threads{suffix}"]
                except AttributeError:
                    continue
    return None


blas = openblas()
a = numpy.arange(40_000, dtype=float).reshape(200, 200) % 7
expected = a @ a
team = ctypes.c_int(0)
seen = {}
while goes_on():
    assert (a @ a == expected).all()
    for plugin in plugins:
        plugin.plugin_sum.restype = ctypes.c_longlong
        assert plugin.plugin_sum(5000, ctypes.byref(team)) == 5000 * 4999 // 2
        seen[team.value] = seen.get(team.value, 0) + 1
    if own and blas and time.monotonic() > half:
        blas[1](3)
        own = False
print("sizes", *(f"{size}:{count}" for size, count in sorted(seen.items())), file=sys.stderr)
print("beside", blas[0]() if blas else "no OpenBLAS of its own")
