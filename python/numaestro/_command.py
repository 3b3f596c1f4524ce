"""Finds the command ``numaestro`` that was installed with this package, and becomes it."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from typing import NoReturn, Optional

__all__ = ["become", "find"]

_NAME = "numaestro"
#: Exit code of a command that is missing, as shells have it.
_NOT_FOUND = 127


def _candidates() -> Iterator[str]:
    """Where it may be: pip's own record first, which knows every scheme of installing."""
    try:
        files = importlib.metadata.files(_NAME) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == _NAME and file.parent.name == "bin":
            yield os.path.abspath(str(file.locate()))
    yield os.path.join(sysconfig.get_path("scripts"), _NAME)
    # `pip install --target`
    yield os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin", _NAME)
    yield shutil.which(_NAME) or ""


def find() -> Optional[str]:
    """The path of the command, None if it is nowhere."""
    for path in _candidates():
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def become(arguments: list[str]) -> NoReturn:
    """Replaces this process by the command: exit code, signals and terminal are the command's."""
    path = find()
    if path is None:
        print("numaestro: the command is not beside this package", file=sys.stderr)
        print("  next: pip install --force-reinstall numaestro, or put the command on PATH", file=sys.stderr)
        sys.exit(_NOT_FOUND)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(path, [_NAME, *arguments])
