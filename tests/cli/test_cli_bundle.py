# SPDX-License-Identifier: Apache-2.0
"""bundle and --from-bundle on bad input: refused before an engine is asked for anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.building.bundle import Contents, pack
from cannery.verify.results import state_keys
from tests.cli.checkout import Checkout

MAIN = "py39-torch231-cann8t39"
TARGET = ["--target", MAIN]


@pytest.fixture
def bundle(original: Checkout, tmp_path: Path) -> Path:
    """A bundle for the main target that has the right manifest and none of the files."""
    target = original.project.matrix().targets[MAIN]
    keys = {MAIN: state_keys(original.project)(target, True)}
    folder = tmp_path / "tree"
    folder.mkdir()
    contents = Contents(simulate=True, targets=keys, commit="1234abcd" * 5, engine="29.1.0")
    pack(folder, contents, tmp_path / "x.bundle")
    return tmp_path / "x.bundle"


def test_an_invalid_bundle_is_refused(original: Checkout, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no bundle")
    result = original.run(*TARGET, "--from-bundle", str(tmp_path / "text"))
    result.refused(5, "is not a valid bundle")
    result = original.run(*TARGET, "--from-bundle", str(tmp_path / "none"))
    result.refused(2, "none, named with --from-bundle.")


def test_a_target_outside_the_bundle_is_refused(checkout: Checkout, bundle: Path) -> None:
    other = ["--target", "py38-torch210-cann8rc2"]
    result = checkout.run(*other, "--from-bundle", str(bundle))
    result.refused(2, f"does not have py38-torch210-cann8rc2. It has {MAIN}.")
    result = checkout.run("--where", "python=3.11", "--from-bundle", str(bundle))
    result.refused(2, f"has no target that is selected. It has {MAIN}.")


def test_a_bundle_of_another_checkout(checkout: Checkout, bundle: Path) -> None:
    lock = checkout.root / "images" / MAIN / "requirements.lock"
    lock.write_text(lock.read_text() + "# changed\n")
    result = checkout.run("--from-bundle", str(bundle))
    result.refused(4, f"was made from other files than this checkout has for {MAIN}. Its checkout")
    assert "at commit 1234abcd" in result.err


@pytest.mark.parametrize(
    "words", [["--artifacts", "x"], ["--index-url", "http://x"], ["--builder", "x"], ["--plan"]]
)
def test_a_bundle_refuses_conflicting_options(original: Checkout, words: list[str]) -> None:
    result = original.run(*TARGET, "--from-bundle", "x", *words)
    result.refused(2, "cannot be combined")
    assert words[0] in result.err


def test_nowhere_to_write(checkout: Checkout, tmp_path: Path) -> None:
    """Said before anything is built."""
    result = checkout.run("bundle", *TARGET, "--simulate", "--out", str(tmp_path))
    result.refused(9, f"cannot write {tmp_path}")


def test_missing_files_make_no_bundle(checkout: Checkout, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    result = checkout.run("bundle", *TARGET, "--out", str(tmp_path / "x" / "y.bundle"))
    assert result.code in {5, 6}
    assert [*(tmp_path / "x").iterdir()] == []
