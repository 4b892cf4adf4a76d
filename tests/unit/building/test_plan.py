# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from cannery.building.plan import Action, Expected, Local, choose_action, missing
from cannery.image.layers import SharedLayer
from tests.unit.plans import PLAN, layer

BOTH = frozenset({"none", "simulated"})
HERE = Local(image="sha256:1", key="key", passed=BOTH)

CASES = {
    "up to date": (HERE, {}, Action.SKIP, "cannery:x is up to date"),
    "forced": (HERE, {"force": True}, Action.BUILD, "--force"),
    "not here": (Local(), {}, Action.BUILD, "this machine has no cannery:x"),
    "of something else": (
        Local(image="sha256:1", key="other", passed=BOTH),
        {},
        Action.BUILD,
        "the inputs of cannery:x have changed",
    ),
    "without a key": (Local(image="i"), {}, Action.BUILD, "was built by an older build.py"),
    "not verified": (
        Local(image="i", key="key"),
        {},
        Action.VERIFY,
        "not verified (device: none, simulated)",
    ),
    "verified on less": (
        Local(image="i", key="key", passed=frozenset({"none"})),
        {},
        Action.VERIFY,
        "not verified (device: simulated)",
    ),
    "not to be verified": (Local(image="i", key="key"), {"test": False}, Action.SKIP, "up to date"),
}


@pytest.mark.parametrize(("here", "options", "action", "why"), CASES.values(), ids=CASES)
def test_what_is_done(here: Local, options: dict[str, bool], action: Action, why: str) -> None:
    asked = {"test": True, "force": False, **options}
    found, said = choose_action(
        Expected(name="cannery:x", key="key", kinds=BOTH),
        here,
        test=asked["test"],
        force=asked["force"],
    )
    assert found is action
    assert why in said


def test_only_what_is_built_is_shared() -> None:
    assert PLAN.shared == (SharedLayer(layer=layer("toolkit"), targets=("one", "two-is-long")),)


def test_missing_files_are_named_with_their_origin() -> None:
    said = missing({"a.run": "the vendor", "b.whl": "its makers"})
    assert said == "cannot be built without a.run (the vendor); b.whl (its makers)"
