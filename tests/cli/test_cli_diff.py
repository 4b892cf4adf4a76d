# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import pytest

from tests.cli.checkout import Checkout
from tests.unit.changes import commit
from tests.unit.publications import keep, record

TARGET = "py39-torch231-cann8t39"
OF_TARGET = ("--target", TARGET)


@pytest.fixture
def repository(repository: Checkout) -> Checkout:
    """The same with a second commit, which locks another version of tqdm."""
    repository.edit("\ntqdm==4", "\ntqdm==3", f"images/{TARGET}/requirements.lock")
    commit(repository.root)
    return repository


def test_two_commits(repository: Checkout) -> None:
    done = repository.run("diff", "first", "HEAD", *OF_TARGET)
    done.accepted()
    assert done.out.startswith(f"before  {TARGET} at first  commit\n")
    assert "\nwheels: 1 changed, " in done.out
    assert "changed" in done.out.partition("layers: ")[2]


def test_json_is_one_document(repository: Checkout) -> None:
    done = repository.run("diff", "first", "HEAD", *OF_TARGET, "--format", "json")
    done.accepted()
    found = json.loads(done.out)
    assert [*found["sections"]["wheels"]["changed"]] == ["tqdm"]
    assert found["differs"] is True
    assert found["before"]["name"] == f"{TARGET} at first"


def test_problems_of_both_sides_are_told_at_once(repository: Checkout) -> None:
    repository.run("diff", "frist", "HAED", *OF_TARGET).refused(
        2,
        "there is no commit 'frist'. Did you mean 'first'?",
        "there is no commit 'HAED'. Known: first, ma",
    )


def test_records_need_no_engine(checkout: Checkout) -> None:
    names = []
    for tag, version in (("full-0123456789ab", "2.1.0"), ("full-ba9876543210", "2.3.1")):
        each = record(tag=tag, packages={"wheels": {"torch": version}})
        path = keep(checkout.project.releases, each)
        names.append(str(path.relative_to(checkout.root)))
    done = checkout.run("diff", *names)
    done.accepted()
    assert "torch  2.1.0   2.3.1" in done.out
    assert "size: 100 B -> 100 B (+0 B), compressed" in done.out


def test_images_need_an_engine(original: Checkout) -> None:
    done = original.run("diff", TARGET, "cannery:other")
    assert done.code == 6
    assert "docker" in done.err


def test_a_checkout_without_commits(original: Checkout) -> None:
    done = original.run("diff", "HEAD", "HEAD~1", *OF_TARGET)
    done.refused(6, "is in no git repository. Run this in a clone of the project.")
