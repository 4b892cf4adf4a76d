# SPDX-License-Identifier: Apache-2.0
"""``build.py update --new`` on an index of a few file names: what it says, and what it writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.matrix.project import Project
from cannery.update.propose_applications import application_questions
from tests.cli.checkout import Checkout
from tests.cli.indexes import LAST_KNOWN, Index, update_all
from tests.unit.matrices import CHECKOUT

PACKAGES = {each.package for each in application_questions(Project(root=CHECKOUT).matrix())}
PAIR = f"PyTorch 2.9.0 with torch_npu {LAST_KNOWN} on CANN 9.2.0"


@pytest.fixture
def full_index(index: Index) -> Index:
    """An index that has an old version of every application, too."""
    index.add(*(f"{package.replace('-', '_')}-0.0.1.tar.gz" for package in PACKAGES))
    return index


@pytest.mark.parametrize("options", [(), ("--write",)])
def test_what_cannot_be_had_is_said_and_not_written(
    original: Checkout, full_index: Index, options: tuple[str, ...]
) -> None:
    before = original.state()
    done = update_all(original, full_index, "--new", *options)
    done.accepted("there is nothing new that --write would add")
    message = " ".join(done.out.split())
    assert PAIR in message
    assert "'build.py new' adds a single target." in message
    assert "Proposed for removal: py38-torch210-cann8rc2" in message
    assert original.state() == before


def test_check_fails_if_there_is_something_new(original: Checkout, full_index: Index) -> None:
    before = original.state()
    done = update_all(original, full_index, "--new", "--check")
    assert done.code == 4, done.err
    assert original.state() == before


def test_an_index_without_a_package_is_an_error(original: Checkout, index: Index) -> None:
    before = original.state()
    done = update_all(original, index, "--new", "--write")
    assert done.code != 0
    assert "pip" in done.err
    assert original.state() == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<html>Log in</html>", "has no table with columns for PyTorch, TorchNPU and CANN."),
        ("\N{NULL}\udcff", "this is not UTF-8 text"),
        (
            "| CANN | PyTorch | TorchNPU |\n|--|--|--|\n| soon | 2.9.0 | 2.9.0 |\n",
            "this row cannot be read",
        ),
    ],
)
def test_a_bad_table_changes_nothing(
    original: Checkout, full_index: Index, tmp_path: Path, text: str, message: str
) -> None:
    table = tmp_path / "table.md"
    table.write_bytes(text.encode("utf-8", "surrogateescape"))
    before = original.state()
    done = update_all(original, full_index, "--new", "--table", str(table), "--write")
    assert done.code != 0
    assert message in " ".join(done.err.split())
    assert "Traceback" not in done.err
    assert original.state() == before


def test_new_and_deepspeed_exclude_each_other(original: Checkout, index: Index) -> None:
    done = update_all(original, index, "--new", "--deepspeed")
    assert done.code == 2
    assert "--deepspeed" in done.err
