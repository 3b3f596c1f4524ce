"""``python -m numaestro run -- ./app``: every subcommand of the command."""

import sys

from numaestro._command import become

if __name__ == "__main__":
    become(sys.argv[1:])
