# SPDX-License-Identifier: Apache-2.0
"""300 faults at random over fetches; 'python -m tests.fetch' makes 2,000."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.campaigns import table
from tests.fetch.fetch_campaign import KINDS, Campaign, Outcome, make_case
from tests.fetch.server import serving

SEED = 11


def test_300_faults_store_no_wrong_byte_and_show_no_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving() as files:
        campaign = Campaign(tmp_path, files, SEED)
        verdicts = [campaign.judge(make_case(SEED, number)) for number in range(300)]
    output = capsys.readouterr().err
    with capsys.disabled():
        print("", table("fault", verdicts, Outcome), sep="\n")
    failures = [each.told(SEED) for each in verdicts if each.outcome is Outcome.FAILURE]
    assert not failures, "\n".join(failures)
    assert "Traceback" not in output
    assert {each.case.kind for each in verdicts} == {*KINDS}
    assert {each.outcome for each in verdicts} == {*Outcome} - {Outcome.FAILURE}
