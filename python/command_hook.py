"""Build hook of the wheel: puts the command into it, and names the machines on which it runs.

``NUMAESTRO_COMMAND`` is the command, stripped, and ``NUMAESTRO_PLATFORM`` the platform of the
wheel's name; ``scripts/package-wheel.sh`` finds both out.
"""

from __future__ import annotations

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommandHook(BuildHookInterface):  # type: ignore[type-arg]
    """See the module."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        del version
        command, platform = os.environ.get("NUMAESTRO_COMMAND"), os.environ.get("NUMAESTRO_PLATFORM")
        if not command or not platform:
            raise SystemExit("the wheel needs the built command: run `make wheel` in the repository")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        build_data["shared_scripts"][command] = "numaestro"
