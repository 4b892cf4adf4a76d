# SPDX-License-Identifier: Apache-2.0
"""New releases of applications: which are known, for which chips, and what is written of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from packaging.version import Version

from cannery.common.model import Target
from cannery.common.package_index import PackageIndex
from cannery.lock import resolve
from cannery.lock.index_versions import Kind, Question
from cannery.matrix.project import Project
from cannery.update.new_applications import (
    application_questions,
    new_releases,
    newest_applications,
    unanswered,
)
from cannery.update.new_pairs import Proposals, propose_pairs
from tests.copies import copy_tree
from tests.policy.conftest import PROJECT
from tests.unit.compat_targets import COMPAT
from tests.unit.matrices import CHECKOUT

MATRIX = PROJECT.matrix()
TODAY = "2026-11-28"


def answered(**versions: Iterable[str]) -> dict[Question, frozenset[Version]]:
    """What an index has of each application: its own version, and those of ``versions``."""
    return {
        question: frozenset(map(Version, versions.get(question.package.replace("-", "_"), ())))
        | ({Version(application.version)} if (application := target.application) else set())
        for question in application_questions(MATRIX)
        for target in [newest_applications(MATRIX)[question.package]]
    }


def releases(package: str, **versions: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Newer release of ``package`` to the chips of its sources, newest first."""
    every = [each for of in new_releases(MATRIX, COMPAT, answered(**versions)) for each in of]
    return {str(each.version): each.chips for each in every if each.package == package}


def test_each_application_is_asked_for_by_the_package_with_its_version() -> None:
    packages = {"vllm-ascend", "sglang", "llamafactory", "ms-swift", "verl", "opencompass"}
    assert {*newest_applications(MATRIX)} >= packages | {"mindspore"}
    questions = application_questions(MATRIX)
    assert {question.kind for question in questions} == {Kind.ANY}
    assert newest_applications(MATRIX)["vllm-ascend"].application.version == "0.23.0"  # type: ignore[union-attr]


def test_final_releases_of_the_index_and_candidates_of_a_source_are_new() -> None:
    new = releases("vllm-ascend", vllm_ascend=["0.31.0rc1", "0.31.0"])
    assert [*new][:3] == ["0.31.0", "0.30.0rc2", "0.30.0rc1"]
    assert "0.23.0" not in new
    assert new["0.26.0rc1"] == ("310p", "910b", "950", "a3")
    # Without a source the chips are those of the targets with the application.
    assert releases("llamafactory", llamafactory=["0.9.6"]) == {"0.9.6": ("910b", "a3")}


def test_an_application_that_no_index_has_is_told() -> None:
    told = unanswered(MATRIX, answered() | {each: [] for each in application_questions(MATRIX)})
    assert "application mindspeed-llm-26.1.0: the package index has no mindspeed_llm 26.1.0" in told
    assert unanswered(MATRIX, answered()) == []


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A checkout in which everything can be locked, without images."""
    copy_tree(CHECKOUT / "cannery/data", tmp_path / "cannery/data")
    for name in ("matrix.yaml", "publish.yaml"):
        (tmp_path / name).write_text(
            (CHECKOUT / name).read_text(encoding="utf-8"), encoding="utf-8"
        )

    def lock(_project: Project, target: Target, *_: object) -> str:
        return f"# the lock of {target.id}\n"

    monkeypatch.setattr(resolve, "lock_target", lock)
    return Project(root=tmp_path)


def proposals(project: Project, answers: Mapping[Question, Iterable[Version]]) -> Proposals:
    source = PackageIndex(ca=None, index_url="")
    return propose_pairs(project, source, (), TODAY, answers)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_release_is_proposed_for_its_chips_in_one_run_and_the_others_are_refused(
    project: Project,
) -> None:
    result = proposals(project, answered(llamafactory=["0.9.6"], vllm_ascend=["0.31.0"]))
    stem = "py311-torch2100-cann910"
    assert result.targets == (
        f"{stem}-vllm0260-triton-910b",
        f"{stem}-llamafactory096-910b",
        f"{stem}-llamafactory096-a3",
    )
    text = " ".join(result.text.split())
    # The newest final release has no source, and newer candidates have no wheels.
    assert "vllm-ascend 0.31.0: nothing is written for these chips." in text
    assert "-> 310p, 910b, 950, a3: 'vllm-ascend' is refused: package indexes have only sd" in text
    assert "vllm-ascend 0.29.0rc1, 0.28.0rc1, 0.27.1rc1: nothing is written for these" in text
    assert "-> 310p, 950, a3: 'vllm-ascend' is refused: its wheels" in text
    assert f"{stem}-vllm0260-triton-910b (unverified: its requirements are those of" in text
    for path, content in result.files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    targets = project.matrix().targets
    a3 = targets[f"{stem}-llamafactory096-a3"]
    assert (a3.chip, a3.components["llamafactory"], a3.torch_npu) == ("a3", "0.9.6", "2.10.0.post4")
    vllm = targets[f"{stem}-vllm0260-triton-910b"]
    assert vllm.unverified.startswith("its requirements are those of vllm-0.23.0")
    assert {"vllm-ascend==0.26.0rc1"} <= {*vllm.requirements}
    assert vllm.summary == "vLLM 0.26.0 for 910b"
    again = proposals(project, answered(llamafactory=["0.9.6"]))
    assert "llamafactory" not in again.text
