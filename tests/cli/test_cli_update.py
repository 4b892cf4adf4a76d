# SPDX-License-Identifier: Apache-2.0
"""``build.py update`` on an index of a few file names, of which a program in pip's place tells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cannery.cli import cmd_update
from cannery.lock.index_versions import ask
from tests.cli.checkout import Checkout, Result
from tests.cli.indexes import (
    LAST_KNOWN,
    NEW,
    NOW,
    TARGETS,
    USED,
    Index,
    know,
    matrix,
    update,
    update_all,
)

CHANGED = "was changed by another process meanwhile, so nothing was written. Run the command again."


@pytest.mark.parametrize("options", [(), ("--write",), ("--check",), ("--write", "--deepspeed")])
def test_nothing_is_newer(original: Checkout, index: Index, options: tuple[str, ...]) -> None:
    before = original.state()
    done = update(original, index, *options)
    done.accepted("the package index has nothing newer that calls for a change")
    assert done.out == ""
    assert original.state() == before


def test_a_torch_npu_without_a_row_is_told_and_nothing_is_written(
    original: Checkout, index: Index
) -> None:
    index.add_torch_npu(NEW)
    index.add_torch_npu("2.99.0", "cp314-cp314-manylinux_2_28_aarch64")
    before = original.state()
    done = update_all(original, index, "--write")
    done.accepted("there is nothing in it that --write would put into matrix.yaml")
    assert "torch_npu 2.99.0: compat.yaml has no row for this series.\n" in done.out
    assert (
        f"torch_npu {NEW}: newer than {LAST_KNOWN}, the last 2.9.0 that is known here.\n"
        in done.out
    )
    assert all(f"    {name}\n" in done.out for name in TARGETS)
    assert "Add its row to compat.yaml from COMPATIBILITY.md" in " ".join(done.out.split())
    assert original.state() == before


def test_changes_are_shown_and_not_written_without_write(checkout: Checkout, index: Index) -> None:
    know(checkout)
    index.add_torch_npu(NEW)
    before = checkout.state()
    done = update(checkout, index)
    done.accepted("nothing was written; add --write")
    assert done.out.splitlines() == [
        f"torch_npu {NEW} is newer than {NOW}, and compat.yaml has it for the same CANN.",
        *(f"    {name}" for name in TARGETS),
        "  -> With --write these targets take it.",
        "",
    ]
    assert checkout.state() == before


def test_write_changes_the_version_and_no_other_character(checkout: Checkout, index: Index) -> None:
    know(checkout)
    index.add_torch_npu(NEW)
    index.add("deepspeed-0.18.5.tar.gz")
    before = matrix(checkout)
    done = update(checkout, index, "--write")
    done.accepted(f"torch_npu {NOW} is now {NEW}", "now run: python build.py sync")
    assert matrix(checkout) == before.replace(USED, USED.replace(NOW, NEW), 1)


def test_write_keeps_the_line_ends(checkout: Checkout, index: Index) -> None:
    know(checkout)
    index.add_torch_npu(NEW)
    before = matrix(checkout).replace("\n", "\r\n").encode()
    path = checkout.root / "matrix.yaml"
    path.write_bytes(before)
    update(checkout, index, "--write").accepted(f"{NOW} is now {NEW}")
    assert path.read_bytes() == before.replace(USED.encode(), USED.replace(NOW, NEW).encode(), 1)


def test_deepspeed_moves_only_if_asked_for(checkout: Checkout, index: Index) -> None:
    index.add("deepspeed-0.18.5.tar.gz")
    before = matrix(checkout)
    done = update(checkout, index, "--write")
    done.accepted("there is nothing in it that --write would put")
    assert "deepspeed 0.18.5 is newer than 0.18.4, and compat.yaml allows it.\n" in done.out
    assert "With --deepspeed --write these targets take it." in done.out
    assert matrix(checkout) == before
    update(checkout, index, "--write", "--deepspeed").accepted("deepspeed 0.18.4 is now 0.18.5")
    assert matrix(checkout) == before.replace("deepspeed: 0.18.4", "deepspeed: 0.18.5")


def test_check_ends_with_a_code_of_its_own(original: Checkout, index: Index) -> None:
    index.add_torch_npu(NEW)
    before = original.state()
    done = update(original, index, "--check")
    assert f"torch_npu {NEW}: newer than {LAST_KNOWN}" in done.out
    Result(code=done.code, out="", err=done.err).refused(4, "1 thing is newer than matrix.yaml")
    assert original.state() == before


WRONG = {
    "certificate": (("--ca", "/nonexistent"), "there is no file /nonexistent, named with --ca."),
    "value": (("--deepspeed", "0.19.0"), "there is no target '0.19.0'"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
def test_wrong_use(
    original: Checkout, index: Index, arguments: tuple[str, ...], message: str
) -> None:
    before = original.state()
    update(original, index, *arguments).refused(2, message)
    assert original.state() == before


@pytest.mark.parametrize(
    ("pip", "message"),
    [
        ("No module named pip", " has no pip."),
        ("unknown command 'index'", " (1):\nunknown command 'index'\n"),
    ],
)
def test_update_needs_a_usable_pip(
    original: Checkout, index: Index, tmp_path: Path, pip: str, message: str
) -> None:
    (tmp_path / "pip" / "pip.py").write_text(f'raise SystemExit("{pip}")', encoding="utf-8")
    done = update(original, index)
    done.refused(6, message)
    assert "'bash setup.sh' installs" in done.err


def test_a_matrix_yaml_changed_during_the_queries_is_kept(
    checkout: Checkout, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(checkout)
    index.add_torch_npu(NEW)

    def slowly(*arguments: Any) -> Any:
        with (checkout.root / "matrix.yaml").open("a", encoding="utf-8") as stream:
            stream.write("# of somebody else\n")
        return ask(*arguments)

    monkeypatch.setattr(cmd_update, "ask", slowly)
    done = update(checkout, index, "--write")
    assert (done.code, done.messages) == (9, [f"{checkout.root}/matrix.yaml {CHANGED}"])
    assert matrix(checkout).endswith("# of somebody else\n")


@pytest.mark.parametrize(
    ("count", "option", "message"),
    [
        (0, "--check", "apt resolves what is recorded"),
        (2, "", "nothing was written; add --write to record them"),
        (2, "--write", "recorded for 2 targets; now run: python build.py render"),
    ],
)
def test_packages_of_apt(
    original: Checkout, monkeypatch: pytest.MonkeyPatch, count: int, option: str, message: str
) -> None:
    asked: list[bool] = []

    def compared(*_: Any, write: bool) -> int:
        asked.append(write)
        return count

    monkeypatch.setattr(cmd_update, "update_packages", compared)
    original.run("update", "--packages", *filter(None, [option])).accepted(message)
    assert asked == [option == "--write"]


def test_a_check_fails_for_other_packages_of_apt(
    original: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cmd_update, "update_packages", lambda *_, write: 2)  # noqa: ARG005
    message = "apt resolves other packages than those recorded for 2 targets."
    done = original.run("update", "--packages", "--check")
    done.refused(4, f"{message} Run 'python build.py update --packages --write'.")
