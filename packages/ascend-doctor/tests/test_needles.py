# SPDX-License-Identifier: Apache-2.0
"""Every alternative of every pattern is found in a log: none of the literals is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ascend_doctor import owners
from ascend_doctor.causes import causes, causes_in
from ascend_doctor.events import IGNORED, Reader
from tests.samples import samples

PATTERNS = [(cause.id, line) for cause in causes().values() for line in cause.log]
LOADER = [owners._UNDEFINED, owners._VERSION, owners._MISSING, owners._MODULE, owners._NAME]
GOOD = "[INFO] step 1 of 2, lr 1e-05, all is well\n" * 20


def events(folder: Path, line: str) -> set[str]:
    log = folder / "a.log"
    log.write_text(f"{GOOD}{line}\n", encoding="utf-8")
    reader = Reader()
    reader.read(str(log))
    return {event.cause.id for event in reader.events}


@pytest.mark.parametrize(("name", "pattern"), PATTERNS)
def test_every_alternative_of_a_pattern_fires(name: str, pattern: str, tmp_path: Path) -> None:
    texts = samples(pattern)
    assert texts
    fired = 0
    for text in texts:
        # A text that the pattern itself refuses (a lookahead) shows nothing.
        line = text if pattern.startswith("^") or text.startswith(" ") else f"x {text}"
        if re.search(pattern, line) and not IGNORED.search(line):
            fired += 1
            assert name in events(tmp_path, line), line
    assert fired


@pytest.mark.parametrize("pattern", LOADER, ids=lambda each: each.pattern[:20])
def test_every_message_of_the_loader_is_looked_at(pattern: re.Pattern[str], tmp_path: Path) -> None:
    for text in samples(pattern.pattern):
        known = {found.cause.id for found in causes_in(text)}
        assert known <= events(tmp_path, text), text


CODES = [code for cause in causes().values() for code in cause.codes]
FORMS = [
    *("error code is {}", "error code:{}", "failed: {}[FUNC:X]", "runtime result = {}."),
    *("retCode is {}", "ret = {}", "return: {}", "status: {}", "errorCode={}", "ErrCode={},"),
    "ret[{}]",
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("code", [code for code in CODES if code.isdigit()])
def test_a_code_is_known_in_all_its_forms(code: str, form: str, tmp_path: Path) -> None:
    [cause] = [cause.id for cause in causes().values() if code in cause.codes]
    assert cause in events(tmp_path, "x " + form.format(code))


@pytest.mark.parametrize("form", ["{}: [PID: 7] x", "Some_Title({}): x", "{}[PID: 3] x"])
@pytest.mark.parametrize("code", [code for code in CODES if not code.isdigit()])
def test_a_letter_code_is_known_in_all_its_forms(code: str, form: str, tmp_path: Path) -> None:
    [cause] = [cause.id for cause in causes().values() if code in cause.codes]
    assert cause in events(tmp_path, form.format(code))
