# SPDX-License-Identifier: Apache-2.0
"""20 faults at random over engine and registry; 'python -m tests.faults' makes 500."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.campaigns import table
from tests.faults.campaign import Campaign, Case, Outcome, make_case
from tests.faults.commands import COMMANDS
from tests.faults.kinds import KINDS
from tests.faults.site import Site, make_site
from tests.faults.state import (
    tags_of,
    wrong_in_registry,
)

SEED = 11
COUNTS = {"promote": 14, "push": 3, "build": 2, "verify": 1}
"""Command to the number of faults that happen to it here, most of them to the quick ones."""
STEADY = ("/tmp", "cache", "checkout", "registry answers", "registry flips")
"""How the kinds begin that do the same at every moment. CI leaves the others to the campaign."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with make_site(tmp_path_factory.mktemp("faults")) as found:
        yield found


def _cases() -> list[Case]:
    left = Counter(COUNTS)
    found = []
    for number in range(500):
        case = make_case(SEED, number)
        if left[case.command] > 0 and case.kind.startswith(STEADY):
            left[case.command] -= 1
            found.append(case)
    return found


def test_20_faults_leave_nothing_wrong(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    campaign = Campaign(site, SEED)
    verdicts = [campaign.judge(case) for case in _cases()]
    with capsys.disabled():
        print("", table("fault", verdicts, Outcome), sep="\n")
    failures = [each.told(SEED) for each in verdicts if each.outcome is Outcome.FAILURE]
    assert not failures, "\n".join(failures)


def test_a_number_and_a_seed_make_a_case_again() -> None:
    cases = [make_case(1, number) for number in range(500)]
    assert cases == [make_case(1, number) for number in range(500)]
    assert {each.kind for each in cases} == {*KINDS}
    assert {each.command for each in cases} == {*COMMANDS}


def test_a_lost_and_a_changed_blob_are_found(site: Site) -> None:
    site.copy_repository("seed/ascend", "found/ascend")
    assert not [*wrong_in_registry(site, "found/ascend")]
    storage = site.folder / "registry/data/docker/registry/v2"
    folder = storage / "repositories/found/ascend/_layers/sha256"
    lost = min(folder.iterdir())
    shutil.rmtree(lost)
    assert f"sha256:{lost.name} is not in _layers" in "\n".join(
        wrong_in_registry(site, "found/ascend")
    )
    digest = max(tags_of(site, "found/ascend").values()).removeprefix("sha256:")
    data = storage / "blobs" / "sha256" / digest[:2] / digest / "data"
    content = data.read_bytes()
    data.write_bytes(content + b" ")
    try:
        assert f"sha256:{digest} has another content" in "\n".join(
            wrong_in_registry(site, "found/ascend")
        )
    finally:
        data.write_bytes(content)
