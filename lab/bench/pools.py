#!/usr/bin/env python3
"""Pools that are sized once, at start, at a busy moment: `--pool whole` against `--pool now`.

A program of rayon, polars or Java starts beside a program that keeps every processor busy. Two questions:

  after    how many processors the program uses in the second second after the other one has ended
  beside   how long it takes for its work while the other one runs, whole against now

The set-ups take turns, so that all see the same machine; what is printed are medians over the rounds, and the
smallest value of `after`, because that one has a lower bound.

usage: lab/bench/pools.py [ROUNDS [PROGRAM]]   after `make build examples venv`; needs two processors to itself.
"""
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ROOT / "target/release/numaestro"
PYTHON = ROOT / "build/venv/bin/python"
PROCESSORS = len(os.sched_getaffinity(0))
BUSY = " ".join("(while :; do :; done) &" for _ in range(PROCESSORS)) + " wait"
ENDLESS = "100000000"
TICKS = os.sysconf("SC_CLK_TCK")


def programs():
    """Name, command without the number of repetitions, repetitions for about a second on one processor."""
    yield "rayon", [ROOT / "target/release/examples/load-rayon", "--length", "1048576", "--reps"], 200
    yield "polars", [PYTHON, ROOT / "lab/bench/programs/frames.py", "--reps"], 10
    if shutil.which("java"):
        yield "Java", ["java", ROOT / "lab/bench/programs/Pool.java", "--reps"], 200


class Manager:
    """A manager in a directory of its own."""

    def __init__(self, directory):
        self.environment = dict(os.environ, NUMAESTRO_DIR=directory)

    def start(self, pool, command):
        words = [COMMAND, "run", "--pool", pool, "--", *command]
        return subprocess.Popen(words, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)

    def stop(self):
        subprocess.run([COMMAND, "stop"], env=self.environment, stdout=subprocess.DEVNULL, check=False)


def end(process):
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def after(manager, pool, command):
    other = manager.start("whole", ["sh", "-c", BUSY])
    time.sleep(1)
    program = manager.start(pool, [*command, ENDLESS])
    # Its pool is there when it has worked for a while.
    began = time.monotonic()
    while processor_seconds(program.pid) < 1.5 and time.monotonic() - began < 20:
        time.sleep(0.05)
    end(other)
    time.sleep(1)
    before, begin = processor_seconds(program.pid), time.monotonic()
    time.sleep(1)
    used = (processor_seconds(program.pid) - before) / (time.monotonic() - begin)
    end(program)
    return used


def beside(manager, pool, command, reps):
    said, _ = manager.start(pool, [*command, str(reps)]).communicate()
    result = json.loads(said.splitlines()[-1])
    if result["verification"] != "ok":
        raise SystemExit(f"{command} is wrong: {said}")
    return result["wall_s"]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory(prefix="numaestro-") as directory:
        manager = Manager(directory)
        for name, command, reps in programs():
            if len(sys.argv) > 2 and sys.argv[2] != name:
                continue
            if not Path(shutil.which(command[0]) or "").exists():
                print(f"{name}: skipped, not here")
                continue
            used, walls = {"whole": [], "now": []}, {"whole": [], "now": []}
            for _ in range(rounds):
                for pool, values in used.items():
                    values.append(after(manager, pool, command))
            other = manager.start("whole", ["sh", "-c", BUSY])
            time.sleep(1)
            for _ in range(rounds):
                for pool, values in walls.items():
                    values.append(beside(manager, pool, command, reps))
            end(other)
            ratios = [whole / now for whole, now in zip(walls["whole"], walls["now"])]
            print(
                f"{name}: after whole {statistics.median(used['whole']):.2f} (least {min(used['whole']):.2f}), "
                f"now {statistics.median(used['now']):.2f}; beside whole/now {statistics.median(ratios):.3f} "
                f"({min(ratios):.3f} to {max(ratios):.3f}; {statistics.median(walls['now']):.2f} s)",
                flush=True,
            )
        manager.stop()


if __name__ == "__main__":
    main()
