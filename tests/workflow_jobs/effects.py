# SPDX-License-Identifier: Apache-2.0
"""The project before a workflow starts, and what the jobs must have done outside their machine."""

from __future__ import annotations

from pathlib import Path

from tests.unit.changes import git
from tests.workflow_jobs.place import REPOSITORY, Place
from tests.workflow_jobs.published import tags
from tests.workflows.steps import MAIN

_VERSIONS = "update/versions"
_OLD, _NEW = "torch_npu: 2.9.0.post7", "torch_npu: 2.9.0.post8"


def nothing(_: Place) -> None:
    """Change or expect nothing."""


def _server(place: Place) -> Path:
    return place.root / "server" / f"{REPOSITORY}.git"


def _changed(place: Place, branch: str) -> set[str]:
    """The files that the only commit of a job to ``branch`` changes."""
    names = git(_server(place), "diff", "--name-only", f"{branch}~1", branch)
    return set(names.splitlines())


def _branches(place: Place) -> list[str]:
    return git(_server(place), "branch", "--format=%(refname:short)").splitlines()


def page(place: Place) -> None:
    """The page is published."""
    assert MAIN in (place.root / "site" / "index.html").read_text(encoding="utf-8")


def built(place: Place) -> None:
    """There are the reports of all jobs that upload some."""
    names = {path.name for path in place.artifacts.iterdir()}
    assert names == {"reports-suite", "reports-1-of-1"}


def older(place: Place) -> None:
    """Let a target have an older torch_npu, of which compat.yaml says that it works, too."""
    matrix, compat = place.workspace / "matrix.yaml", place.workspace / "cannery/data/compat.yaml"
    text = matrix.read_text(encoding="utf-8")
    assert text.count(_NEW) == 1
    matrix.write_text(text.replace(_NEW, _OLD), encoding="utf-8")
    lines = compat.read_text(encoding="utf-8").splitlines(keepends=True)
    [row] = [line for line in lines if f"{{torch: 2.9.0, {_NEW}, cann: 9.1.1" in line]
    compat.write_text("".join(lines).replace(row, row + row.replace(_NEW, _OLD)), encoding="utf-8")


def older_with_request(place: Place) -> None:
    """Do the same where an earlier run of the workflow has opened a pull request."""
    older(place)
    opened = {"baseRefName": "main", "headRefName": _VERSIONS, "title": "Update", "body": "before"}
    place.service.pull_requests.opened.append(opened)


def _request(place: Place, branch: str) -> str:
    """The text of the only pull request for ``branch``."""
    opened = place.service.pull_requests.opened
    [request] = [each for each in opened if each["headRefName"] == branch]
    assert request["baseRefName"] == "main"
    return str(request["body"])


def proposed(place: Place) -> None:
    """A pull request has the newer torch_npu, and others have nothing of it."""
    assert _NEW in git(_server(place), "show", f"{_VERSIONS}:matrix.yaml")
    assert "matrix.yaml" in _changed(place, _VERSIONS)
    assert "2.9.0.post8 is newer than 2.9.0.post7" in _request(place, _VERSIONS)
    others = [name for name in _branches(place) if name.startswith("update/") and name != _VERSIONS]
    assert not [name for name in others if "matrix.yaml" in _changed(place, name)]


def edited(place: Place) -> None:
    """The earlier pull request has it, and no other was opened."""
    proposed(place)
    assert place.service.pull_requests.calls[-1] == "PATCH pulls"


def released(place: Place) -> None:
    """A pull request has the record of an image, which is simulated."""
    [branch] = [each for each in _branches(place) if each.startswith("records/")]
    [record] = [name for name in _changed(place, branch) if name.startswith("releases/")]
    assert '"simulated": true' in git(_server(place), "show", f"{branch}:{record}")
    assert any(each["headRefName"] == branch for each in place.service.pull_requests.opened)


def recorded(place: Place) -> None:
    """The record of an image is uploaded."""
    assert [*(place.artifacts / "records-npu").glob("*/*.json")]


def pushed(place: Place) -> None:
    """The registry has the image of the main target and its signature."""
    assert {f"{MAIN}-sim"} < {*tags(place)}
    assert any(name.endswith(".sig") for name in tags(place))
