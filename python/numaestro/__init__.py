"""How many processors can this Python program have right now?

Under ``numaestro run`` a manager gives each program processors of its own, and changes that while
programs come and go. This package asks for the number, tells of changes, and lets libraries follow::

    import numaestro

    numaestro.processors()                  # for example 4
    numaestro.follow("torch")               # torch uses so many threads, also after changes
    numaestro.on_change(print)              # a function of yours is called with the new number
    with numaestro.limit(max=2):            # the program needs fewer for a while
        ...

Without a manager all of it works, too: the number is that of the affinity of the process.
"""

from __future__ import annotations

import importlib.metadata

from numaestro._change import Subscription, on_change
from numaestro._follow import Follower, follow
from numaestro._limit import limit
from numaestro._program import PROGRAM as _PROGRAM

__all__ = ["Follower", "Subscription", "follow", "limit", "managed", "on_change", "processors"]

try:
    __version__ = importlib.metadata.version("numaestro")
except importlib.metadata.PackageNotFoundError:  # run from the source tree
    __version__ = "0"


def processors() -> int:
    """The number of processors that this process can have now, at least 1.

    Under a manager it is the manager's decision, else the number of processors in the affinity of
    the process; in both cases at most the lowest `limit` that is in force. The first call attaches
    the process to the manager, so the process is an application of its own from then on. Any thread
    may call it at any time. It costs about a microsecond.
    """
    return _PROGRAM.processors()


def managed() -> bool:
    """Whether a manager decides about this process and hears its requests.

    False for a program that was not started by ``numaestro run`` or in ``numaestro shell``; also
    for one that was adopted, because the manager steers it by its affinity only.
    """
    return _PROGRAM.source().managed
