# SPDX-License-Identifier: Apache-2.0
"""The checks that users write: reading them, and judging what became of a command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cannery.common.errors import UsageError
from cannery.common.model import DeviceKind
from cannery.verify.audit.report import Standing
from cannery.verify.audit.user_checks import Ran, UserCheck, judge_ran, left_out, read_checks
from tests.unit.audits import user_check

CHECK = user_check("it trains", "train", output=r"loss \d", seconds=5, memory_mb=10)
RAN = Ran(code=0, output="step 1\nloss 2\n", seconds=1.5, timed_out=False, peak_kib=5000)


def judged(ran: Ran, check: UserCheck = CHECK) -> tuple[Standing, str]:
    result = judge_ran(check, ran, DeviceKind.NONE)
    assert result.check == "own/mine.yaml/it trains"
    assert result.sources == ("mine.yaml:1",)
    return result.standing, result.text


def test_a_pass() -> None:
    assert judged(RAN) == (Standing.PASSED, "it trains (1.5 s)")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"code": 1}, "it ended with code 1, not 0"),
        ({"output": "nothing"}, r"its output has no 'loss \\d'. It printed: nothing"),
        ({"timed_out": True, "code": -9}, "it took more than 5 s"),
        ({"peak_kib": 20480}, "it used 20 MB of memory, and 10 MB are allowed"),
    ],
)
def test_failures(change: dict[str, object], text: str) -> None:
    standing, said = judged(replace(RAN, **change))  # type: ignore[arg-type]
    assert standing is Standing.BROKEN
    assert text in said


def test_a_memory_limit_without_a_measurement() -> None:
    assert judged(replace(RAN, peak_kib=-1))[0] is Standing.NOT_OURS
    check = CHECK.model_copy(update={"memory_mb": 0})
    assert judged(replace(RAN, peak_kib=-1), check)[0] is Standing.PASSED


def test_too_few_cards() -> None:
    [result] = left_out([CHECK, CHECK.model_copy(update={"cards": 16})], 8, DeviceKind.SIMULATED)
    assert result.standing is Standing.NOT_RUN
    assert "needs 16 cards, and device simulated has 8" in result.text


def test_reading(tmp_path: Path) -> None:
    text = """\
schema: 1
checks:
  - {name: a, command: "true"}
  - {name: b, command: x, device: true, cards: 2, seconds: 9, memory_mb: 7, exit_code: 1}
  - {name: c, command: x, device: true}
"""
    (tmp_path / "one.yml").write_text(text, encoding="utf-8")
    checks, has_tests = read_checks(tmp_path)
    assert [each.cards for each in checks] == [0, 2, 1]
    assert (checks[1].seconds, checks[1].memory_mb, checks[1].exit_code) == (9, 7, 1)
    assert not has_tests
    (tmp_path / "test_x.py").touch()
    assert read_checks(tmp_path)[1]


def test_every_mistake_is_named(tmp_path: Path) -> None:
    text = """\
schema: 1
checks:
  - {name: a, command: x, output: "(", seconds: soon}
  - {name: a, comand: x}
  - {command: x, exit_code: 256}
"""
    (tmp_path / "one.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_checks(tmp_path)
    for what in (
        "one.yaml:3:35: checks[0].output: '(' is not a regular expression",
        "one.yaml:3:49: checks[0].seconds: 'soon' is not a number",
        "Did you mean 'command'?",
        "checks[2] has no 'name'",
        "'256' should be less than or equal to 255",
    ):
        assert what in str(caught.value)
    text = "schema: 1\nchecks: [{name: a, command: x}, {name: a, command: x}]"
    (tmp_path / "one.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="two checks have the name 'a'"):
        read_checks(tmp_path)


def test_folders_without_checks(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"neither \*.yaml nor test_\*.py"):
        read_checks(tmp_path)
    with pytest.raises(UsageError, match="there is no folder"):
        read_checks(tmp_path / "none")
