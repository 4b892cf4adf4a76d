# SPDX-License-Identifier: Apache-2.0
"""The environment variables of a process on a simulated host."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from .errors import UnusableError
from .host import ASCEND, PROGRAMS

# The ABI does not matter: the libraries of both are the same. Naming one saves starting torch.
_SOURCE = """
. "$1/ascend-toolkit/set_env.sh"
set -- "$1" --cxx_abi=1
[ ! -e "$1/nnal/atb/set_env.sh" ] || . "$1/nnal/atb/set_env.sh"
exec env -0
"""
_OF_THE_SHELL = {"_", "PWD", "OLDPWD", "SHLVL"}


def environment(root: Path) -> dict[str, str]:
    """This process's environment, changed as CANN's own scripts and a driver's host change it.

    Raises:
        UnusableError: there is no working ``bash`` or ``env``.
    """
    argv = ["bash", "-e", "-c", _SOURCE, "ascend-sim", f"{root}/{ASCEND}"]
    try:
        done = subprocess.run(argv, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", b"") or str(error).encode()
        raise UnusableError(
            f"the environment cannot be set up by bash: {os.fsdecode(said).strip()}"
        ) from error
    pairs = (each.partition("=") for each in os.fsdecode(done.stdout).split("\0") if each)
    found = {name: value for name, _, value in pairs if name not in _OF_THE_SHELL}
    # A shell leaves out variables whose names it could not write.
    result = {**os.environ, **found, "CANNERY_SIMULATED": "1"}
    _put_first(result, "LD_LIBRARY_PATH", f"{root}/{ASCEND}/driver/lib64/driver")
    _put_first(result, "PATH", f"{root}/{PROGRAMS}")
    return result


def _put_first(variables: dict[str, str], name: str, folder: str) -> None:
    rest = [each for each in variables.get(name, "").split(":") if each not in ("", folder)]
    variables[name] = ":".join([folder, *rest])


def for_a_shell(variables: dict[str, str]) -> str:
    """Commands for sh, bash or zsh that set what differs from this process's environment."""
    return "".join(
        f"export {name}={shlex.quote(value)}\n"
        for name, value in sorted(variables.items())
        if os.environ.get(name) != value
    )
