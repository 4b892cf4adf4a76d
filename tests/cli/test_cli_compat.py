# SPDX-License-Identifier: Apache-2.0
"""``check`` and ``explain``, run as a user runs them, and the help of both and of ``new``."""

from __future__ import annotations

import re

import pytest

from cannery.common import console
from tests.cli.checkout import Checkout

LAST = "py39-torch231-cann8t39"
FIRST = "py38-torch210-cann8rc2"


def test_check_begins_with_the_overall_result(original: Checkout) -> None:
    done = original.run("check")
    done.accepted()
    head, *others = done.out.splitlines()
    said = r"\d+ targets checked: nothing is known of \d+ unjudged applications; all others are "
    assert re.fullmatch(rf"{said}known to work\.", head)
    assert "1 target: not judged: no source has opencompass 0.3.9 with torch 2.3.1" in others[2]


def test_check_of_all_targets_names_unused_definitions(checkout: Checkout) -> None:
    unused = "  cpython-3.12.0: {version: 3.12.0, source: debian, base: debian-12}\n"
    checkout.edit("families:\n", f"pythons:\n{unused}families:\n")
    last = checkout.run("check").out.splitlines()[-1]
    assert last == "No target uses pythons: cpython-3.12.0."
    assert "No target uses" not in checkout.run("check", "--target", LAST).out


# What is replaced (the first time it is in matrix.yaml), by what, where the message points at,
# what it says. Each breaks one fact.
BROKEN = {
    "torch_npu of another CANN": (
        "torch_npu: 2.3.1.post2",
        "torch_npu: 2.3.1.post4",
        "2.3.1.post4",
        "Nearest known: change torch_npu to 2.3.1.post2 (CANN 8.0.RC3, Ascend/pytorch@HEAD",
    ),
    "kernels of another chip": (
        "    download: none\n    chips: [910b]",
        (
            "    download: none\n"
            "    kernels: {910b: {file: Ascend-cann-kernels-310p_8.0.T39_linux.run}}"
        ),
        "Ascend-cann-kernels-310p",
        "it is for chip 310p, and the target's chip is 910b",
    ),
    "Python outside the range": (
        "version: 3.8.18",
        "version: 3.7.18",
        "cpython-3.8.18}",
        "torch_npu 2.1.0.post6 has no wheel for Python 3.7 in package indexes, only for 3.8, 3.9",
    ),
    "public release that does not fit": (
        "nearest_public: 8.0.RC3",
        "nearest_public: 8.0.RC1",
        "2.3.1.post2",
        "not known to work on CANN 8.0.T39 (interim, judged as 8.0.RC1)",
    ),
}


@pytest.mark.parametrize(("old", "new", "anchor", "said"), BROKEN.values(), ids=BROKEN)
def test_one_broken_fact_is_caught_by_name_and_line(
    checkout: Checkout, old: str, new: str, anchor: str, said: str
) -> None:
    checkout.edit(old, new)
    before = checkout.state()
    done = checkout.run("check")
    assert (done.code, done.out) == (3, "")
    assert any(checkout.place(anchor) in each and said in each for each in done.messages), done.err
    assert checkout.state() == before


def test_check_refuses_a_document_read_in_the_future(checkout: Checkout) -> None:
    checkout.edit("read: 2026-11-25", "read: 2226-11-25", "cannery/data/compat.yaml")
    lines = (checkout.root / "cannery/data/compat.yaml").read_text(encoding="utf-8").splitlines()
    number, line = next((n, each) for n, each in enumerate(lines, 1) if "2226-11-25" in each)
    place = f"cannery/data/compat.yaml:{number}:{line.index('2226') + 1}: "
    done = checkout.run("check", "--target", LAST)
    done.refused(3, f"{place}'read' is 2226-11-25, and today is ")


def test_compat_yaml_must_be_there(installed: Checkout) -> None:
    (installed.root / "cannery/data/compat.yaml").unlink()
    for command in ("list", "check", "render"):
        missing = f"cannot read {installed.root}/cannery/data/compat.yaml: no such file"
        installed.start(command).refused(9, missing)


