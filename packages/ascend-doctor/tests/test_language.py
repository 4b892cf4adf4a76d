# SPDX-License-Identifier: Apache-2.0
"""A Chinese locale gets Chinese; ids, codes, variables and commands stay."""

from __future__ import annotations

import configparser
import json
import re
import string
from pathlib import Path

import pytest

from ascend_doctor import language
from ascend_doctor.causes import causes
from ascend_doctor.command import main
from ascend_doctor.log_report import cause_document
from ascend_doctor.report import paragraph
from ascend_doctor.table import load_table
from tests.hosts import SimulatedHost, run_doctor
from tests.log_cases import case_log

FOLDER = Path(language.__file__).parent
TABLES = ("causes", "findings", "known")


def rows(name: str) -> dict[str, dict[str, str]]:
    parser = configparser.ConfigParser(interpolation=None, comment_prefixes=("#",))
    parser.read(FOLDER / name, encoding="utf-8")
    return {each: dict(parser[each]) for each in parser.sections() if each != "sources"}


def fields(text: str) -> set[str]:
    return {field for _, field, _, _ in string.Formatter().parse(text) if field}


@pytest.fixture
def chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LC_ALL", raising=False)
    monkeypatch.delenv("LC_MESSAGES", raising=False)
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")


@pytest.mark.parametrize("table", TABLES)
def test_every_text_is_there_in_both_languages_with_the_same_values(table: str) -> None:
    english, chinese = rows(f"{table}.ini"), rows(f"{table}.zh.ini")
    assert english.keys() == chinese.keys()
    for name, row in chinese.items():
        assert {*row} == {*english[name]} & {
            "what",
            "named",
            "why",
            "mend",
            "mend_named",
            "native",
        }, name
        for key, text in row.items():
            assert fields(text) == fields(english[name][key]), (name, key)
        assert any("\u4e00" <= c <= "\u9fff" for c in row["why"]), name


@pytest.mark.parametrize("table", TABLES)
def test_codes_and_variables_stay(table: str) -> None:
    english, chinese = rows(f"{table}.ini"), rows(f"{table}.zh.ini")
    for name, row in chinese.items():
        whole = " ".join(row.values())
        for text in (english[name]["what"], english[name]["mend"]):
            for word in re.findall(r"\b(?:[A-Z]+_[A-Z_]{3,}|E[A-Z]\d{4}|\d{6})\b", text):
                assert word in whole, (name, word)


def test_a_chinese_locale(
    chinese: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = case_log("shared", "13-opp-kernel-missing", tmp_path)
    assert main(["--log", log]) == 8
    said = capsys.readouterr().out
    assert said.startswith("错误: CANN 找不到某个算子的 kernel")
    assert "[kernels-missing]" in said
    assert "处理:" in said
    assert main(["--log", log, "--json"]) == 8
    [root] = [e for e in json.loads(capsys.readouterr().out)["findings"] if e["role"] == "root"]
    assert (root["id"], root["severity"], root["sure"]) == ("kernels-missing", "error", "likely")
    assert root["what"].startswith("CANN 找不到")


def test_other_locales_and_the_order_of_variables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for values, found in (
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, ""),
        ({"LANG": "C", "LC_MESSAGES": "zh_TW.UTF-8"}, "zh"),
        ({"LANG": "de_DE.UTF-8"}, ""),
        ({}, ""),
    ):
        for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
            monkeypatch.delenv(variable, raising=False)
        for variable, value in values.items():
            monkeypatch.setenv(variable, value)
        assert language.language() == found


def test_a_host_in_chinese(
    chinese: None, host: SimulatedHost, capsys: pytest.CaptureFixture[str]
) -> None:
    host.environment["ASCEND_RT_VISIBLE_DEVICES"] = "1,0"
    assert run_doctor(host) == 8
    said = capsys.readouterr().out
    assert "ASCEND_RT_VISIBLE_DEVICES=1,0 不是升序。" in said
    assert said.endswith("ascend-doctor: 1 错误.\n")
    assert load_table()["driver-old"].why.startswith("CANN 会调用")


@pytest.mark.parametrize("name", causes())
def test_a_chinese_finding_is_short(chinese: None, name: str) -> None:
    place = {"file": "/data/rank-0.log", "line": 1203, "count": 7, "rank": 3, "text": "x" * 300}
    here = {"here": "y" * 200} if causes()[name].versions else {}
    said = paragraph({**cause_document(causes()[name]), **place, **here})
    assert len(said.splitlines()) <= 20
