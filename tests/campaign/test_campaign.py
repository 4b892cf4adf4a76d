# SPDX-License-Identifier: Apache-2.0
"""300 edits of the campaign, and that it finds what is wrong; 'nox -s campaign' makes 10,000."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common import documents
from cannery.publish.policy import load
from tests.campaign import meaning
from tests.campaign.campaign import Campaign, Edit, Outcome
from tests.campaigns import table

ROOT = Path(__file__).resolve().parents[2]
SEED = 1
BASES = "cannery/data/bases.yaml"
APPLICATIONS = "cannery/data/applications.yaml"


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    return Campaign(ROOT, tmp_path_factory.mktemp("campaign"), SEED)


def edited(name: str, old: str, new: str) -> Edit:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert old in text
    return Edit(number=0, file=name, kind="", before=text, after=text.replace(old, new, 1))


@pytest.mark.parametrize(
    "half",
    # On a core each.
    [pytest.param(half, marks=pytest.mark.xdist_group(f"half {half}")) for half in (0, 1)],
)
def test_edits_are_refused_with_their_place_or_take_effect(campaign: Campaign, half: int) -> None:
    verdicts = [*campaign.run(range(half, 300, 2))]
    print(table("kind of edit", verdicts, Outcome))
    failures = [each.told(SEED) for each in verdicts if each.outcome is Outcome.FAILURE]
    assert not failures, "\n".join(failures)
    assert {each.outcome for each in verdicts} == {*Outcome} - {Outcome.FAILURE}


@pytest.mark.parametrize(
    ("name", "old", "new", "outcome"),
    [
        (BASES, "glibc: 2.31", "glibc: banana", Outcome.REFUSED),
        (BASES, "glibc: 2.31", 'glibc: "2.31"  # of bullseye', Outcome.SAME),
        (APPLICATIONS, "title: LLaMA-Factory 0.9.0", "title: LLaMA", Outcome.DIFFERENT),
        (
            "matrix.yaml",
            "llamafactory095: {torchaudio: paired",
            "llamafactory095: {torchaudio: 2.10.0",
            Outcome.SAME,
        ),
        (
            "matrix.yaml",
            "llamafactory095: {torchaudio: paired",
            "llamafactory095: {torchaudio: 2.9.1",
            Outcome.REFUSED,
        ),
        # What no target of the project uses.
        (BASES, "hiredis: [libhiredis1.1.0]", "hiredis: []", Outcome.DIFFERENT),
        ("compat.yaml", "branch: v2.9.0-26.1.0", "branch: v2.9.0-26.1.1", Outcome.DIFFERENT),
        ("publish.yaml", "latest:", "newest:", Outcome.DIFFERENT),
    ],
)
def test_an_outcome(campaign: Campaign, name: str, old: str, new: str, outcome: Outcome) -> None:
    assert campaign.judge(edited(name, old, new)).outcome is outcome


def failed(campaign: Campaign, edit: Edit) -> str:
    verdict = campaign.judge(edit)
    assert verdict.outcome is Outcome.FAILURE
    return verdict.told(SEED)


def test_an_edit_ignored_by_the_reader_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # As if nothing read the edited file.
    monkeypatch.setattr(meaning, "load", lambda _, matrix: load(ROOT / "publish.yaml", matrix))
    edit = edited("publish.yaml", "latest:", "newest:")
    said = failed(Campaign(ROOT, tmp_path, SEED), edit)
    assert "the edit is ignored" in said
    assert "-  latest: training" in said


def test_a_problem_without_a_place_is_found(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = documents.locate
    monkeypatch.setattr(documents, "locate", lambda *given: (place(*given)[0], None))
    said = failed(campaign, edited("publish.yaml", "schema: 1", "schema: 2"))
    assert "no place" in said
