# SPDX-License-Identifier: Apache-2.0
"""Messages that their makers explain: each is told, also as the only line of a log."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_doctor.log_report import examine_logs
from tests.score import root_of

LINES = (Path(__file__).parent / "known_messages.txt").read_text(encoding="utf-8").splitlines()
CASES = [tuple(line.split(" => ")) for line in LINES if not line.startswith("#")]


@pytest.mark.parametrize(("message", "said"), CASES, ids=[said for _, said in CASES])
def test_a_known_message_is_told_with_its_cause(message: str, said: str, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(f"{message}\n", encoding="utf-8")
    root = root_of(examine_logs([str(log)]))
    assert root
    assert root["what"].startswith(said)