def test_a_reason_lets_the_unknown_through_and_is_shown(checkout: Checkout) -> None:
    checkout.edit(
        "torch_npu: 2.3.1.post2, ",
        "torch_npu: 2.3.1.post4, unverified: our own build, ",
    )
    done = checkout.run("check")
    done.accepted()
    assert f"{LAST}: unverified: our own build\n" in done.out
    assert "nothing is known of 1 unverified component" in done.out
    explained = checkout.run("explain", LAST)
    assert "  UNVERIFIED: our own build\n" in explained.out
    assert "torch_npu [unknown]: " in explained.out


def test_an_unneeded_reason_is_reported(checkout: Checkout) -> None:
    checkout.edit("deepspeed: 0.15.0", "deepspeed: 0.15.0, unverified: it was new")
    done = checkout.run("check")
    done.accepted()
    assert "all of its components are known; remove 'unverified' if it" in done.out


def test_check_of_a_target_shows_its_problems_and_counts_those_of_others(
    checkout: Checkout,
) -> None:
    checkout.edit("torch_npu: 2.3.1.post2", "torch_npu: 2.3.1.post4")
    whole = checkout.run("check")
    [problem] = [each for each in whole.messages if "2.3.1.post4" in each]
    concerned = checkout.run("check", LAST)
    concerned.refused(
        3, "torch_npu 2.3.1.post4 and torch 2.3.1 are not known to work on CANN 8.0.T"
    )
    assert problem in concerned.messages
    others = checkout.run("check", "--target", FIRST)
    number = len(whole.messages)
    what = f"{number} problem{'s' * (number > 1)} of other targets, here is the first. 'python"
    others.refused(3, what)
    assert others.messages[0].partition(" ")[0] == whole.messages[0].partition(" ")[0]
    assert "2.3.1.post4" not in others.err


def test_explain_names_the_row_of_each_component(original: Checkout) -> None:
    done = original.run("explain", LAST)
    done.accepted()
    for component in ("python", "torch_npu", "kernels", "nnal", "driver", "deepspeed", "numpy"):
        assert re.search(rf"^  {component}( \[\w+\])?: ", done.out, re.MULTILINE), component
    assert "CANN 8.0.T39 is an interim build; it is judged as 8.0.RC3." in done.out
    rows = (original.root / "cannery/data/compat.yaml").read_text(encoding="utf-8").splitlines()
    cited = re.findall(r"COMPATIBILITY\.md, 2026-08-21, compat\.yaml:(\d+)", done.out)
    assert cited
    assert all("torch_npu: 2.3.1.post2" in rows[int(number) - 1] for number in cited)


def test_explain_shows_both_sides_of_a_disagreement(original: Checkout) -> None:
    out = original.run("explain", FIRST).out
    assert "protobuf [disputed]: 'protobuf==3.20.3' is known to work; another source" in out
    assert re.search(r"^      by       Ascend/cann-container-image", out, re.MULTILINE)
    assert re.search(r"^      against  ascend_deployer", out, re.MULTILINE)


def test_explain_shows_differing_rows_and_all_with_verbose(
    original: Checkout,
) -> None:
    short = original.run("explain", FIRST).out
    whole = original.run("explain", FIRST, "--verbose").out
    for part in ("package: protobuf, pin: ==3.13.*", "against  ascend_deployer"):
        assert part in short, part
    assert "https://" not in short
    assert {*short.splitlines()} < {*whole.splitlines()}
    assert "maker, rank 1: https://github.com/Ascend/pytorch" in whole


@pytest.mark.parametrize(
    "words", [("explain", "py39-torch231-cann8t39"), ("build", "--plan", "py39-torch231-cann8t39")]
)
def test_texts_fit_the_terminal(
    original: Checkout, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr(console, "width", lambda: 60)
    lines = original.run(*words).out.splitlines()
    assert len(lines) > 5
    for line in lines:
        # What is one word, and a command, which is to be copied, is not divided.
        assert len(line) <= 60 or " " not in line.strip() or line.startswith("  command "), line
