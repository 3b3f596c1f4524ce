"""Multiplies 500 x 500 matrices with NumPy over and over, checks the result, prints one line of JSON.

The pool of the BLAS library decides the number of threads; this program says nothing about it.
"""

import argparse
import json
import time

import numpy as np

N = 500

parser = argparse.ArgumentParser()
parser.add_argument("--reps", type=int, default=20)
parser.add_argument("--json", action="store_true", help="always on")
args = parser.parse_args()

# Entries are small whole numbers, so every product is exact whatever the order of the additions.
rng = np.random.default_rng(1)
a = rng.integers(-8, 9, (N, N)).astype(np.float64)
b = rng.integers(-8, 9, (N, N)).astype(np.float64)
# Of a whole product, every row sum is known without multiplying matrices: (a b) 1 = a (b 1).
row_sums = a @ b.sum(axis=1)
column_sums = a.sum(axis=0) @ b

ok = True
begin = time.monotonic()
for _ in range(args.reps):
    c = a @ b
    ok = ok and np.array_equal(c.sum(axis=1), row_sums) and np.array_equal(c.sum(axis=0), column_sums)
wall_s = time.monotonic() - begin

verification = "ok" if ok else "FAILED"
print(json.dumps({"name": "matmul", "size": N, "reps": args.reps, "wall_s": wall_s, "verification": verification}))
raise SystemExit(0 if ok else 1)
