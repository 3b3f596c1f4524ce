#!/usr/bin/env python3
"""What folding costs: N threads on one processor against one thread, in user space and by the kernel.

Each program runs in turn with every setting, so that all settings see the same machine; the ratios are those of the
processor time used in one round, and what is printed is the median over the rounds. Processor time, not wall time:
other people's programs on the same processor then change little.

usage: lab/bench/folding.py [ROUNDS]   after `make build test-programs`; needs Linux, taskset and one processor to itself.
"""
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ROOT / "target/release/numaestro"
SETTINGS = [(1, "user")] + [(n, fold) for n in (2, 8, 16) for fold in ("user", "kernel")]


def programs():
    for compiler in ("gcc", "clang"):
        for kernel in ("sor", "sorp", "cg", "ft", "mm"):
            yield f"{compiler} {kernel}", [ROOT / "build/kernels" / compiler / kernel]
        yield f"{compiler} springs", [ROOT / "build/torture" / compiler / "cost", "springs"]


def processor_seconds(program, threads, fold, directory):
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads), NUMAESTRO_DIR=directory)
    command = ["taskset", "-c", "0", COMMAND, "run", "--fold", fold, "--", *program]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory(prefix="numaestro-") as directory:
        for name, program in programs():
            if not Path(program[0]).exists():
                print(f"{name}: skipped, not built")
                continue
            seconds = {s: [] for s in SETTINGS}
            for _ in range(rounds):
                for threads, fold in SETTINGS:
                    seconds[threads, fold].append(processor_seconds(program, threads, fold, directory))
            one = seconds[SETTINGS[0]]
            ratios = [
                f"{threads} {fold} {statistics.median(a / b for a, b in zip(seconds[threads, fold], one)):.2f}"
                for threads, fold in SETTINGS[1:]
            ]
            print(f"{name} ({statistics.median(one):.3f} s with 1 thread): {', '.join(ratios)}", flush=True)
        subprocess.run([COMMAND, "stop"], env=dict(os.environ, NUMAESTRO_DIR=directory), stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
