# SPDX-License-Identifier: Apache-2.0
"""300 faults at random over fetches; 'python -m tests.fetch' makes 2,000."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.fetch import fetcher
from tests.campaigns import table
from tests.fetch.fetch_campaign import KINDS, Campaign, Outcome, make_case
from tests.fetch.server import serving

SEED = 11


def test_300_faults_store_no_wrong_byte_and_show_no_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving() as files:
        verdicts = [*Campaign(tmp_path, files, SEED).run(range(300))]
    said = capsys.readouterr().err
    with capsys.disabled():
        print("", table("fault", verdicts, Outcome), sep="\n")
    failures = [each.told(SEED) for each in verdicts if each.outcome is Outcome.FAILURE]
    assert not failures, "\n".join(failures)
    assert "Traceback" not in said
    assert {each.case.kind for each in verdicts} == {*KINDS}
    assert {each.outcome for each in verdicts} == {*Outcome} - {Outcome.FAILURE}


def test_a_number_and_a_seed_make_a_case_again() -> None:
    assert [make_case(1, number) for number in range(60)] == [make_case(1, n) for n in range(60)]
    assert make_case(1, 0).content != make_case(2, 0).content


def _trusting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break the verification of hashes."""

    def blind(file: object, transfer: object, address: object) -> str:
        transfer.run(address)  # type: ignore[attr-defined]
        return str(file.sha256)  # type: ignore[attr-defined]

    monkeypatch.setattr(fetcher.Fetcher, "_right", lambda _, *words: blind(*words))


def test_a_fetch_that_verifies_nothing_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _trusting(monkeypatch)
    with serving() as files:
        campaign = Campaign(tmp_path, files, SEED)
        verdicts = [campaign.judge(make_case(SEED, number)) for number in range(len(KINDS))]
    assert Outcome.FAILURE in {each.outcome for each in verdicts}


def test_a_fetch_that_fails_with_a_traceback_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("by intention")

    monkeypatch.setattr(fetcher.Fetcher, "_fetched", fail)
    with serving() as files:
        verdict = Campaign(tmp_path, files, SEED).judge(make_case(SEED, 0))
    assert verdict.outcome is Outcome.FAILURE
    assert "by intention" in verdict.why
    assert "Traceback" in verdict.why
