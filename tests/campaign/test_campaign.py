# SPDX-License-Identifier: Apache-2.0
"""300 edits of the campaign, and that it finds what is wrong; 'nox -s campaign' makes 10,000."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from cannery.common import documents
from cannery.common.errors import Span
from cannery.compat import Compat, judge
from cannery.compat.finding import Finding
from cannery.compat.sources import Row
from cannery.publish.policy import load
from tests.campaign import meaning
from tests.campaign.campaign import Campaign, Edit, Outcome
from tests.campaign.probes import of_row
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
        (
            "cannery/data/compat.yaml",
            "torch_npu: 2.7.1.post1,",
            "torch_npu: 2.7.1.pOst1,",
            Outcome.SAME,
        ),
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
        (
            "cannery/data/compat.yaml",
            "nnal: true, source: downloads}",
            "nnal: tRue, source: downloads}",
            Outcome.SAME,
        ),
        # The chip is 910b where none is given.
        ("matrix.yaml", "{910b: {chip: 910b}, a3:", "{910b: {}, a3:", Outcome.SAME),
        # What no target of the project uses.
        (BASES, "hiredis: [libhiredis1.1.0]", "hiredis: []", Outcome.DIFFERENT),
        (
            "cannery/data/compat.yaml",
            "branch: v2.9.0-26.1.0",
            "branch: v2.9.0-26.1.1",
            Outcome.DIFFERENT,
        ),
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

    def without_place(*given: Any) -> tuple[Any, Span | None]:
        path, where = place(*given)
        return path, None if where.file == "publish.yaml" else where

    monkeypatch.setattr(documents, "locate", without_place)
    said = failed(campaign, edited("publish.yaml", "schema: 1", "schema: 2"))
    assert "no place" in said


def test_every_row_of_compat_shows_for_some_target(campaign: Campaign) -> None:
    """So that no edit of a row can be without an effect: a target of the matrix, or a probe."""
    before = campaign._before
    stock = next(iter(before.targets.values()))
    shown: set[Row] = set()

    def show(findings: Iterable[Finding]) -> None:
        for each in findings:
            shown.update((*each.rows, *each.against))

    for findings in before.matrix.findings.values():
        show(findings)
    parts = (getattr(before.compat, name) for name in Compat.model_fields)
    rows = [row for part in parts if isinstance(part, tuple) for row in part]
    assert len(rows) > 100
    for row in rows:
        for probe in of_row(row, stock) if row not in shown else ():
            show(judge(probe, before.compat))
            if row in shown:
                break
    assert not [f"{row.line}: {row.says}" for row in rows if row not in shown]
