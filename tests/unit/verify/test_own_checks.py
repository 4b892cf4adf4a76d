# SPDX-License-Identifier: Apache-2.0
"""The image tests of a project beside those of cannery: which run, and that results know them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.errors import FileError
from cannery.common.model import DeviceKind, Target
from cannery.engine import containers
from cannery.matrix.project import Project
from cannery.registry import records
from cannery.verify import results, run_checks
from cannery.verify.image_checks import (
    checks_digest,
    checks_version,
    expected,
    own_digest,
    own_tests,
)
from cannery.verify.results import Basis, Verified, known_results
from tests.unit.matrices import CHECKOUT, load
from tests.unit.verify.test_checked_container import docker

TEST = "def test_motd(host):\n    assert host.run('true').rc == 0\n"
CARD = f"import pytest\n\n@pytest.mark.device\n{TEST}"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Of the installed tool: a folder with matrix.yaml and nothing else."""
    return Project(root=tmp_path / "team")


@pytest.fixture
def target(tmp_path: Path) -> Target:
    return load(tmp_path).targets["full"]


def write(project: Project, **files: str) -> None:
    for name, text in files.items():
        path = project.own_checks / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def own(project: Project, target: Target, kind: DeviceKind, *only: str) -> list[str]:
    """The project's own checks that a run must report."""
    return sorted(n for n in expected(project, target, kind, only) if n.startswith("checks/"))


def test_files_are_for_all_targets_and_those_of_a_folder_for_its_component(
    project: Project, target: Target
) -> None:
    write(project, test_all=TEST, torch__test_more=CARD, vllm__test_served=TEST)
    assert own(project, target, DeviceKind.NONE) == ["checks/test_all.py::test_motd"]
    device = ["checks/torch/test_more.py::test_motd"]
    assert own(project, target, DeviceKind.SIMULATED) == device
    assert own(project, target, DeviceKind.SIMULATED, "torch") == device
    assert own(project, target, DeviceKind.NONE, "python") == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("torhc__test_a", "is in the folder of no component. Did you mean 'torch'?"),
        ("torch__deep__test_a", "is in the folder of no component."),
    ],
)
def test_a_folder_that_no_target_would_ever_use(
    project: Project, target: Target, name: str, said: str
) -> None:
    write(project, **{name: TEST})
    with pytest.raises(FileError) as caught:
        own_tests(project, target)
    assert said in str(caught.value)


def test_a_file_that_is_no_python(project: Project, target: Target) -> None:
    write(project, test_odd="def test_(:\n")
    with pytest.raises(FileError, match=r"test_odd\.py is no file of tests: .*line 1"):
        expected(project, target, DeviceKind.NONE)


def test_a_changed_file_makes_results_older(project: Project, target: Target) -> None:
    project.root.mkdir()
    assert own_digest(project) == ""
    before = checks_digest(project)
    write(project, test_all=TEST)
    (project.own_checks / "words.txt").write_text("a", encoding="utf-8")
    after, digest = checks_digest(project), own_digest(project)
    assert before != after
    tested = records.Tested(
        device="none", date="2026-11-28", hardware="x", passed=1, failed=0, not_run=0
    )
    checks = checks_version(project)
    result = Verified.of(
        tested, simulated=False, key=f"sha256:{0:064}", checks=checks, own_checks=digest
    )
    path = results.path_of(project.root, target.id)
    project.write({path: results.to_text([result])})

    def basis() -> Basis:
        known = known_results(project, [target], [], lambda *_: result.key)
        return known[target.id][0].basis

    assert basis() is Basis.CURRENT
    (project.own_checks / "words.txt").write_text("b", encoding="utf-8")
    assert checks_digest(project) != after
    assert basis() is Basis.OLDER


def test_results_of_a_project_without_checks_of_its_own_do_not_name_them() -> None:
    for path in (CHECKOUT / "verified").glob("*.yaml"):
        assert "own_checks" not in path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_they_run_with_the_others_and_are_reported(
    project: Project, target: Target, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    docker(monkeypatch, tmp_path, "exit 0")
    monkeypatch.setattr(containers, "require_room", lambda _: None)
    write(project, test_all=TEST, torch__test_more=CARD)
    checked = run_checks.CheckedImage(container="c1", kind=DeviceKind.NONE, name="full")
    files = own_tests(project, target)
    must = own(project, target, DeviceKind.NONE)
    record = tmp_path / "target.json"
    record.write_text('{"components": []}', encoding="utf-8")
    words = [str(project.checks / "os"), "-k", "no_such_test", "--record", str(record)]
    checks = run_checks.image_tests_in(project, checked, words, must, files)
    outcomes = {check.name: check.outcome for check in checks}
    assert outcomes == {
        "checks/test_all.py::test_motd": "passed",
        "checks/torch/test_more.py::test_motd": "not run",
    }
