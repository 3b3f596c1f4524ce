"""Runs within an empty root: Python, the C library, this file and the wheel are all there is.

``python empty.py WHEEL full``: /sys can be read. ``python empty.py WHEEL bare``: there is none.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

ENV = "/venv"
PYTHON = f"{ENV}/bin/python"
#: Asks for its processors, and ends with a number of its own.
PROGRAM = "import numaestro, os, sys; print(numaestro.managed(), numaestro.processors(), len(os.sched_getaffinity(0))); sys.exit(7)"


def said(*words: str, code: int = 0) -> str:
    """The output of a program that has to end with this code."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=100)
    if done.returncode != code:
        raise AssertionError(f"{words} ends with {done.returncode}, not {code}:\n{done.stdout}{done.stderr}")
    return done.stdout


def numaestro(*words: str, code: int = 0) -> str:
    return said(PYTHON, "-m", "numaestro", *words, code=code)


def installed(wheel: str) -> None:
    for tool in ("cc", "gcc", "make", "ld", "sh", "cat"):
        places = [f"{place}/{tool}" for place in ("/bin", "/usr/bin", "/usr/local/bin")]
        assert not any(os.path.exists(place) for place in places), f"{tool} is here"
    said(sys.executable, "-m", "venv", ENV)
    said(f"{ENV}/bin/pip", "install", "-q", "--disable-pip-version-check", "--no-index", wheel)
    assert numaestro("--version").startswith("numaestro ")


def outcomes(code: int) -> dict[str, str]:
    """What doctor says about each rung's checks."""
    numaestro("doctor", code=code)
    report = json.loads(numaestro("doctor", "--json", code=code))
    assert report["usable"] == (code == 0), report
    assert all(check["outcome"] == "yes" or check["next"] for check in report["checks"]), report
    return {check["name"]: check["outcome"] for check in report["checks"]}


def full() -> None:
    """Everything that needs no rights works."""
    found = outcomes(0)
    works = ["topology", "runtime directory", "manager", "affinity", "shim"]
    assert [found[name] for name in works] == ["yes"] * len(works), found
    assert found["cgroup v2 cpuset"] == "no" and found["runtimes"] == "partly", found
    everything = len(os.sched_getaffinity(0))
    assert numaestro("run", "--", PYTHON, "-c", PROGRAM, code=7).split() == ["True", str(everything), str(everything)]
    if everything > 1:
        assert numaestro("run", "--max", "1", "--", PYTHON, "-c", PROGRAM, code=7).split() == ["True", "1", "1"]
    status = json.loads(numaestro("status", "--json"))
    assert status["running"] and status["apps"] == [], status
    numaestro("stop")
    assert not json.loads(numaestro("status", "--json"))["running"]


def bare() -> None:
    """Without /sys nothing is known of the machine: that is said, and programs run as they would."""
    found = outcomes(1)
    assert found["topology"] == "no" and found["affinity"] == "yes", found
    done = subprocess.run(
        [PYTHON, "-m", "numaestro", "run", "--", PYTHON, "-c", PROGRAM], capture_output=True, text=True, timeout=100
    )
    everything = str(len(os.sched_getaffinity(0)))
    assert (done.returncode, done.stdout.split()) == (7, ["False", everything, everything]), done
    assert len(done.stderr.splitlines()) == 1 and "runs without numaestro" in done.stderr, done.stderr


if __name__ == "__main__":
    installed(sys.argv[1])
    {"full": full, "bare": bare}[sys.argv[2]]()
