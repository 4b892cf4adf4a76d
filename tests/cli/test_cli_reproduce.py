# SPDX-License-Identifier: Apache-2.0
"""``reproduce`` with names that mean nothing, and with records that do not fit the checkout."""

from __future__ import annotations

from pathlib import Path

from cannery.registry.records import Record
from tests.cli.checkout import Checkout
from tests.unit.changes import commit, git
from tests.unit.publications import keep, record

TARGET = "py39-torch231-cann8t39"


def write(checkout: Checkout, each: Record) -> str:
    return str(keep(checkout.project.releases, each).relative_to(checkout.root))


def test_names_that_mean_no_image(checkout: Checkout, tmp_path: Path) -> None:
    checkout.run("reproduce").refused(2, "the following arguments are required: REF")
    checkout.run("reproduce", "releases/x.json").refused(2, "there is no record releases/x.json.")
    checkout.run("reproduce", "team/ascend:x").refused(2, "does not name a registry.")
    nobody = ("reproduce", "example.com/ascend:x", "--ca", str(tmp_path / "none"))
    checkout.run(*nobody).refused(2, f"there is no file {tmp_path / 'none'}, named with --ca.")


def test_a_record_that_is_not_valid(checkout: Checkout) -> None:
    name = write(checkout, record(target=TARGET))
    (checkout.root / name).write_text("{", encoding="utf-8")
    checkout.run("reproduce", name).refused(9, "is not a valid record of a push")


def test_a_record_without_an_image(checkout: Checkout) -> None:
    name = write(checkout, record(target=TARGET, platforms={}))
    checkout.run("reproduce", name).refused(2, f"{name} has 0 platforms, and one is needed.")


def test_the_record_of_another_clone(repository: Checkout) -> None:
    name = write(repository, record(target=TARGET, commit="0" * 40))
    done = repository.run("reproduce", name)
    done.refused(2, f"this clone does not have {'0' * 40}, the commit of {name}. Fetch it: git")


def test_the_record_of_a_target_that_is_gone(repository: Checkout) -> None:
    name = write(repository, record(target="gone"))
    repository.run("reproduce", name).refused(2, f"does not have gone, the target of {name}.")


def test_the_record_of_another_commit(repository: Checkout) -> None:
    before = git(repository.root, "rev-parse", "HEAD")
    repository.edit("\ntqdm==4", "\ntqdm==3", f"images/{TARGET}/requirements.lock")
    commit(repository.root)
    name = write(repository, record(target=TARGET, commit=before))
    done = repository.run("reproduce", name)
    done.refused(4, f"the checkout differs from {before[:12]}, the commit of {name}, in ")
    assert f"worktree add {repository.root}-{before[:12]} {before}\n" in done.err
    assert f"build.py reproduce {repository.root / name}" in done.err


def test_a_local_image_needs_an_engine(original: Checkout) -> None:
    done = original.run("reproduce", TARGET)
    assert done.code == 6
    assert "docker" in done.err
