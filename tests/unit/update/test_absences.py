# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from packaging.version import Version

from cannery.common.errors import MatrixError
from cannery.compat import parse_compat
from cannery.compat.check_report import outdated
from cannery.lock.index_versions import Kind
from cannery.update.absences import APPLICATIONS, absence_questions, arrived
from tests.unit.compat_targets import COMPAT
from tests.unit.matrices import OWN_FACTS

QUESTIONS = absence_questions(COMPAT)


def test_what_is_recorded_as_absent_is_asked_for() -> None:
    wheels = {each.package for each in QUESTIONS if each.kind is Kind.WHEELS}
    assert wheels >= {"triton-ascend", "vllm-ascend", "torch-npu", "mindspore"}
    assert {each.package for each in QUESTIONS if each.kind is Kind.ANY} == {*APPLICATIONS}


def test_a_wheel_that_has_come_and_a_new_release_are_told() -> None:
    answers = {
        each: {
            ("triton-ascend", Kind.WHEELS): frozenset({Version("3.2.2"), Version("3.2.0")}),
            ("vllm-ascend", Kind.ANY): frozenset({Version("0.31.0rc1"), Version("0.30.0rc2")}),
            ("sglang", Kind.ANY): frozenset({Version("0.5.23")}),
        }.get((each.package, each.kind), frozenset())
        for each in QUESTIONS
    }
    come, new = arrived(COMPAT, answers)
    start = "triton-ascend 3.2.2 has wheels by now, for Python 3.10, 3.11, 3.12: "
    assert come.what.startswith(f"{start}names of wheels in package indexes, 2026-11-28, compat.y")
    assert new.what.startswith("vllm-ascend 0.31.0rc1: newer than 0.30.0rc2, the last one")
    assert not come.remark
    assert not new.moves
    assert [*arrived(COMPAT, dict.fromkeys(QUESTIONS, frozenset()))] == []


def test_a_fact_of_absence_is_old_after_thirty_days() -> None:
    sources = COMPAT.sources.values()
    early, late = "2026-12-28", "2026-12-29"
    cites = {source.cite for source in COMPAT.absences}
    assert any("SGLang" in each for each in cites)
    assert not [line for line in outdated(sources, early, COMPAT.absences) if "lacks" in line]
    told = [line for line in outdated(sources, late, COMPAT.absences) if "lacks" in line]
    assert len(told) == len(cites)
    assert all(line.endswith("'build.py update' looks for it.") for line in told)


def test_a_fact_of_absence_has_a_day_of_reading() -> None:
    text = OWN_FACTS.read_text(encoding="utf-8")
    wrong = text.replace("absent: true, source: sglang-wheels", "absent: true, source: sglang-0510")
    with pytest.raises(MatrixError, match="none of these sources has a day of reading"):
        parse_compat(wrong, "compat.yaml")
