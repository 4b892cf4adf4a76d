# SPDX-License-Identifier: Apache-2.0
"""Tells a process of a check that the host could not start from one that the image lets fail."""

from __future__ import annotations

import re

NOT_STARTED = 70
"""pytest's exit code if the host could not start a process of a check."""

_BY_ENGINE = re.compile(r"\A(?:OCI runtime exec failed: |exec /bin/sh: )")
"""How the engine begins if it could not start the shell of a check."""

_OF_THE_IMAGE = re.compile(r"no such file or directory|permission denied", re.IGNORECASE)
"""What the engine says if the image has no shell that can be started."""

_BY_SHELL = re.compile(r"(?:: Bad address|Bad address: \S+|: Cannot allocate memory)\s*\Z")
"""How the shell ends if the kernel could not start a program, whatever the image holds."""


def shell_not_started(said: str) -> bool:
    """Whether the engine could not start the shell of a command, so that no part of it has run."""
    return bool(_BY_ENGINE.match(said))


def is_not_started(code: int, said: str) -> bool:
    """Whether a command with this exit code and output was not run, for a reason of the host's."""
    if not code:
        return False
    if shell_not_started(said):
        return not _OF_THE_IMAGE.search(said)
    return code in (126, 127) and bool(_BY_SHELL.search(said))
