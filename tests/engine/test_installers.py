# SPDX-License-Identifier: Apache-2.0
"""CANN's installers make the same layers on the building machine and on that of the target."""

from __future__ import annotations

import hashlib
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from cannery.common.model import Target
from cannery.common.package_index import PackageIndex
from cannery.engine.simulator import Simulated, simulate
from cannery.matrix.project import Project

from .conftest import MAIN
from .stages import Stages

INFO_MODE = 0o444
"""Of version.info, which the vendor has with mode 440, with the option --install-for-all."""

NEWER = "py311-torch290-cann910-910b"
COMPONENTS = ("toolkit", "kernels", "nnal")

Entry = tuple[bytes, int, int, int, float, str, str]
"""Kind, mode, owner, group, date, what a link leads to, and the sha256 of the content."""


def _layers(
    project: Project, target: Target, made: Simulated, packages: PackageIndex, folder: Path
) -> dict[str, Entry]:
    """The entries of CANN's layers, which no other stage than the installers' is built for."""
    stages = Stages(
        project=project,
        target=target,
        packages=packages,
        artifacts=made.artifacts,
        folder=folder / "files",
    )
    copies = [f"COPY --from=layer-{name} /layer/ /{name}/" for name in COMPONENTS]
    stages.write(after="\n".join(["FROM scratch AS compared", *copies, ""]))
    archive = folder / "layers.tar"
    done = stages.build("compared", "--output", f"type=tar,dest={archive}")
    assert done.returncode == 0, done.stderr[-4000:]
    with tarfile.open(archive) as opened:
        return {each.name: _entry(opened, each) for each in opened}


def _entry(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Entry:
    content = archive.extractfile(member) if member.isreg() else None
    digest = hashlib.sha256(content.read()).hexdigest() if content else ""
    # The three folders are made by the copying itself.
    date = 0 if member.name.strip("/") in COMPONENTS else member.mtime
    owner = (member.uid, member.gid)
    return (member.type, member.mode, *owner, date, member.linkname, digest)


@pytest.fixture(scope="module")
def target(project: Project) -> Target:
    return project.matrix().targets[MAIN]


def test_both_ways_of_installing_give_equal_layers(
    project: Project, target: Target, packages: PackageIndex, tmp_path: Path
) -> None:
    made = simulate(project, target, packages, project.artifacts)
    emulated = replace(target, cann=replace(target.cann, emulated=True))
    assert emulated.emulated
    assert not target.emulated
    native = _layers(project, target, made, packages, tmp_path / "native")
    assert native == _layers(project, emulated, made, packages, tmp_path / "emulated")
    tops = {"/".join(name.split("/")[:4]) for name in native}
    assert {f"{name}/usr/local/Ascend" for name in COMPONENTS} <= tops
    assert "toolkit/etc/Ascend/ascend_cann_install.info" in native
    changed = [name for name in native if name.endswith("/version.cfg")]
    assert {name.split("/")[0] for name in changed} == {"toolkit", "kernels"}


@pytest.mark.parametrize(
    ("toolkit", "kernels", "libraries"),
    [
        ("8.5.2", "8.5.2", "tools/aml/lib64"),
        ("9.0.0", "9.1.0", "lib64"),
        ("9.1.1", "9.1.1", "lib64"),
    ],
)
def test_the_newer_layout_is_installed_on_its_toolkit(
    project: Project,
    packages: PackageIndex,
    tmp_path: Path,
    toolkit: str,
    kernels: str,
    libraries: str,
) -> None:
    matrix = project.matrix()
    stock = matrix.targets[NEWER]
    # The lock is that of another release, and its wheels are not in these layers.
    release = replace(matrix.cann[toolkit], requirements=stock.cann.requirements)
    own = None if kernels == toolkit else matrix.cann[kernels]
    target = replace(stock, cann=release, kernels_release=own)
    made = simulate(project, target, packages, project.artifacts)
    found = _layers(project, target, made, packages, tmp_path / "layers")
    home = f"usr/local/Ascend/cann-{toolkit}"
    assert f"toolkit/{home}/share/info/runtime/version.info" in found
    assert f"kernels/{home}/aarch64-linux/ascend_ops_install.info" in found
    assert f"nnal/usr/local/Ascend/nnal/atb/{toolkit}/version.info" in found
    assert f"toolkit/{home}/{libraries}" in found
    name = f"kernels/{home}/opp/version.info"
    assert found[name][1] == INFO_MODE
    text = f"Version={kernels}\n"
    assert _content(tmp_path / "layers" / "layers.tar", name).startswith(text)


def _content(archive: Path, name: str) -> str:
    with tarfile.open(archive) as opened:
        stream = opened.extractfile(name)
        assert stream
        return stream.read().decode()
