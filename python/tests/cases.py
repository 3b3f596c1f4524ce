"""Runs one case of a file: ``python managed.py CASE``. A case is a function; it fails by raising."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Callable

#: Seconds after which something that must come has not come.
PATIENCE_S = 60.0
#: Exit code of a case that cannot be run here; the reason is its last line of output.
SKIPPED = 77


def skip(reason: str) -> None:
    """Ends the case."""
    print(reason)
    sys.exit(SKIPPED)


def eventually(holds: Callable[[], bool]) -> bool:
    """Whether it holds before the patience ends."""
    until = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.002)
    return True


def raises(kind: type[BaseException], call: Callable[[], object]) -> str:
    """The message of the exception that the call must raise."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


def neighbour() -> subprocess.Popen[bytes]:
    """Another program under the same manager, which computes until it is killed."""
    busy = ["sh", "-c", "while :; do :; done"]
    return subprocess.Popen([sys.executable, "-m", "numaestro", "run", "--", *busy])


def end(program: subprocess.Popen[bytes]) -> None:
    """Kills it."""
    program.kill()
    program.wait()


def main(cases: dict[str, object]) -> None:
    """Runs the case that the command line names."""
    case = cases[sys.argv[1]]
    assert callable(case)
    case()
