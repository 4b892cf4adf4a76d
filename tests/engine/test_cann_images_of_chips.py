# SPDX-License-Identifier: Apache-2.0
"""CANN out of images for each chip, which a registry has, and of such images with defects.

The trees are installed on this machine for the other one; no program of an image runs.
"""

from __future__ import annotations

import re
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cannery.building.assembly import Assembly
from cannery.building.planning import Selection, make_plan
from cannery.common.errors import ArtifactError
from cannery.engine.builder import find_builder
from cannery.image.bake_file import ImageBuild
from cannery.matrix.project import Project
from cannery.options import BuildOptions
from tests.simulated_packages.conftest import Packed, packer
from tests.simulated_packages.generations import (
    CHIPS,
    Site,
    driver_inside,
    installer,
    no_opp,
    other_kernels,
    other_nnal,
)

from .engines import registry
from .vendor import run

RELEASE, PLATFORM = "9.1.0", "linux/arm64"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with registry(tmp_path_factory.mktemp("registry")) as address:
        yield address


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Packed]:
    return packer(tmp_path_factory)


def pushed(site: Site, host: str, tag: str) -> str:
    """The reference of an image with the tree of ``site`` where images have CANN."""
    path, name = site.machine.root / f"{tag}.tar", f"{host}/ascend/cann:{tag}"
    with tarfile.open(path, "w") as archive:
        archive.add(site.machine.ascend, "usr/local/Ascend")
        archive.add(site.machine.root / "etc/Ascend", "etc/Ascend")
    run("docker", "import", "--platform", PLATFORM, str(path), name)
    path.unlink()
    try:
        [digest] = re.findall(r"digest: (sha256:[0-9a-f]{64})", run("docker", "push", name))
    finally:
        subprocess.run(["docker", "image", "rm", "--force", name], capture_output=True, check=False)
    return f"{host}/ascend/cann@{digest}"


def assembled(project: Project, chip: str, reference: str, artifacts: Path) -> ImageBuild:
    """The build of a target with CANN out of the image ``reference``; nothing is built yet."""
    matrix = project.matrix()
    target = replace(matrix.targets[f"py311-torch2100-cann910-{chip}"], vendor_image=reference)
    options = BuildOptions(simulate=True, sources=("image",), artifacts=artifacts)
    selection = Selection(matrix=matrix, targets=(target,))
    [step] = make_plan(project, selection, options).steps
    return Assembly(project, matrix, options, find_builder("")).image(step, None)


@pytest.mark.parametrize("chip", CHIPS)
def test_an_image_of_each_chip_is_taken_and_its_defects_are_refused(
    project: Project,
    host: str,
    pack: Callable[..., Packed],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    chip: str,
) -> None:
    artifacts = tmp_path / "not-there"
    site = installer(tmp_path, pack, monkeypatch)(RELEASE, chip, PLATFORM)
    driver_inside(site)
    whole = pushed(site, host, f"{RELEASE}-{chip}")
    assert (
        assembled(project, chip, whole, artifacts).contexts["vendor"] == f"docker-image://{whole}"
    )
    assert "left out, because containers get the host's driver: " in capfd.readouterr().err
    other_kernels(site)
    other_nnal(site)
    spoiled = pushed(site, host, f"{RELEASE}-{chip}-spoiled")
    with pytest.raises(ArtifactError) as caught:
        assembled(project, chip, spoiled, artifacts)
    assert [str(each) for each in caught.value.problems[:-1]] == [
        f"{spoiled} has nnal 8.5.0, and {RELEASE} is needed.",
        f"{spoiled} has operators for ascend910, and chip {chip} needs {CHIPS[chip]}.",
    ]
    no_opp(site)
    with pytest.raises(ArtifactError, match=f"operators for no chip, and chip {chip} needs"):
        assembled(project, chip, pushed(site, host, f"{RELEASE}-{chip}-none"), artifacts)
