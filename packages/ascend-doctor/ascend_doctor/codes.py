# SPDX-License-Identifier: Apache-2.0
"""The catalogue of error codes, which is the file codes.tsv, and the codes in a line of a log."""

from __future__ import annotations

import pkgutil
import re
from typing import NamedTuple

from .lazy import once


class Code(NamedTuple):
    """An error code of the catalogue, with who says so and since when."""

    code: str
    name: str
    meaning: str
    source: str


_SIX = re.compile(
    r"(?:error ?code|errcode|errorno|errno|ret|retcode|return|result|status|failed|failure)"
    r"[^\w\n]{0,4}(?:is|=|:|code)?[^\w\n]{0,4}\b([1-9]\d{5})(?!\d|\.\d)",
    re.IGNORECASE | re.ASCII,
)
_EXT = re.compile(r"(?<![A-Za-z0-9])(E[A-Z1-9]\d{4}|ERR\d{5})(?![0-9])", re.ASCII)
_HCCL = re.compile(
    r"(?:(?:HCCL (?:function )?error(?: in)?: .*|[Hh]ccl\w+ error, )error code is |hcclRet -> "
    r"|errNo\[0x0{8}05)(\w+)"
)


@once
def _lines() -> list[str]:
    data = pkgutil.get_data(__package__, "codes.tsv")
    assert data
    return data.decode("utf-8").splitlines()


@once
def catalogue() -> dict[str, Code]:
    """Code to its row."""
    sources: dict[str, str] = {}
    rows: dict[str, Code] = {}
    for line in _lines():
        if line.startswith("# source "):
            _, _, key, date, text = line.split(" ", 4)
            sources[key] = f"{text} ({date})"
        elif line and not line.startswith("#"):
            code, name, meaning, key = line.split("\t")
            rows[code] = Code(code, name, meaning, sources[key])
    return rows


@once
def _families() -> dict[str, str]:
    """Beginnings of codes and what they belong to; the longest that fits counts."""
    words = [line.split(" ", 3) for line in _lines() if line.startswith("# family ")]
    return {start: text for _, _, start, text in words}


def family(code: str) -> str:
    """What a code belongs to, by its beginning; empty if unknown."""
    fits = [(len(start), text) for start, text in _families().items() if code.startswith(start)]
    if not fits or (code.isdigit() and len(code) != 6):
        return ""
    return max(fits)[1]


def is_inner(code: str) -> bool:
    """Whether it is one of those that only say that there is another message."""
    return code.endswith("9999")


def codes_in(text: str) -> list[str]:
    """The error codes in a line, in their order: 507015, EI0006, ERR02200."""
    found = [(match.start(1), match[1]) for match in _SIX.finditer(text)]
    found += [(match.start(1), match[1]) for match in _EXT.finditer(text)]
    return list(dict.fromkeys(code for _, code in sorted(found)))


def hccl_result(text: str) -> str:
    """The result of HCCL in a line, as HCCL:11; empty if there is none."""
    match = _HCCL.search(text)
    if not match:
        return ""
    word = match[1]
    number = int(word, 16) if len(word) == 6 else int(word) if word.isdigit() else 0
    return f"HCCL:{number}" if f"HCCL:{number}" in catalogue() else ""
