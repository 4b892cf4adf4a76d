# SPDX-License-Identifier: Apache-2.0
"""testinfra's way into a container, which tries again if the host cannot start a process."""

from __future__ import annotations

from typing import Any

import pytest
from testinfra.backend import BACKENDS
from testinfra.backend.base import CommandResult
from testinfra.backend.docker import DockerBackend

from cannery.engine.containers import NOT_STARTED, is_not_started, shell_not_started

TRIES = 3
"""How often the host may fail to start the shell of a command, before the checks end."""


class CheckedContainer(DockerBackend):  # type: ignore[misc]  # testinfra has no types
    """Runs commands in a container, and ends pytest if the host cannot start one."""

    # testinfra would start the container's Python to ask for it.
    encoding = "UTF-8"

    def run(self, command: str, *args: str, **kwargs: Any) -> CommandResult:
        """Run a command of a check, and again if the host could not start its shell."""
        why = ""
        for _ in range(TRIES):
            try:
                result = super().run(command, *args, **kwargs)
            except OSError as error:  # the shell that calls docker
                why = str(error)
                continue
            said = (result.stdout_bytes + result.stderr_bytes).decode(errors="replace")
            if not is_not_started(result.rc, said):
                return result
            why = said.strip()
            if not shell_not_started(said):  # a part of the command may have run
                break
        pytest.exit(why, returncode=NOT_STARTED)


def use() -> None:
    """Let testinfra use this class for all containers."""
    BACKENDS["docker"] = f"{CheckedContainer.__module__}.{CheckedContainer.__name__}"
