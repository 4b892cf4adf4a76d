# SPDX-License-Identifier: Apache-2.0
"""Until when releases are maintained, and how it is shown where no source says so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cannery.common.bases import PythonSource
from cannery.common.errors import MatrixError
from cannery.common.model import Target
from cannery.compat import Finding, Verdict, judge
from cannery.compat.check_report import outdated, require_read
from cannery.compat.finding import UNKNOWN, end_of_life, lifetimes_of
from cannery.matrix.distributions import load_distributions
from tests.unit.compat_targets import COMPAT, GOOD, cann, changed


def ends(version: str, torch: str, torch_npu: str, public: str = "") -> dict[str, str]:
    target = changed(cann=cann(version, nearest_public=public), torch=torch, torch_npu=torch_npu)
    found = {name: end_of_life(row) for name, row in lifetimes_of(target, COMPAT).items()}
    return {name: day for name, day in found.items() if name not in ("python", "base")}


def test_an_interim_build_has_the_lifetime_of_the_public_release() -> None:
    found = ends("8.5.T1", "2.8.0", "2.8.0.post2", "8.5.0")
    assert found["cann"] == UNKNOWN
    row = lifetimes_of(changed(cann=cann("8.5.T1", nearest_public="8.5.0")), COMPAT)["cann"]
    assert row is not None
    assert row.version == "8.5.0"


def maintenance(target: Target) -> dict[str, Finding]:
    """Key of the target to what is said of its maintenance."""
    found = judge(target, COMPAT)
    return {each.key: each for each in found if each.component == "maintenance"}


def test_a_known_end_is_told_and_refuses_nothing() -> None:
    found = maintenance(GOOD)["torch_npu"]
    assert found.verdict is Verdict.ENDING
    assert found.text == "Maintenance of torch_npu for torch 2.3.1: until 2026-06-07."
    assert "SUPPORT.en.md" in found.rows[0].cited
    assert "torch_npu" not in maintenance(changed(torch="2.7.0", torch_npu="2.7.0"))


def test_a_release_without_a_known_end_is_reported() -> None:
    found = maintenance(changed(torch="2.9.0", torch_npu="2.9.0"))["torch_npu"]
    assert found.verdict is Verdict.ALLOWED
    assert found.text == (
        "torch_npu for torch 2.9.0 is of 2026-01-15; no source says until when it is maintained."
    )


def test_bases_and_interpreters_have_an_end() -> None:
    base = replace(GOOD.python, source=PythonSource.BASE)
    found = maintenance(changed(python=base))
    assert found["base"].text == "Maintenance of Debian bullseye: until 2026-08-31."
    assert found["python"].text == (
        "Maintenance of Python 3.9 by its makers; the base's distribution maintains its own build: "
        "until 2025-10-31."
    )
    archive = replace(GOOD.python, source=PythonSource.STANDALONE, version="3.10.14")
    own = maintenance(changed(python=archive))["python"]
    assert own.text == "Maintenance of Python 3.10: until 2026-10-31."
    unknown = replace(GOOD.base, suite="22.03-lts", distribution=load_distributions()["openeuler"])
    assert "base" not in maintenance(changed(base=unknown))


def test_a_document_read_over_45_days_ago_is_a_warning_by_its_newest_state() -> None:
    old = COMPAT.sources["torch-npu"]
    states = [
        old.model_copy(update={"read": "2026-08-21"}),
        old.model_copy(
            update={
                "name": "later",
                "state_of": old.name,
                "cite": "the later state",
                "read": "2026-11-25",
            }
        ),
    ]
    assert outdated(states, "2027-01-09") == []
    assert outdated(states[:1], "2026-10-05") == []
    [said] = outdated(states, "2027-01-10")
    assert said.startswith("warning: the later state was last read on 2026-11-25, 46 days ago: ")


def test_no_document_was_read_in_the_future() -> None:
    read, unread, earlier = (
        COMPAT.sources["torch-npu"].model_copy(update={"read": day})
        for day in ("2026-11-27", "", "2026-11-24")
    )
    # East of Greenwich it may be tomorrow.
    require_read([read], "2026-11-26")
    require_read([unread], "2026-11-26")
    with pytest.raises(MatrixError, match="'read' is 2026-11-27, and today is 2026-11-25"):
        require_read([read, earlier], "2026-11-25")
