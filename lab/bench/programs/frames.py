#!/usr/bin/env python3
"""A program for benchmarks: queries of polars that use every thread of its pool, checked, with one line of JSON."""
import json
import sys
import time

import numpy
import polars

COLUMNS, ROWS = 16, 1 << 19
reps = int(sys.argv[2]) if len(sys.argv) > 2 else 20
frame = polars.DataFrame({f"c{i}": numpy.arange(ROWS, dtype=numpy.float64) + i for i in range(COLUMNS)})
query = frame.lazy().select((polars.all().sqrt().sin().exp()).sum())
first = query.collect()  # makes the pool
begin = time.monotonic()
# polars adds in another order from one query to the next.
right = all(numpy.allclose(query.collect().row(0), first.row(0), rtol=1e-9) for _ in range(reps))
wall_s = time.monotonic() - begin
print(json.dumps({"name": "polars", "reps": reps, "wall_s": wall_s, "verification": "ok" if right else "FAILED"}))
sys.exit(0 if right else 1)
