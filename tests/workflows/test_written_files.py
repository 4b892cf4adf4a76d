# SPDX-License-Identifier: Apache-2.0
"""What the commands of the workflows write reaches the pull requests that the workflows open."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from cannery.cli.commands import load
from tests.unit.changes import git
from tests.workflows.steps import MAIN, STEPS, WORKFLOWS, Machine, Step

GATHER, PROPOSE = "update/update/Gather the proposal", "update/propose/Open a pull request"

NOT_PROPOSED = ("index.html", "build.py")
"""The page, which goes into the folder of --out, and the program, which a text only names."""


def _commands() -> set[str]:
    """The commands that run in a job that gathers, and push, whose records are gathered."""
    jobs = [job for content in WORKFLOWS.values() for job in content["jobs"].values()]
    scripts = ["\n".join(step.get("run", "") for step in job["steps"]) for job in jobs]
    gathering = [script for script in scripts if ".ci/gather" in script]
    found = {name for script in gathering for name in re.findall(r"build\.py (\w+)", script)}
    assert {"update", "lock", "render", "catalog"} <= found
    return {*found, "push"}


def _written(checkout: Path) -> Iterator[str]:
    """A file for each path in the help of a command after "writes", and new files of a target."""
    for name in sorted(_commands()):
        paths = re.findall(r"[\w./-]*\w(?:/|\.\w+)(?:ID/)?", load(name).writes)
        for path in (each for each in paths if each not in NOT_PROPOSED):
            folder = checkout / path.replace("ID", MAIN)
            if not path.endswith("/"):
                yield path
            elif path == "releases/":
                yield f"releases/{MAIN}/{MAIN}-0123456789ab.json"
            else:
                files = [each for each in sorted(folder.rglob("*")) if each.is_file()]
                by_kind = {each.suffix or each.name: each for each in files}
                assert by_kind, path
                yield from (str(each.relative_to(checkout)) for each in by_kind.values())
    yield f"images/{MAIN}/build-requirements.lock"
    yield "images/a-new-target/Dockerfile"


def _run(machine: Machine, step: Step) -> str:
    machine.fake("gh")
    values = {"GH_TOKEN": "x", "BASE": "main", "BRANCH": "proposed", "TITLE": "New"}
    done = machine.run(step, values)
    assert done.code == 0, done.said
    return done.said


def test_every_file_that_a_command_writes_is_proposed(machine: Machine) -> None:
    checkout = machine.checkout
    names = {*_written(checkout)}
    assert {"cannery/image/context/requirements.txt", "matrix.yaml", "compat.yaml"} <= names
    assert {"docs/targets.md", "README.md"} <= names
    assert {name.partition("/")[0] for name in names} >= {"images", "releases", "cannery"}
    for name in names:
        path = checkout / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as stream:
            stream.write("# changed\n")
    (machine.folder / "temp" / "body.md").write_text("news\n", encoding="utf-8")
    _run(machine, STEPS[GATHER])
    git(checkout, "reset", "--quiet", "--hard")
    said = _run(machine, STEPS[PROPOSE])
    changed = git(machine.folder / "server.git", "diff", "--name-only", "main", "proposed")
    assert {*changed.splitlines()} == names
    assert "leaves out" not in said
