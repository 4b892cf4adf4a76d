# SPDX-License-Identifier: Apache-2.0
"""podman starts an image that docker has built, in a store of the test's own."""

from __future__ import annotations

import os
import resource
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cannery.common.references import image_name
from cannery.engine import client as engine
from cannery.matrix.project import Project
from cannery.verify.devices import made_host
from tests.formats.goods import COMPUTED, COMPUTES
from tests.programs import need, needs_root

ROOT = Path(__file__).parents[2]
PROJECT = Project(root=ROOT)
TARGET = PROJECT.matrix().targets["py39-torch231-cann8t39"]
IMAGE = image_name(TARGET.id, simulate=True)
RUN = (sys.executable, "build.py", "run", TARGET.id, "--simulate", "--cards", "2")


def limits() -> str:
    """What a container may have here: podman's default is more than some machines allow root."""
    hard = {
        name: min(4096, limit) if limit != resource.RLIM_INFINITY else 4096
        for name, number in (("nofile", resource.RLIMIT_NOFILE), ("nproc", resource.RLIMIT_NPROC))
        for _, limit in [resource.getrlimit(number)]
    }
    return ", ".join(f'"{name}={limit}:{limit}"' for name, limit in hard.items())


@pytest.fixture(scope="module")
def podman(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment in which podman has no image, and none of this machine's settings."""
    program = need("commands of podman as podman runs them", "podman")
    if not made_host(PROJECT, TARGET) or not engine.image_id(IMAGE):
        pytest.fail(f"{IMAGE} is not here; 'nox -s image' builds it")
    folder = tmp_path_factory.mktemp("podman")
    # crun refuses version 1 of cgroups beside version 2.
    old = Path("/sys/fs/cgroup/devices").is_dir()
    (folder / "containers.conf").write_text(
        f"[containers]\ndefault_ulimits = [{limits()}]\n" + '[engine]\nruntime = "runc"\n' * old,
        encoding="utf-8",
    )
    (folder / "storage.conf").write_text(
        f'[storage]\ndriver = "overlay"\ngraphroot = "{folder}/images"\nrunroot = "{folder}/run"\n',
        encoding="utf-8",
    )
    conf, storage = folder / "containers.conf", folder / "storage.conf"
    env = {"CONTAINERS_CONF": str(conf), "CONTAINERS_STORAGE_CONF": str(storage)}
    try:
        yield {**os.environ, **env}
    finally:
        subprocess.run([program, "rmi", "--all", "--force"], env={**os.environ, **env}, check=True)


def run(argv: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, env=env, cwd=ROOT, capture_output=True, text=True, check=False)


@needs_root
def test_podman_computes_on_the_simulated_device(podman: dict[str, str]) -> None:
    started = [*RUN, "--engine", "podman", "--network", "none", "--", *COMPUTES]
    refused = run(started, podman)
    assert refused.returncode
    hint = f"docker save {IMAGE} | podman load"
    assert hint in " ".join(refused.stderr.split())
    loaded = run(["bash", "-c", hint], podman)
    assert loaded.returncode == 0, loaded.stderr
    done = run(started, podman)
    assert done.stdout.splitlines()[-1:] == [COMPUTED], done.stdout + done.stderr
    # The printed command, which another shell starts.
    printed = run([*RUN, "--format", "podman", "--network", "none", "--", *COMPUTES], podman)
    assert shlex.split(printed.stdout)[:2] == ["podman", "run"], printed.stderr
    done = run(["bash", "-c", printed.stdout], podman)
    assert done.stdout.splitlines()[-1:] == [COMPUTED], done.stdout + done.stderr
