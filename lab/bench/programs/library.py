"""Works with one library of Python over and over, checks the results, prints one line of JSON.

What a library does here is small and usual: a training, a grouping, a loop. The library alone decides about its threads;
this program says nothing about them, but for the threading layer of Numba, which has three.
"""

import argparse
import hashlib
import json
import time

import numpy as np


def regression(rows=20000, columns=20):
    """A smooth function of the first columns, with little noise."""
    rng = np.random.default_rng(1)
    x = rng.normal(0, 1, (rows, columns)).astype(np.float32)
    y = x[:, 0] + 2 * np.sin(x[:, 1]) + x[:, 2] * x[:, 3] + rng.normal(0, 0.1, rows)
    return x, y.astype(np.float32)


def explains(predicted, y):
    """The model explains more than four fifths of the variance."""
    return float(np.mean((predicted - y) ** 2)) < 0.2 * float(np.var(y))


def xgboost():
    import xgboost as library

    x, y = regression()
    data = library.DMatrix(x, y)
    parameters = {"tree_method": "hist", "max_depth": 6, "seed": 1, "eta": 0.5}

    def work():
        return library.train(parameters, data, 10).predict(data)

    return work, lambda predicted: explains(predicted, y)


def lightgbm():
    import lightgbm as library

    x, y = regression()
    parameters = {"objective": "regression", "deterministic": True, "force_row_wise": True, "verbose": -1, "seed": 1,
                  "learning_rate": 0.3}
    data = library.Dataset(x, y, params={"verbose": -1}).construct()

    def work():
        return library.train(parameters, data, 15).predict(x)

    return work, lambda predicted: explains(predicted, y)


def sklearn():
    """Gradient boosting on histograms, which opens a region of OpenMP for each step of each tree."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    x, y = regression()

    def work():
        return HistGradientBoostingRegressor(max_iter=10, learning_rate=0.5, random_state=1).fit(x, y).predict(x)

    return work, lambda predicted: explains(predicted, y)


def numba(layer):
    import numba as library

    library.config.THREADING_LAYER = layer
    values = np.arange(1, 200001, dtype=np.uint64)

    @library.njit(parallel=True)
    def mix(values, out):
        for i in library.prange(values.size):
            x = values[i]
            for _ in range(40):
                x ^= x << np.uint64(13)
                x ^= x >> np.uint64(7)
                x ^= x << np.uint64(17)
            out[i] = x

    expected = values.copy()
    for _ in range(40):
        expected ^= expected << np.uint64(13)
        expected ^= expected >> np.uint64(7)
        expected ^= expected << np.uint64(17)

    def work():
        out = np.empty_like(values)
        mix(values, out)
        return out

    return work, lambda out: np.array_equal(out, expected)


def groups(rows=2000000, keys=1000):
    """Keys, whole numbers, and the sum of the numbers of each key."""
    rng = np.random.default_rng(1)
    key, number = rng.integers(0, keys, rows), rng.integers(0, 1000, rows)
    return key, number, np.bincount(key, number, keys).astype(np.int64)


def polars():
    import polars as library

    key, number, expected = groups()
    frame = library.DataFrame({"key": key, "number": number})

    def work():
        sums = frame.group_by("key").agg(library.col("number").sum(), library.col("number").std().alias("spread"))
        return sums.sort("key")["number"].to_numpy()

    return work, lambda sums: np.array_equal(sums, expected)


def duckdb():
    import duckdb as library

    key, number, expected = groups()
    connection = library.connect()
    frame = {"key": key, "number": number}
    connection.register("frame", frame)
    connection.execute("CREATE TABLE rows AS SELECT * FROM frame")

    def work():
        query = "SELECT key, sum(number)::BIGINT AS total, stddev(number) FROM rows GROUP BY key ORDER BY key"
        return connection.execute(query).fetchnumpy()["total"]

    return work, lambda sums: np.array_equal(np.asarray(sums), expected)


def torch():
    """Training steps of a small network."""
    import torch as library

    library.manual_seed(1)
    x, y = (library.from_numpy(array) for array in regression(4096, 64))

    def work():
        library.manual_seed(2)
        layers = library.nn.Linear(64, 256), library.nn.ReLU(), library.nn.Linear(256, 1)
        model = library.nn.Sequential(*layers)
        step = library.optim.Adam(model.parameters(), 0.01)
        for _ in range(10):
            step.zero_grad()
            loss = library.nn.functional.mse_loss(model(x)[:, 0], y)
            loss.backward()
            step.step()
        return np.array([loss.item()])

    return work, lambda loss: loss[0] < float(y.var())


def torch_small():
    """Many small operators, each of which is a parallel region."""
    import torch as library

    x = library.arange(40000, dtype=library.float32)

    def work():
        y = x
        for _ in range(200):
            y = (y + 1) * 2 - y
        return y.numpy()

    # (y + 1) 2 - y = y + 2, exact in single precision.
    return work, lambda y: np.array_equal(y, np.arange(40000, dtype=np.float32) + 400)


LIBRARIES = {
    "xgboost": xgboost,
    "lightgbm": lightgbm,
    "sklearn": sklearn,
    "numba-omp": lambda: numba("omp"),
    "numba-tbb": lambda: numba("tbb"),
    "numba-workqueue": lambda: numba("workqueue"),
    "polars": polars,
    "duckdb": duckdb,
    "torch": torch,
    "torch-small": torch_small,
}

parser = argparse.ArgumentParser()
parser.add_argument("library", choices=LIBRARIES)
parser.add_argument("--reps", type=int, default=2)
parser.add_argument("--json", action="store_true", help="always on")
args = parser.parse_args()

work, is_right = LIBRARIES[args.library]()
work()  # compiles, and makes the library's threads
ok, digest = True, hashlib.sha256()
begin = time.monotonic()
for _ in range(args.reps):
    result = work()
    ok = ok and bool(is_right(result))
    digest.update(np.ascontiguousarray(result).tobytes())
wall_s = time.monotonic() - begin

verification = "ok" if ok else "FAILED"
print(json.dumps({"name": args.library, "reps": args.reps, "wall_s": wall_s, "verification": verification,
                  "digest": digest.hexdigest()[:16]}))
raise SystemExit(0 if ok else 1)
