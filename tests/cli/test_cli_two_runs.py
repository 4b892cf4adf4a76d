# SPDX-License-Identifier: Apache-2.0
"""Two runs at once in one checkout."""

from __future__ import annotations

import os

from cannery.cli.cmd_build import locked
from tests.cli.checkout import Checkout

TARGET = "py39-torch231-cann8t39"
SECOND = "py39-torch210-cann8rc2"
NO_ENGINE = "the container engine is not running: "


def test_a_target_of_another_run_is_refused_and_the_others_are_built(checkout: Checkout) -> None:
    file = checkout.root / ".cannery" / "locks" / f"{TARGET}-sim.lock"
    with locked({TARGET: file}):
        process = f"another run builds this target: process {os.getpid()} on "
        refused = checkout.run("--target", TARGET, "--simulate")
        refused.refused(11, process)
        assert f" has locked {file}. Wait until it has ended, or stop it." in refused.err
        both = checkout.run("--target", TARGET, "--target", SECOND, "--simulate")
        assert both.code in (1, 6)
        assert NO_ENGINE in both.err
        assert "another run" not in checkout.run("--target", TARGET).err
        checkout.run("--target", TARGET, "--simulate", "--plan").accepted()
    checkout.run("--target", TARGET, "--simulate").refused(6, NO_ENGINE)
