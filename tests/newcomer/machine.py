# SPDX-License-Identifier: Apache-2.0
"""A bare Debian: a container with a fresh clone, whose engine is the one that it installs."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cannery.engine.base import building_architecture
from cannery.matrix.project import Project
from tests.engine.bases import base_image

ROOT = Path(__file__).parents[2]
IMAGE = "cannery/newcomer"
CLONE = "/root/cannery"
_CA = "/etc/ssl/certs/ca-certificates.crt"
_KEPT = "/root/.environment"
_TYPED = """\
[ ! -e {kept} ] || . {kept}
trap 'export -p >{kept}' EXIT
{command}
"""


@dataclass(frozen=True, kw_only=True)
class Ended:
    """What a command ended with."""

    code: int
    out: str
    err: str
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A running container; what a command exports is there for the next one, as in a shell."""

    container: str

    def type(self, command: str) -> Ended:
        """Type ``command`` into a shell in the clone."""
        script = _TYPED.format(kept=_KEPT, command=command)
        begun = time.monotonic()
        done = subprocess.run(
            ["docker", "exec", "--workdir", CLONE, self.container, "bash", "-c", script],
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.monotonic() - begun
        return Ended(code=done.returncode, out=done.stdout, err=done.stderr, seconds=seconds)


@contextmanager
def machine(folder: Path) -> Iterator[Machine]:
    """A machine with a clone of the last commit, on the base in which targets are compiled."""
    target = next(iter(Project(root=ROOT).matrix().targets.values()))
    base = base_image(target.build_base, building_architecture())
    dockerfile = str(Path(__file__).parent / "bare")
    _do(
        "docker",
        "build",
        "--quiet",
        "--network=host",
        f"--tag={IMAGE}",
        f"--build-arg=BASE={base}",
        dockerfile,
    )
    _do("git", "clone", "--quiet", "--bare", str(ROOT), str(folder / "cannery.git"))
    # An engine in it needs storage that is not an overlay, and root's rights.
    options = ["--detach", "--init", "--privileged", "--shm-size=16g"]
    options += [
        "--volume=/var/lib/docker",
        f"--volume={folder}/cannery.git:/srv/cannery.git:ro",
        f"--volume={_CA}:{_CA}:ro",
    ]
    container = _do("docker", "run", *options, IMAGE, "sleep", "infinity")
    try:
        _do("docker", "exec", container, "git", "clone", "--quiet", "/srv/cannery.git", CLONE)
        yield Machine(container=container)
    finally:
        _do("docker", "rm", "--force", "--volumes", container)


def _do(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()
