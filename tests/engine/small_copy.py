# SPDX-License-Identifier: Apache-2.0
"""A copy of this checkout whose images are small: few packages, wheels without content, two checks.

All else is as it is here: the matrix, the Dockerfiles' stages, and the simulated packages.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from cannery.common.files import read_text, sha256_of
from cannery.common.package_index import PackageIndex
from cannery.lock.index_versions import pip_environment
from cannery.lock.lock_file import LockedFile, LockedWheel, parse_lock, with_files
from cannery.matrix.project import Project
from tests.faults.small_checkout import OPTIONS, wheel
from tests.package_index import index_of_folder

from .conftest import ROOT, Built, rename_images, run_build_py

HELD = "CANNERY_TEST_HELD"
"""With this variable, the checks last until their container is removed."""

CHECKS = f"""\
import os
import pytest

def test_python(host):
    if os.environ.get("{HELD}"):
        host.run("sleep infinity")
    assert host.file("/usr/bin/python3").exists

@pytest.mark.device
def test_device(host):
    assert "910B" in host.check_output("npu-smi info")
"""

PACKAGES = ("ca-certificates", "python3")
"""The Debian packages of a small image."""

_LEFT_OUT = shutil.ignore_patterns(".[!d]*", "artifacts", "node_modules", "__pycache__")
_PACKAGES = "layer.packages | join"
_BUILD_STAGE = ("--python-version", "3.11")


def write_checks(root: Path) -> None:
    """Give the checkout ``root`` checks that take a second."""
    folder = root / "tests" / "image"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "os").mkdir(parents=True)
    (folder / "conftest.py").write_text(OPTIONS, encoding="utf-8")
    (folder / "os" / "test_os.py").write_text(CHECKS, encoding="utf-8")


def copy_checkout(root: Path, *simulated: Built) -> None:
    """Copy this checkout to ``root``, with the simulated packages of some targets."""
    shutil.copytree(ROOT, root, ignore=_LEFT_OUT)
    for each in simulated:
        made = each.simulated.artifacts.parent
        # Links, because a second simulator would have to be compiled.
        place = root / made.relative_to(ROOT)
        shutil.copytree(made, place, symlinks=True, copy_function=os.link)


@contextmanager
def small_copy(root: Path, built: Sequence[Built], packages: PackageIndex) -> Iterator[str]:
    """Make ``root`` a copy in which the targets ``built`` are small; the address of its index."""
    copy_checkout(root, *built)
    write_checks(root)
    project, wheels = Project(root=root), root.parent / "wheels"
    _shorten(project.templates / "packages_apt.j2")
    _make_index(project, built, packages, wheels)
    words = [word for each in built for word in ("--target", each.target.id)]
    argv = [sys.executable, str(root / "build.py"), "render", *words]
    subprocess.run(argv, check=True, capture_output=True)
    with index_of_folder(wheels) as address:
        yield address


def _shorten(template: Path) -> None:
    """Leave two packages in the first layer of an image."""
    text = template.read_text(encoding="utf-8")
    found = text.replace(_PACKAGES, f"{[*PACKAGES]} | join", 1)
    assert found != text
    template.write_text(found, encoding="utf-8")


def _make_index(
    project: Project, built: Sequence[Built], packages: PackageIndex, folder: Path
) -> None:
    """Download what the steps of a build run, and make all other wheels that the locks name."""
    stage = read_text(project.build_lock)
    _download(["--requirement", str(project.build_lock)], _BUILD_STAGE, folder, packages)
    # They are also those of build.py itself.
    (project.root / "requirements.txt").write_text(stage, encoding="utf-8")
    for each in built:
        lock = parse_lock(read_text(project.lock(each.target)))
        sdists = [package.requirement for package in lock.wheels if _is_sdist(package)]
        _download_sdists(sdists, folder, packages)
        files = {own.name: [_made(folder, file) for file in own.files] for own in lock.wheels}
        project.lock(each.target).write_text(with_files(lock.text, files), encoding="utf-8")


def _download(
    what: list[str], python: tuple[str, ...], folder: Path, packages: PackageIndex
) -> None:
    argv = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
    env = {**os.environ, **pip_environment(packages)}
    subprocess.run([*argv, *python, *what], env=env, check=True)


def _download_sdists(requirements: Sequence[str], folder: Path, packages: PackageIndex) -> None:
    """With the program of the build, which runs no code of the sdists."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(requirements))
        file.flush()
        program = str(ROOT / "cannery/image/context/download-sdist")
        env = {**os.environ, **pip_environment(packages)}
        argv = [sys.executable, program, file.name, str(folder)]
        subprocess.run(argv, env=env, check=True)


def _is_sdist(package: LockedWheel) -> bool:
    return not any(file.name.endswith(".whl") for file in package.files)


def _made(folder: Path, file: LockedFile) -> LockedFile:
    """The ``file``, which is made without content unless it was downloaded."""
    if not (folder / file.name).exists():
        (folder / file.name).write_bytes(wheel(file.name))
    return LockedFile(name=file.name, sha256=sha256_of(folder / file.name))


@contextmanager
def own_checkout(
    root: Path, names: str, sections: Mapping[str, str], targets: str, *simulated: Built
) -> Iterator[Path]:
    """The copy ``root``, whose images are called ``names``:TAG and removed afterwards.

    ``sections`` maps sections of matrix.yaml to what is in them there; ``targets`` take the
    place of all targets. Simulated packages of targets of the same id are there already.
    """
    copy_checkout(root, *simulated)
    rename_images(root, names)
    matrix = root / "matrix.yaml"
    text, found, _ = matrix.read_text(encoding="utf-8").partition("\nfamilies:\n")
    assert found and "\ntargets:\n" not in text
    more = "".join(f"\n{name}:\n{own}" for name, own in sections.items())
    matrix.write_text(f"{text}{more}\ntargets:\n{targets}", encoding="utf-8")
    try:
        yield root
    finally:
        listed = ["docker", "image", "ls", "--quiet", "--no-trunc", names]
        done = subprocess.run(listed, capture_output=True, text=True, check=True)
        if images := {*done.stdout.split()}:
            argv = ["docker", "image", "rm", "--force", *images]
            subprocess.run(argv, capture_output=True, check=True)


def build(root: Path, targets: Iterable[str]) -> None:
    """Lock, render and build ``targets`` in the checkout ``root``; all checks must pass."""
    chosen = [word for each in targets for word in ("--target", each)]
    for words in (["lock"], ["render"], ["--simulate"]):
        said = run_build_py(root, *words, *chosen)
        assert said.code == 0, said.text[-8000:]
