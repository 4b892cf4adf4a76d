# SPDX-License-Identifier: Apache-2.0
"""Bad input ends in one clear message and a documented code, and changes nothing."""

from __future__ import annotations

import re
import shutil

import pytest

from tests.cli.checkout import Checkout

LAST = "py39-torch231-cann8t39"
OTHER = "py39-torch210-cann8rc2"

# What is replaced in matrix.yaml, by what, the text that the message points at, what it says.
MISTAKES = {
    "misspelt key": (
        "torch_npu: 2.3.1.post2, deepspeed: 0.15.0",
        "torch_npi: 2.3.1.post2, deepspeed: 0.15.0",
        "torch_npi: 2",
        f"unknown key 'torch_npi' in targets.{LAST}. Did you mean 'torch_npu'?",
    ),
    "duplicate key": (
        "torch: 2.3.1, torch_npu: 2.3.1.post2",
        "torch: 2.3.1, torch: 2.1.0, torch_npu: 2.3.1.post2",
        "torch: 2.1.0, torch_npu: 2.3.1",
        "'torch' is given twice, first in line ",
    ),
    "key in two parts of a target": (
        "deepspeed: 0.15.0}",
        "deepspeed: 0.15.0, base: debian-12}",
        "base: debian-12}\n    common",
        "'base' is in pair torch231-cann8t39, and already in common of training. To use this one",
    ),
    "wrong type": ("torch: 2.3.1,", "torch: [2.3.1],", "[2.3.1]", "must be text, not a list."),
    "bad yaml": ("leave_out:\n", "leave_out:\n\tx: 1\n", "\tx: 1", "this is not YAML"),
}


@pytest.mark.parametrize(("old", "new", "at", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_the_matrix(
    checkout: Checkout, old: str, new: str, at: str, said: str
) -> None:
    checkout.edit(old, new)
    before = checkout.state()
    result = checkout.run("list")
    result.refused(3, said)
    assert result.messages[0].startswith(checkout.place(at))
    assert checkout.state() == before


def test_several_mistakes_are_listed_in_the_order_of_the_file(checkout: Checkout) -> None:
    checkout.edit("torch: 2.3.1,", "torch: {},")
    checkout.edit("suite: bookworm", "siute: bookworm")
    checkout.edit("source: standalone", "source: standalon")
    checkout.edit("build_base: debian-12", "build_base: none")
    before = checkout.state()
    result = checkout.run("render")
    result.refused(3, "'siute'", "'standalon'", "'none'", "must be text, not a mapping")
    places = [message.split(":")[:2] for message in result.messages]
    found = [(name, int(line)) for name, line in places]
    assert found == sorted(found)
    assert checkout.state() == before


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "matrix.yaml:1:1: the file is empty."),
        (b"\xff\xfe\x00", "matrix.yaml:1:1: this is not UTF-8 text"),
        (b"\x00", "matrix.yaml:1:1: the character U+0000 cannot be in a YAML file."),
    ],
)
def test_an_unreadable_matrix_is_refused(checkout: Checkout, content: bytes, said: str) -> None:
    (checkout.root / "matrix.yaml").write_bytes(content)
    checkout.run("list").refused(3, said)


def test_no_matrix(checkout: Checkout) -> None:
    (checkout.root / "matrix.yaml").unlink()
    result = checkout.run("list")
    result.refused(9, f"cannot read {checkout.root}/matrix.yaml: no such file or directory.")
    assert result.messages[0].endswith("Check that it is there and that you may read it.")


@pytest.mark.parametrize("text", ["a: [", "schema: 1\nrepository: A B\n"])
def test_check_and_render_report_a_wrong_publish_yaml(checkout: Checkout, text: str) -> None:
    (checkout.root / "publish.yaml").write_text(text, encoding="utf-8")
    for command in (["check"], ["render", "--check"]):
        done = checkout.run(*command)
        assert done.code == 3, command
        assert "publish.yaml:" in done.err, command


def test_an_unlocked_target_is_refused(checkout: Checkout) -> None:
    shutil.rmtree(checkout.root / "images" / LAST)
    before = checkout.state()
    for command in (["render"], ["render", "--check"], ["--target", LAST, "--simulate"]):
        checkout.run(*command).refused(
            3, f"{LAST} is not locked. Run 'python build.py lock --target {LAST}'."
        )
    assert checkout.state() == before


def test_all_targets_that_are_not_locked_are_named(checkout: Checkout) -> None:
    for name in (OTHER, LAST):
        shutil.rmtree(checkout.root / "images" / name)
    said = (f"{name} is not locked. " for name in (OTHER, LAST))
    checkout.run("render", "--check").refused(3, *said)


def test_a_lock_that_is_no_text(checkout: Checkout) -> None:
    path = checkout.root / "images" / LAST / "requirements.lock"
    path.write_bytes(b"\xff\xfe\x00")
    result = checkout.run("render", "--target", LAST)
    result.refused(9, f"{path} is not UTF-8 text")


LOCKS = {
    "another version": ("torch==2.3.1 ", "torch==2.4.0 ", "torch==2.3.1 is locked as 2.4.0."),
    "missing": ("deepspeed==0.15.0 ", "deepsleep==0.15.0 ", "deepspeed==0.15.0 is not locked."),
    "no hash": (
        "pip==26",
        "pip==26.0\n    # via -r pip.in\npip==26",
        "the lock lists no single file for pip.",
    ),
}


@pytest.mark.parametrize(("old", "new", "said"), LOCKS.values(), ids=LOCKS)
def test_a_mismatched_lock_is_refused(checkout: Checkout, old: str, new: str, said: str) -> None:
    checkout.edit(f"\n{old}", f"\n{new}", f"images/{LAST}/requirements.lock")
    before = checkout.state()
    result = checkout.run("render")
    result.refused(3, said)
    assert re.match(rf"images/{LAST}/requirements\.lock:[0-9]+:1: ", result.messages[0])
    assert result.messages[0].endswith(f"Run 'python build.py lock --target {LAST}'.")
    assert checkout.state() == before


def test_an_invalid_template_is_refused(checkout: Checkout) -> None:
    checkout.edit("{{ target.id }}", "{{ target.di }}", "cannery/image/templates/Dockerfile.j2")
    before = checkout.state()
    said = "cannery/image/templates/Dockerfile.j2:5:1: Dockerfile.j2 cannot be rendered for"
    checkout.run("render", "--target", LAST).refused(3, f"{said} {LAST}")
    checkout.run("render").refused(3, said)
    assert checkout.state() == before
