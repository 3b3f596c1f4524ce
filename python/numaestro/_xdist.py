"""``pytest -n auto`` under ``numaestro run``: as many workers as the test run has processors.

The controller only counts: it does not attach to the manager, so it takes no processors from its
workers. Its affinity is the allocation at that time.
"""

from __future__ import annotations

import os
from typing import Optional

import pytest

__all__ = ["pytest_xdist_auto_num_workers"]


@pytest.hookimpl(optionalhook=True)  # type: ignore[untyped-decorator, misc, unused-ignore]
def pytest_xdist_auto_num_workers() -> Optional[int]:
    """The number of workers; None lets pytest-xdist decide: without numaestro, or for the user."""
    managed = "NUMAESTRO_ATTACH" in os.environ
    if not managed or os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS"):
        return None
    return max(len(os.sched_getaffinity(0)), 1)
