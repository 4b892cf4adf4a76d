# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from cannery.registry.records import path_of, to_text
from tests.cli.checkout import Checkout
from tests.unit.publications import record

TARGET = "py39-torch231-cann8t39"


def test_notes_of_published_and_other_targets(checkout: Checkout) -> None:
    published = record(target=TARGET)
    path = path_of(checkout.root / "releases", published)
    path.parent.mkdir(parents=True)
    path.write_text(to_text(published), encoding="utf-8")
    done = checkout.run("notes", "--target", TARGET, "--target", "py39-torch210-cann8rc2")
    done.accepted()
    assert done.out.count("\n## Known issues\n") == 2
    assert done.out.count("Not published yet.") == 1
    assert f"docker pull registry.example.com/ascend:{published.tag}" in done.out


def test_a_record_that_was_edited_is_refused(checkout: Checkout) -> None:
    path = checkout.root / "releases" / TARGET / "old.json"
    path.parent.mkdir(parents=True)
    path.write_text("{", encoding="utf-8")
    checkout.run("notes", "--target", TARGET).refused(9, "is not a valid record of a push")


def test_an_unknown_target(checkout: Checkout) -> None:
    checkout.run("notes", "--target", "py39-torch231").refused(2, "py39-torch231-cann8t39")
