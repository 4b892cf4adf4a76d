# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import pytest

from cannery.image.layers import Layer, LayerKind
from cannery.plan.plan import Action, Change, Local, Plan, Step, choose_action, missing
from cannery.report.plan import to_json, to_text

BOTH = frozenset({"none", "simulated"})
HERE = Local(image="sha256:1", key="key", passed=BOTH)

CASES = {
    "up to date": (HERE, {}, Action.SKIP, "cannery:x is up to date"),
    "forced": (HERE, {"force": True}, Action.BUILD, "--force"),
    "not here": (Local(), {}, Action.BUILD, "there is no cannery:x here"),
    "of something else": (
        Local(image="sha256:1", key="other", passed=BOTH),
        {},
        Action.BUILD,
        "cannery:x was made from something else",
    ),
    "without a key": (Local(image="i"), {}, Action.BUILD, "was made by an older build.py"),
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
        name="cannery:x",
        key="key",
        here=here,
        kinds=BOTH,
        test=asked["test"],
        force=asked["force"],
    )
    assert found is action
    assert why in said


def layer(name: str) -> Layer:
    return Layer(
        name=name,
        stage=name,
        kind=LayerKind.WHEELS,
        identity=f"id-{name}",
        components=frozenset(),
    )


PLAN = Plan(
    steps=(
        Step(
            id="one",
            action=Action.BUILD,
            why="there is no cannery:one here",
            key="k1",
            missing={},
            layers=(layer("toolkit"), layer("own-1")),
            published="r/x:one is out of date",
        ),
        Step(
            id="two-is-long",
            action=Action.BUILD,
            why="--force",
            key="k2",
            missing={},
            layers=(layer("toolkit"), layer("own-2")),
        ),
        Step(
            id="three",
            action=Action.SKIP,
            why="cannery:three is up to date",
            key="k3",
            image="sha256:3",
            missing={},
            layers=(layer("toolkit"),),
        ),
        Step(id="four", action=Action.SKIP, why="no", missing={"file.run": "the vendor"}),
    ),
    shard="1/2",
    elsewhere=("five",),
    change=Change(
        component="torch",
        anew={"one": ("wheels-torch",)},
        stays={"one": ("toolkit",), "two-is-long": ("toolkit",)},
    ),
)


def test_only_what_is_built_is_shared() -> None:
    [only] = PLAN.shared
    assert (only.layer, only.targets) == (layer("toolkit"), ("one", "two-is-long"))


def test_the_text() -> None:
    assert to_text(PLAN).splitlines() == [
        "build   one          there is no cannery:one here; r/x:one is out of date",
        "build   two-is-long  --force",
        "skip    three        cannery:three is up to date",
        "skip    four         no",
        "",
        "2 to build, 0 to verify, 2 to skip",
        "shard 1/2; in other shards: five",
        "",
        "made once for several targets:",
        "  toolkit: one, two-is-long",
        "",
        "a change of torch makes anew:",
        "  one: wheels-torch",
        "and leaves as they are:",
        "  one: toolkit",
        "  two-is-long: everything",
        "What else its packages ask for is known only when it is locked again.",
    ]


def test_the_json() -> None:
    found = json.loads(to_json(PLAN))
    assert [each["action"] for each in found["targets"]] == ["build", "build", "skip", "skip"]
    assert found["targets"][0]["layers"] == {"toolkit": "id-toolkit", "own-1": "id-own-1"}
    assert found["targets"][2]["image"] == "sha256:3"
    assert found["targets"][3]["missing"] == {"file.run": "the vendor"}
    assert found["shared"] == [
        {"layer": "toolkit", "identity": "id-toolkit", "targets": ["one", "two-is-long"]}
    ]
    assert found["change"]["anew"] == {"one": ["wheels-torch"]}
    assert (found["shard"], found["elsewhere"]) == ("1/2", ["five"])


def test_an_empty_plan() -> None:
    assert to_text(Plan(steps=())).splitlines() == ["", "0 to build, 0 to verify, 0 to skip"]
    assert "change" not in json.loads(to_json(Plan(steps=())))


def test_missing_files_are_named_with_their_origin() -> None:
    said = missing({"a.run": "the vendor", "b.whl": "its makers"})
    assert said == "cannot be built without a.run (the vendor); b.whl (its makers)"
