# SPDX-License-Identifier: Apache-2.0
"""Two runs at once in one checkout."""

from __future__ import annotations

import os
from pathlib import Path

from cannery.building.journal import Journal, Progress
from cannery.common.files import Claims
from cannery.options import BuildOptions
from tests.cli.checkout import Checkout

TARGET = "py39-torch231-cann8t39"
SECOND = "py39-torch210-cann8rc2"
NO_ENGINE = "the container engine is not running: "


def journal(checkout: Checkout, name: str, target: str) -> Path:
    path = checkout.root / ".cannery" / name
    Journal(path=path, options=BuildOptions(simulate=True)).note(target, Progress.WAITING)
    return path


def test_a_target_of_another_run_is_refused_and_the_others_are_built(checkout: Checkout) -> None:
    with Claims(checkout.root / ".cannery") as claims:
        claims.take(f"{TARGET}-sim")
        said = f"another run builds this target: process {os.getpid()} on "
        checkout.run("--target", TARGET, "--simulate").refused(11, said)
        both = checkout.run("--target", TARGET, "--target", SECOND, "--simulate")
        assert both.code in (1, 6)
        assert NO_ENGINE in both.err
        assert "another run" not in checkout.run("--target", TARGET).err
        checkout.run("--target", TARGET, "--simulate", "--plan").accepted()
    checkout.run("--target", TARGET, "--simulate").refused(6, NO_ENGINE)


def test_the_journal_of_a_run_that_goes_on_is_not_resumed(checkout: Checkout) -> None:
    ended = journal(checkout, "journal-2.json", SECOND)
    newest = journal(checkout, "journal.json", TARGET)
    os.utime(ended, (1, 1))
    result = checkout.run("--resume", "--plan")
    assert result.out.split()[:2] == ["build", TARGET]
    with Claims(checkout.root / ".cannery") as claims:
        claims.take(newest.name)
        result = checkout.run("--resume", "--plan")
        assert result.out.split()[:2] == ["build", SECOND]
        claims.take(ended.name)
        checkout.run("--resume", "--plan").refused(11, f"process {os.getpid()} on ")
