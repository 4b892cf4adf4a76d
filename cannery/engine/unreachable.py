# SPDX-License-Identifier: Apache-2.0
"""Why the container engine cannot be reached, by what docker or its SDK says about it.

docker repeats its error for each image that it was asked about, and neither of them says what to
do. Nothing is imported here that takes long, because a run in which all is up to date needs this.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from cannery.common.errors import EngineError, Problem

_DEFAULT = "unix:///var/run/docker.sock"
_ADDRESS = re.compile(r"\b(?:unix|tcp|https?)://[^\s\"']+")
_DENIED = re.compile(r"permission denied while trying to connect|PermissionError\(13")
_SILENT = re.compile(
    r"Cannot connect to the Docker daemon|failed to connect to the docker API"
    r"|FileNotFoundError\(2|Connection refused"
)
_MALFORMED = re.compile(r"[Ii]nvalid bind address|unable to parse docker host")
_START = "Start it, for example with 'bash setup.sh', or set DOCKER_HOST."


def unreachable(said: str, environ: Mapping[str, str] = os.environ) -> EngineError:
    """The error for an engine that does not answer; ``said`` is the text of docker or its SDK."""
    host = environ.get("DOCKER_HOST", "")
    if host and (_MALFORMED.search(said) or not _is_address(host)):
        what = f"invalid DOCKER_HOST {host!r}."
        fix = f"Write it as in {_DEFAULT} or tcp://HOST:2375, or unset it."
    elif "paramiko" in said:
        what = f"DOCKER_HOST {host!r} needs Python's package paramiko, which is not installed."
        fix = (
            f"Install it: {sys.executable} -m pip install paramiko; or forward the socket with "
            "'ssh -nNT -L /tmp/far.sock:/var/run/docker.sock HOST' and set DOCKER_HOST to "
            "unix:///tmp/far.sock."
        )
    elif _DENIED.search(said):
        what = f"no permission to use the container engine's socket {_path(said, host)}."
        fix = (
            "Add this user to the group docker ('sudo usermod -aG docker USER', then log in "
            "again), use sudo, or set DOCKER_HOST to a rootless engine."
        )
    elif _SILENT.search(said):
        path = _path(said, host)
        missing = path.startswith("/") and not Path(path).exists()
        reason = f"there is no socket {path}" if missing else f"nothing answers at {path}"
        what, fix = f"the container engine is not running: {reason}.", _START
    else:
        what = f"the container engine does not answer: {_first_line(said)}."
        fix = _START
    return EngineError(Problem(what=what, fix=fix))


def _is_address(host: str) -> bool:
    try:
        url = urlsplit(host)
        return url.scheme == "unix" or bool(url.scheme and url.hostname and url.port != 0)
    except ValueError:
        # The port is no number, or too large.
        return False


def _path(said: str, host: str) -> str:
    """The engine's address: the path of a socket, or a URL."""
    named = _ADDRESS.search(said)
    # The SDK names the address of no socket, and its URLs are not those that users write.
    found = host or (named[0].rstrip(".:;,") if named else "")
    return (found or _DEFAULT).removeprefix("unix://") or _DEFAULT.removeprefix("unix://")


def _first_line(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    warned = [line for line in lines if not line.startswith("WARNING")]
    return (warned or lines or ["no reason is given"])[0].rstrip(".")
