"""Fits scikit-learn's KMeans and HistGradientBoosting over and over, checks the results, prints one line of JSON.

Both run on the OpenMP library that comes with scikit-learn, and on BLAS; this program says nothing about threads.
"""

import argparse
import json
import time

import numpy as np
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingRegressor

POINTS, CLUSTERS = 6000, 8

parser = argparse.ArgumentParser()
parser.add_argument("--reps", type=int, default=2)
parser.add_argument("--json", action="store_true", help="always on")
args = parser.parse_args()

# Well separated clusters around known centres, and a smooth function of the coordinates.
rng = np.random.default_rng(1)
centres = rng.uniform(-100, 100, (CLUSTERS, 10))
labels = rng.integers(0, CLUSTERS, POINTS)
points = centres[labels] + rng.normal(0, 0.5, (POINTS, 10))
target = points[:, 0] + 2 * points[:, 1]

ok = True
begin = time.monotonic()
for _ in range(args.reps):
    means = KMeans(CLUSTERS, n_init=1, init=centres, random_state=1).fit(points)
    # Started at the true centres, the clusters found are the ones drawn, whatever the number of threads.
    ok = ok and bool(np.array_equal(means.labels_, labels))
    model = HistGradientBoostingRegressor(max_iter=20, random_state=1).fit(points, target)
    ok = ok and model.score(points, target) > 0.9
wall_s = time.monotonic() - begin

verification = "ok" if ok else "FAILED"
print(json.dumps({"name": "learn", "size": POINTS, "reps": args.reps, "wall_s": wall_s, "verification": verification}))
raise SystemExit(0 if ok else 1)
