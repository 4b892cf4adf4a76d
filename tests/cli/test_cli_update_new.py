# SPDX-License-Identifier: Apache-2.0
"""``build.py update --new`` on an index of a few file names: what it says, and what it writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.checkout import Checkout
from tests.cli.indexes import LAST_KNOWN, Index, update_all

KNOWN = "app: MindSpeed-LLM v26.1.0", "app: MindSpeed-LLM v26.0.0"
"""A change after which no application has a release that is new."""

PAIR = f"PyTorch 2.9.0 with torch_npu {LAST_KNOWN} on CANN 9.2.0"


@pytest.mark.parametrize("options", [(), ("--write",)])
def test_unavailable_pairs_are_reported_and_not_written(
    checkout: Checkout, index: Index, options: tuple[str, ...]
) -> None:
    checkout.edit(*KNOWN, "cannery/data/compat.yaml")
    before = checkout.state()
    done = update_all(checkout, index, "--new", *options)
    done.accepted("there is nothing new that --write would add")
    message = " ".join(done.out.split())
    assert PAIR in message
    assert "'build.py new' adds a single target." in message
    assert checkout.state() == before


def test_check_fails_if_there_is_something_new(checkout: Checkout, index: Index) -> None:
    checkout.edit(*KNOWN, "cannery/data/compat.yaml")
    before = checkout.state()
    done = update_all(checkout, index, "--new", "--check")
    assert done.code == 4, done.err
    assert checkout.state() == before


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
    original: Checkout, index: Index, tmp_path: Path, text: str, message: str
) -> None:
    table = tmp_path / "table.md"
    table.write_bytes(text.encode("utf-8", "surrogateescape"))
    before = original.state()
    done = update_all(original, index, "--new", "--table", str(table), "--write")
    assert done.code != 0
    assert message in " ".join(done.err.split())
    assert "Traceback" not in done.err
    assert original.state() == before
