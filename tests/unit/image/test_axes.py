# SPDX-License-Identifier: Apache-2.0
"""What images on other bases, for other chips and for other machines have in common."""

from __future__ import annotations

import pytest

from cannery.common.bases import PythonSource
from cannery.common.model import Target
from cannery.image.environment import python_paths
from cannery.image.layers import Layer
from cannery.image.plan import plan_image
from cannery.lock.lock_file import read_lock
from cannery.matrix.project import Project
from tests.unit.matrices import CHECKOUT

REAL = Project(root=CHECKOUT)


def layers(target: Target) -> dict[str, Layer]:
    return {layer.name: layer for layer in plan_image(target, read_lock(REAL, target)).layers}


@pytest.mark.parametrize("platform", ["linux/arm64", "linux/amd64"])
def test_chips_of_one_release_share_the_toolkit_and_all_wheels(platform: str) -> None:
    targets = [
        target
        for target in REAL.matrix().targets.values()
        if (target.cann.version, target.platform) == ("9.1.0", platform)
        and (target.torch, target.python.minor, target.deepspeed) == ("2.9.0", "3.11", "0.18.4")
    ]
    assert {target.chip for target in targets} == {"310p", "910", "910b", "a3", "950"}
    found = [layers(target) for target in targets]
    for name in found[0]:
        kinds = {each[name].identity for each in found}
        # NNAL's stage is on top of the kernels. Its files are the same for all chips.
        own = name in ("kernels", "nnal", "cann-python", "guard")
        assert len(kinds) == (len(targets) if own else 1), name


def test_the_same_on_another_machine_shares_no_program() -> None:
    targets = REAL.matrix().targets
    names = ("py39-mindspore271-cann83rc1", "py39-mindspore271-cann83rc1-amd64")
    arm, amd = (layers(targets[name]) for name in names)
    assert [*arm] == [*amd]
    assert not {each.identity for each in arm.values()} & {each.identity for each in amd.values()}
    files = targets[names[1]].artifacts.values()
    assert {file.name for file in files if "aarch64" in file.name} == set()


@pytest.mark.parametrize("name", ["ubuntu-22.04", "openeuler-24.03"])
def test_files_are_compiled_only_where_the_machine_can_have_the_interpreter(name: str) -> None:
    found = [t for t in REAL.matrix().targets.values() if t.base.name == name]
    own = [t for t in found if t.python.source is PythonSource.BASE]
    assert own
    assert {python_paths(target).compiled for target in own} == {()}
    debian = REAL.matrix().targets["torch290-cann910-910b-debian13-py313"]
    paths = python_paths(debian)
    assert paths.site_packages in paths.compiled
