# SPDX-License-Identifier: Apache-2.0
"""The language of texts for people: Chinese in a Chinese locale, else English."""

from __future__ import annotations

import functools
import os

from .ini import read_ini

CHINESE = "zh"
_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")
_WORDS = {
    "error": "错误",
    "warning": "警告",
    "note": "提示",
    "errors": "错误",
    "warnings": "警告",
    "notes": "提示",
    "log:    ": "日志:",
    "here:   ": "版本:",
    "why:    ": "原因:",
    "fix:    ": "处理:",
    "sure:   ": "把握:",
    "source": "来源",
    "certain": "确定",
    "likely": "很可能",
    "possible": "可能",
    "times": "次",
    "rank": "rank",
    "standard input": "标准输入",
    "no findings": "没有发现问题",
    "Follows from it:": "随之而来:",
    "Harmless, or the run went on:": "无害,或之后运行仍在继续:",
    "no failure that is known was found.": "没有发现已知的失败。",
    "The last line that looks like one is": "最后一行像失败的是",
    "Not read:": "没有读取:",
    "names:  ": "涉及:",
    "at": "位于",
    "by": "依据",
    "operator": "算子",
    "remote rank": "对端 rank",
    "address": "地址",
    "chip": "芯片",
    "Look at the log of rank {} first.": "先看 rank {} 的日志。",
    "Read {} first.": "先看 {}。",
    "The log says: '{}'": "日志说:'{}'",
    "Also try a newer release of {}, whose code called it.": "也可以试 {} 的新版本,是它的代码调用的。",
}


def language() -> str:
    """``zh`` in a Chinese locale, else empty."""
    for variable in _VARIABLES:
        value = os.environ.get(variable, "")
        if value:
            return CHINESE if value.lower().startswith("zh") else ""
    return ""


def word(english: str) -> str:
    """A word of the report in the language of the user."""
    return _WORDS.get(english, english) if language() else english


def texts(table: str, name: str) -> dict[str, str]:
    """The texts of a row of ``table`` in the language of the user; none if that is English."""
    return _texts(table).get(name, {}) if language() else {}


@functools.lru_cache(maxsize=None)
def _texts(table: str) -> dict[str, dict[str, str]]:
    return read_ini(__name__, f"{table}.{CHINESE}.ini")
