# SPDX-License-Identifier: Apache-2.0
"""``new``, run as a user runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.checkout import Checkout
from tests.cli.indexes import NEW, NOW, know


def lines_of(checkout: Checkout) -> list[str]:
    return (checkout.root / "matrix.yaml").read_text(encoding="utf-8").splitlines()


def test_new_shows_a_proposal_and_writes_nothing(original: Checkout) -> None:
    before = original.state()
    done = original.run("new", "--python", "3.10", "--torch", "2.6.0", "--cann", "8.3.RC1")
    done.accepted("nothing was written")
    assert "  py310-torch260-cann83rc1:\n" in done.out
    assert "    torch_npu: 2.6.0.post3\n" in done.out
    assert original.state() == before


@pytest.mark.parametrize(
    "options",
    [
        ("--python", "3.10", "--torch", "2.6.0", "--cann", "8.3.RC1"),
        ("--python", "3.9", "--torch", "2.2.0", "--cann", "8.0.RC2"),
        ("--python", "3.9.19", "--cann", "8.0.T39", "--id", "mine", "--deepspeed", "none"),
    ],
)
def test_new_writes_a_target_and_keeps_every_line(
    checkout: Checkout, options: tuple[str, ...]
) -> None:
    before = lines_of(checkout)
    done = checkout.run("new", *options, "--write")
    done.accepted("added ", "now run: python build.py sync, and then: python build.py build ")
    rest = iter(lines_of(checkout))
    assert all(line in rest for line in before), "a line is gone, or not in its place"
    name = done.err.split("build.py build ")[1].strip()
    assert name in checkout.run("list").out
    checkout.run("check", "--target", name).accepted()
    again = checkout.run("new", *options, "--write")
    if "--id" in options:
        again.refused(2, f"target {name} exists already. Build it: python build.py build {name}")
    else:
        again.accepted(f"build it: python build.py build {name}; or add another one with --id NAME")
        assert again.out.startswith(f"you have it: {name} (")


ADDED = ("new", "--python", "3.9.19", "--cann", "8.0.T39", "--id", "mine", "--write")


def test_new_writes_the_file_that_matrix_yaml_is_a_link_to(checkout: Checkout) -> None:
    real = checkout.root / "config" / "matrix.yaml"
    real.parent.mkdir()
    (checkout.root / "matrix.yaml").rename(real)
    (checkout.root / "matrix.yaml").symlink_to("config/matrix.yaml")
    checkout.run(*ADDED).accepted("added mine to matrix.yaml")
    assert "  mine:\n" in real.read_text(encoding="utf-8")
    assert (checkout.root / "matrix.yaml").is_symlink()


def test_new_writes_no_file_out_of_the_project(checkout: Checkout, tmp_path: Path) -> None:
    real = tmp_path / "theirs.yaml"
    (checkout.root / "matrix.yaml").rename(real)
    (checkout.root / "matrix.yaml").symlink_to(real)
    before = real.read_bytes()
    checkout.run(*ADDED).refused(9, f"it is a link to {real}, which is not below {checkout.root}")
    assert real.read_bytes() == before
    assert (checkout.root / "matrix.yaml").is_symlink()


def test_new_proposes_what_makers_call_compatible_if_asked(original: Checkout) -> None:
    done = original.run("new", "--python", "3.11", "--torch", "2.14.0", "--cann", "9.1.1")
    done.accepted("torch_npu 2.14.0 is paired with CANN 9.2.0, and compatible with CANN 9.1.1")
    assert "    cann: 9.1.1\n    torch: 2.14.0\n" in done.out


def test_new_takes_torch_for_x86_64_from_an_index_without_cuda(checkout: Checkout) -> None:
    options = ("--python", "3.12", "--platform", "linux/amd64", "--torch", "2.8.0", "--write")
    done = checkout.run("new", *options)
    done.accepted("added py312-torch280-cann900")
    assert [line.split(":")[0] for line in lines_of(checkout)].count("    torch_index") == 1
    checkout.run("check", "--target", "py312-torch280-cann900").accepted()


def test_new_needs_no_index_for_a_torch_that_is_a_file(checkout: Checkout) -> None:
    options = ("--python", "3.12", "--platform", "linux/amd64", "--torch", "2.13.0", "--write")
    checkout.run("new", *options).accepted("added ")
    assert not [line for line in lines_of(checkout) if "torch_index" in line]


ANSWERS = {
    "platform": ("--platform", "linux/amd64"),
    "python": ("--python", "3.11.15"),
    "chip": ("--chip", "910b"),
    "torch": ("--torch", "2.10.0"),
    "cann": ("--cann", "9.0.0"),
    "deepspeed": ("--deepspeed", "0.18.4"),
    "apex": ("--apex",),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_new_offers_a_target_only_if_it_has_every_answer(
    original: Checkout, answer: tuple[str, ...]
) -> None:
    asked = {"--python": "3.11", "--torch": "2.9.0", "--cann": "9.1.0", "--chip": "a3"}
    asked |= {answer[0]: answer[1]} if answer[1:] else {}
    words = [word for pair in asked.items() for word in pair] + [*answer[:1]] * (not answer[1:])
    done = original.run("new", *words)
    if done.code:
        # Nothing that is known has it.
        done.refused(3, "no known combination has ")
        return
    done.accepted()
    if done.out.startswith("you have it: "):
        name = done.out.split()[3]
        target = original.project.matrix().targets[name]
        assert answer[1:] or target.apex
        has = {
            "--platform": target.platform,
            "--python": target.python.version if answer[1:] == ("3.11.15",) else "3.11",
            "--chip": target.chip,
            "--torch": target.torch,
            "--cann": target.cann.version,
            "--deepspeed": target.deepspeed,
        }
        assert {key: has[key] for key in asked} == asked


def test_new_says_in_what_another_target_of_these_versions_differs(original: Checkout) -> None:
    words = ("new", "--python", "3.11", "--torch", "2.9.0", "--cann", "9.1.0", "--chip", "a3")
    mine = "py311-torch290-cann910-a3"
    original.run(*words).accepted(f"build it: python build.py build {mine}; or add another one")
    done = original.run(*words, "--platform", "linux/amd64")
    done.accepted(f"{mine} is another target (linux/arm64, Python 3.11.2, torch_npu 2.9.0.post8; ")
    assert f"  {mine}-amd64:\n    platform: linux/amd64\n" in done.out
    done = original.run("new", "--python", "3.11.15", *words[3:])
    done.accepted(f"{mine} is another target (linux/arm64, Python 3.11.2, ")
    assert "  py31115-torch290-cann910-a3:\n" in done.out
    done = original.run("new", "--python", "3.11.9", *words[3:])
    done.refused(3, "no python-build-standalone archive of Python 3.11.9 is known")
    assert " Base debian-12 has 3.11.2" in done.err


def test_new_knows_the_targets_of_families(original: Checkout) -> None:
    before = original.state()
    done = original.run(
        "new", "--python", "3.9", "--torch", "2.1.0", "--cann", "8.0.RC2", "--write"
    )
    done.accepted("or add another one with --id NAME")
    summary = "PyTorch 2.1.0 with apex and DeepSpeed 0.14.3 on CANN 8.0.RC2 for 910B"
    assert done.out == f"you have it: py39-torch210-cann8rc2 ({summary})\n"
    taken = ("--python", "3.11", "--id", "py311-torch290-cann910-a3")
    original.run("new", *taken, "--write").refused(2, "target py3")
    assert original.state() == before


@pytest.mark.parametrize("name", ["ascend910_9391", "Atlas A3"])
def test_a_chip_has_many_names(checkout: Checkout, name: str) -> None:
    know(checkout)
    done = checkout.run(
        "new", "--python", "3.11", "--torch", "2.9.0", "--cann", "9.1.0", "--chip", name
    )
    done.accepted(f"it has torch_npu {NOW}, and {NEW} is the newest for it")
    assert done.out.startswith("you have it: py311-torch290-cann910-a3 (")


WRONG_OPTIONS = {
    "no python": ((), 2, "--python"),
    "no minor": (
        ("--python", "3"),
        2,
        "argument --python: invalid Python version '3'. Write it as in 3.10",
    ),
    "id": (("--python", "3.9", "--id", "A B"), 2, "--id: invalid id 'A B'"),
    "cann": (("--python", "3.9", "--cann", "8"), 2, "'8' is not a CANN version"),
    "no such pair": (
        ("--python", "3.12", "--torch", "2.1.0"),
        3,
        "no known combination has python 3.12, torch 2.1.0, chip 910b. Known: --python",
    ),
    "refused deepspeed": (
        ("--python", "3.9", "--cann", "8.0.RC2", "--deepspeed", "0.10.0"),
        3,
        "deepspeed 0.10.0 does not work: it has an accelerator for the NPU, but neither",
    ),
    "chip": (
        ("--python", "3.9", "--cann", "8.0.RC2", "--chip", "b200"),
        2,
        "unknown chip 'b200'. Known: 310b",
    ),
}


@pytest.mark.parametrize(("options", "code", "message"), WRONG_OPTIONS.values(), ids=WRONG_OPTIONS)
def test_new_refuses_invalid_options(
    original: Checkout, options: tuple[str, ...], code: int, message: str
) -> None:
    before = original.state()
    original.run("new", *options, "--write").refused(code, message)
    assert original.state() == before
