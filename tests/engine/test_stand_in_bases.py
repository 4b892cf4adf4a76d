# SPDX-License-Identifier: Apache-2.0
"""Targets on bases as Ubuntu's and openEuler's, which are made of Debian's packages.

They have what matters to a build: users, layout of files, package manager, how they are started.
Their images pass every check of images; what only the real bases have, no test here can tell.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cannery.engine.base import BaseCache, Bases, building_architecture
from cannery.engine.builder import find_builder
from cannery.matrix.project import Project

from .conftest import MAIN
from .small_copy import build, own_checkout

STAND_INS = Path(__file__).with_name("stand_ins")
NAMES = "cannery-stand-ins"
IMAGES = {
    "ubuntu": "127.0.0.1:9/ubuntu:24.04",
    "openeuler": "127.0.0.1:9/openeuler/openeuler:24.03-lts",
}
"""Distribution to an image in a registry that nobody runs, so that the engine's image is taken."""

SUITES = {"ubuntu": "noble", "openeuler": "24.03-lts"}
BASE = "  {name}-like: {{distribution: {name}, image: {image}, suite: {suite}, glibc: 2.36}}\n"
PYTHON = "  {name}-python: {{version: 3.11.2, source: base, base: {name}-like}}\n"
TARGET = """\
  {name}-like:
    summary: A stand-in for {name}
    platform: linux/{architecture}
    base: {name}-like
    python: {name}-python
    cann: {{toolkit: 9.1.0, kernels: 9.1.0, chip: 910b}}
"""


def _docker(*words: str) -> str:
    done = subprocess.run(["docker", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def bases(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The two bases, in the engine's store."""
    notes = BaseCache(state=tmp_path_factory.mktemp("state"))
    debian = project.matrix().targets[MAIN].build_base
    found = Bases(find_builder(""), notes).find(debian, building_architecture())
    for name, image in IMAGES.items():
        argv = ["buildx", "build", "--quiet", "--build-arg", f"DEBIAN={found.reference}"]
        argv += ["--file", str(STAND_INS / f"{name}.Dockerfile"), str(STAND_INS)]
        _docker(*argv, "--output", f"type=docker,name={image}")
    yield
    _docker("image", "rm", *IMAGES.values())


def _as_here(root: Path) -> None:
    """Let compat.yaml say of the two suites what the stand-ins have."""
    path = root / "cannery/data/compat.yaml"
    rows = path.read_text(encoding="utf-8")
    for suite in SUITES.values():
        rows, count = re.subn(
            rf"(suite: {re.escape(suite)}, .*glibc: )[\d.]+(, python: )[\d.]+",
            r"\g<1>2.36\g<2>3.11.2",
            rows,
        )
        assert count == 1
    path.write_text(rows, encoding="utf-8")


def _config(name: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(_docker("image", "inspect", name))[0]["Config"]
    return found


@pytest.mark.usefixtures("bases")
def test_images_of_both_pass_every_check(tmp_path: Path) -> None:
    root, architecture = tmp_path / "checkout", building_architecture()
    values = [{"name": n, "image": i, "suite": SUITES[n]} for n, i in IMAGES.items()]
    sections = {
        "bases": "".join(BASE.format(**each) for each in values),
        "pythons": "".join(PYTHON.format(**each) for each in values),
    }
    targets = "".join(TARGET.format(**each, architecture=architecture) for each in values)
    with own_checkout(root, NAMES, sections, targets):
        _as_here(root)
        build(root, [f"{name}-like" for name in IMAGES])
        for name in IMAGES:
            config = _config(f"{NAMES}:{name}-like-sim")
            started = [config[key] for key in ("User", "WorkingDir", "Entrypoint", "Cmd")]
            assert started == ["0:0", "/", None, ["/bin/bash"]]
        # What a package of the base owns, and what the first layer says of its packages.
        shown = ("run", "--rm", f"{NAMES}:openeuler-like-sim")
        assert _docker(*shown, "stat", "-c", "%a %U %G", "/var/log/stand-ins") == "750 daemon adm"
        listed = _docker(*shown, "cat", "/usr/local/share/cannery/rpms/os.txt").splitlines()
        assert any(line.endswith("  net-tools-1-1.noarch.rpm") for line in listed)
        assert "net-tools-1-1" in _docker(*shown, "rpm", "--query", "net-tools")
