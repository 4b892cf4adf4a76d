# SPDX-License-Identifier: Apache-2.0
"""What uv is asked for a target with a wheel that is built from an sdist."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cannery.common.errors import MatrixError, UsageError
from cannery.common.package_index import PackageIndex
from cannery.lock.index_versions import check_upgrades
from cannery.lock.lock_file import INPUTS
from cannery.lock.requirements import Requirements
from cannery.lock.resolve import lock_build_requirements, lock_target, write_locks
from tests.unit.built_wheels import built_checkout
from tests.unit.matrices import Checkout
from tests.unit.uv_standin import put_in_place

INDEX = PackageIndex(ca=None, index_url="")
UV = """
import json, os, pathlib, sys
files = {path.name: path.read_text() for path in pathlib.Path().iterdir()}
with open(os.environ["UV_NOTE"], "a") as note:
    note.write(json.dumps([sys.argv[1:], files]) + "\\n")
if said := os.environ.get("UV_SAYS"):
    sys.exit(said)
pathlib.Path(sys.argv[sys.argv.index("--output-file") + 1]).write_text("# resolved\\n")
"""
"""Notes what it is asked; fails with UV_SAYS."""

Noted = Callable[[], list[tuple[list[str], dict[str, str]]]]


@pytest.fixture
def noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Noted:
    package = tmp_path / "stand-in" / "uv"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(UV, encoding="utf-8")
    put_in_place(package.parent, tmp_path / "note", monkeypatch)
    return lambda: [
        (argv, files)
        for argv, files in map(json.loads, (tmp_path / "note").read_text().splitlines())
    ]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    (tmp_path / "checkout").mkdir()
    return built_checkout(tmp_path / "checkout")


def test_its_sdist_is_locked_without_running_it(checkout: Checkout, noted: Noted) -> None:
    lock_target(checkout.project, checkout.matrix.targets["served"], [], INDEX)
    argv, files = noted()[0]
    assert files["built-serve_npu.in"] == "serve-npu==1.1\n"
    assert argv[argv.index("serve-npu") - 1] == "--no-binary"
    stated = '[[dependency-metadata]]\nname = "serve-npu"\nversion = "1.1"\nrequires-dist = []\n'
    assert [each["uv.toml"] for _, each in noted()] == [stated] * len(noted())


def test_a_target_without_one_states_nothing(checkout: Checkout, noted: Noted) -> None:
    lock_target(checkout.project, checkout.matrix.targets["other"], [], INDEX)
    assert {files["uv.toml"] for _, files in noted()} == {""}


def test_what_builds_it_is_locked_apart(checkout: Checkout, noted: Noted) -> None:
    target = checkout.matrix.targets["served"]
    text = lock_build_requirements(checkout.project, target, ["wheel"], INDEX)
    argv, files = noted()[0]
    assert f"{INPUTS}{Requirements(target).build_digest}\n" in text
    inputs = {name: each for name, each in files.items() if name.endswith(".in")}
    assert inputs == {"pip.in": "pip>=23\n", "serve_npu.in": "setuptools<81\nwheel\n"}
    assert argv[argv.index("--python-version") + 1] == "3.9.2"
    assert argv[argv.index("--upgrade-package") + 1] == "wheel"
    assert "--no-binary" not in argv


def test_both_locks_are_written(checkout: Checkout, noted: Noted) -> None:
    target = checkout.matrix.targets["served"]
    checkout.project.build_lock.parent.mkdir(parents=True, exist_ok=True)
    done = write_locks(checkout.project, [target], [], INDEX)
    assert not done.failures
    assert {path.name for path in done.changed} == {
        *("build-requirements.lock", "requirements.lock", "requirements.txt")
    }


def test_a_version_that_the_index_lacks_is_told_with_its_line(
    checkout: Checkout, noted: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "No solution found: there is no version of serve-npu==1.1"
    monkeypatch.setenv("UV_SAYS", said)
    with pytest.raises(MatrixError) as caught:
        lock_target(checkout.project, checkout.matrix.targets["served"], [], INDEX)
    lines = (checkout.project.root / "matrix.yaml").read_text(encoding="utf-8").splitlines()
    [line] = [number for number, each in enumerate(lines, 1) if "serve-npu==1.1" in each]
    assert f"matrix.yaml:{line}:" in str(caught.value)
    assert said in str(caught.value)
    assert len(noted()) == 1


def test_build_requirements_can_be_upgraded(checkout: Checkout) -> None:
    targets = [checkout.matrix.targets["served"]]
    check_upgrades(checkout.project, targets, ["wheel"])
    with pytest.raises(UsageError, match="no selected target has a package 'whel'"):
        check_upgrades(checkout.project, targets, ["whel"])
