# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.checkout import Checkout
from tests.unit.changes import commit

GITHUB = ("ci", "--format", "github", "--simulate")
FIRST = "py39-torch210-cann8rc2"


def rows(out: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(out)["include"]
    return found


def targets(out: str) -> set[str]:
    return {name for row in rows(out) for name in row["targets"].split()}


def test_all_simulatable_targets_are_listed_and_others_named(original: Checkout) -> None:
    done = original.run(*GITHUB)
    done.accepted("py38-torch210-cann8rc2: left out: it cannot be built without cpython-3.8.18")
    listed = json.loads(original.run("list", "--format", "json").out)
    assert targets(done.out) == {each["id"] for each in listed if not each["missing"]}
    assert f"{FIRST}: all targets are selected" in done.err
    assert original.run(*GITHUB, "--all").out == done.out


def test_without_vendor_files_there_is_nothing_to_do(original: Checkout) -> None:
    done = original.run("ci", "--format", "github")
    done.accepted("targets: 0 of ", "left out: it cannot be built without Ascend-cann-toolkit")
    assert rows(done.out) == []


def test_a_change_lists_the_affected_targets(repository: Checkout) -> None:
    assert rows(repository.run(*GITHUB, "--since", "first").out) == []
    edited = f"images/{FIRST}/Dockerfile"
    repository.edit("\nCMD", "\n# changed\nCMD", edited)
    repository.run(*GITHUB, "--since", "first").refused(2, f"these files have changed: {edited}.")
    commit(repository.root)
    # What is committed is out of sync now, which a build would say too.
    repository.edit("\n# changed\nCMD", "\nCMD", edited)
    repository.edit("\n", "\n\n", "cannery/image/context/seal-layer")
    assert repository.run("render").code == 0
    commit(repository.root)
    done = repository.run(*GITHUB, "--since", "first")
    done.accepted(f"{FIRST}: changed: cannery/seal-layer")
    assert targets(done.out) == targets(repository.run(*GITHUB).out)
    done = repository.run(*GITHUB, "--since", "first", "--where", "python=3.9", "torch=2.1")
    assert [row["targets"] for row in rows(done.out)] == [FIRST]


@pytest.mark.parametrize(
    "name",
    ["0" * 40, "--all", "\udcff"],
)
def test_a_missing_commit_selects_all_targets(repository: Checkout, name: str) -> None:
    done = repository.run(*GITHUB, f"--since={name}")
    done.accepted(f"{FIRST}: the commit ", " to compare with does not exist")
    assert targets(done.out) == targets(repository.run(*GITHUB).out)


def test_since_without_a_repository_is_refused(checkout: Checkout) -> None:
    env = {"GIT_CEILING_DIRECTORIES": str(checkout.root.parent)}
    checkout.run(*GITHUB, "--since", "HEAD", env=env).refused(6, "is in no git repository")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "--format"),
        (("--format", "github", "--shards", "257"), "Use a number from 1 to 256"),
        (("--format", "github", "--simulate", "--max-jobs", "2"), "more than the limit of 2"),
        (
            ("--format", "gitlab", "--simulate", "--shards", "3", "--max-jobs", "2"),
            "3 jobs are more than the limit of 2",
        ),
    ],
)
def test_bad_options(original: Checkout, arguments: tuple[str, ...], said: str) -> None:
    done = original.run("ci", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.messages[0]
