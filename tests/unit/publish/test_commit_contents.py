# SPDX-License-Identifier: Apache-2.0
"""A target at two commits of a repository."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cannery.building.git import NoRepositoryError
from cannery.common.errors import CanneryError, MatrixError, UsageError
from cannery.lock.debs import Deb, debs_text
from cannery.matrix.project import Project
from cannery.publish.difference import Difference, SideKind, commit_contents, difference
from tests.unit.changes import commit, git, render
from tests.unit.matrices import DIGEST, Checkout


@pytest.fixture
def project(checkout: Checkout) -> Project:
    root = checkout.project.root
    render(checkout.project)
    git(root, "init", "--quiet")
    commit(root)
    git(root, "tag", "first")
    return checkout.project


def compared(project: Project) -> Difference:
    """The target ``full`` before the last change, compared with after it."""
    render(project)
    commit(project.root)
    return difference(
        commit_contents(project, "first", "full"), commit_contents(project, "HEAD", "full")
    )


def test_a_commit_is_equal_to_itself(project: Project) -> None:
    contents = commit_contents(project, "first", "full")
    assert (contents.kind, contents.size) == (SideKind.COMMIT, None)
    assert contents.sections["components"]["torch"] == "2.3.1"
    assert contents.sections["components"]["chip"] == "910b"
    assert contents.files["wheels"]["torch"] == (
        f"torch-2.3.1-py3-none-any.whl (sha256 {DIGEST[:12]})"
    )
    assert not difference(contents, commit_contents(project, "HEAD", "full")).differs


def test_another_version_is_found_where_it_has_effects(project: Project) -> None:
    path = project.lock(project.matrix().targets["full"])
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("sympy==1.14.0", "sympy==1.13.1"), encoding="utf-8")
    result = compared(project)
    sections = {n: each for n, each in result.sections.items() if each.differs}
    assert sections["wheels"].changed == {"sympy": ("1.14.0", "1.13.1")}
    assert {*sections["rendered files"].changed} == {"Dockerfile"}
    assert {*sections} == {"wheels", "rendered files"}
    changed = [layer.name for layer in result.layers if layer.state != "equal"]
    assert changed == ["wheels-torch-deps", "guard"]


def test_another_file_of_the_same_version_is_found(project: Project) -> None:
    path = project.lock(project.matrix().targets["full"])
    text = path.read_text(encoding="utf-8")
    new = "sympy-1.14.0-cp39-cp39-linux_aarch64.whl"
    path.write_text(text.replace("sympy-1.14.0-py3-none-any.whl", new), encoding="utf-8")
    files = compared(project).sections["files of wheels"]
    assert {*files.changed} == {"sympy"}
    assert files.changed["sympy"][1].startswith(new)


def test_other_packages_of_apt_are_found(project: Project) -> None:
    path = project.packages_lock(project.matrix().targets["full"])
    curl = Deb(name="curl", version="1", architecture="arm64", sha256="a" * 64)
    path.write_text(debs_text("", {"os": [curl]}), encoding="utf-8")
    render(project)
    commit(project.root)
    git(project.root, "tag", "--force", "first")
    path.write_text(debs_text("", {"os": [replace(curl, version="2")]}), encoding="utf-8")
    result = compared(project)
    sections = {n: each for n, each in result.sections.items() if each.differs}
    assert sections["debian"].changed == {"curl": ("1", "2")}
    assert {*sections["rendered files"].changed} == {"Dockerfile"}
    assert [layer.name for layer in result.layers if layer.state != "equal"] == ["os"]


def test_a_change_of_the_build_programs_is_found(project: Project) -> None:
    program = project.build_context / "seal-layer"
    program.write_text("other\n", encoding="utf-8")
    result = {n: each for n, each in compared(project).sections.items() if each.differs}
    assert "seal-layer" in result["build programs"].changed


UNKNOWN: dict[str, tuple[str, str, str]] = {
    "a commit": ("frist", "full", "there is no commit 'frist'. Did you mean 'first'?"),
    "a target": ("first", "ful", "there is no target 'ful' at first. Did you mean 'full'?"),
}


@pytest.mark.parametrize(("revision", "target", "message"), UNKNOWN.values(), ids=UNKNOWN)
def test_unknown_names_get_a_suggestion(
    project: Project, revision: str, target: str, message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        commit_contents(project, revision, target)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("matrix.yaml", None, "HEAD has no matrix.yaml."),
        ("matrix.yaml", "targets: {", "HEAD:matrix.yaml:"),
        ("images/full/requirements.lock", None, "there is no HEAD:images/full/requirements.lock."),
        (
            "images/full/requirements.lock",
            "what\n",
            "HEAD:images/full/requirements.lock:1:1: invalid line in a lock: 'what'.",
        ),
    ],
)
def test_a_commit_needs_a_valid_matrix_and_lock(
    project: Project, name: str, text: str | None, message: str
) -> None:
    path = project.root / name
    if text is None:
        path.unlink()
    else:
        path.write_text(text, encoding="utf-8")
    commit(project.root)
    with pytest.raises(MatrixError) as caught:
        commit_contents(project, "HEAD", "full")
    assert str(caught.value).startswith(message)


def test_a_folder_without_a_repository_has_no_commits(checkout: Checkout) -> None:
    with pytest.raises(NoRepositoryError, match="is in no git repository"):
        commit_contents(checkout.project, "HEAD", "full")


def test_an_option_is_no_commit(project: Project) -> None:
    with pytest.raises(CanneryError, match="there is no commit '--all'"):
        commit_contents(project, "--all", "full")
