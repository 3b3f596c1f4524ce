"""NumPy: matrix products of small integers (exact in any order) and the interpreter's own threads, checked in every round."""

import sys
import threading
import time

import numpy as np


def product(n):
    a = (np.arange(n * n) * 7 % 11 - 5).astype(float).reshape(n, n)
    b = (np.arange(n * n) * 5 % 13 - 6).astype(float).reshape(n, n)
    exact = a.astype(np.int64) @ b.astype(np.int64)
    return a, b, exact


def main():
    until = time.monotonic() + (float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
    problems = [product(n) for n in (50, 130, 200)]
    wrong = []

    def once():
        for a, b, exact in problems:
            if not np.array_equal(a @ b, exact):
                wrong.append("product")

    while True:
        once()
        others = [threading.Thread(target=once) for _ in range(2)]
        for thread in others:
            thread.start()
        for thread in others:
            thread.join()
        eigenvalues = np.linalg.eigvalsh(np.diag(np.arange(40.0)))
        if not np.allclose(eigenvalues, np.arange(40.0)):
            wrong.append("eigenvalues")
        if wrong or time.monotonic() > until:
            break
    if wrong:
        print("wrong:", wrong[0], file=sys.stderr)
        return 1
    print("arrays", int(sum(exact.sum() for _, _, exact in problems)))
    return 0


sys.exit(main())
