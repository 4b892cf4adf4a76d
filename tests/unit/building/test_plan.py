# SPDX-License-Identifier: Apache-2.0
"""The action on a target, and a plan as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from cannery.building.plan import Action, Local, Plan, choose_action, to_json, to_text
from cannery.options import BuildOptions
from cannery.verify import devices
from tests.unit.plans import PLAN

BOTH = frozenset({"none", "simulated"})
LOCAL = Local(image="i", key="key", passed=BOTH)

CASES: dict[str, tuple[Local, dict[str, Any], Action, str]] = {
    "up to date": (LOCAL, {}, Action.SKIP, "cannery:x is up to date"),
    "forced": (LOCAL, {"force": True}, Action.BUILD, "--force"),
    "no image": (Local(), {}, Action.BUILD, "this machine has no cannery:x"),
    "another key": (replace(LOCAL, key="x"), {}, Action.BUILD, "of cannery:x have changed"),
    "no key": (replace(LOCAL, key=""), {}, Action.BUILD, "was built by an older build.py"),
    "unverified": (
        replace(LOCAL, passed=frozenset({"none"})),
        {},
        Action.VERIFY,
        "not verified (device: simulated)",
    ),
    "--no-test": (replace(LOCAL, passed=frozenset()), {"test": False}, Action.SKIP, "up to date"),
    "--record": (LOCAL, {"record": True}, Action.VERIFY, "--record checks it again"),
}


@pytest.mark.parametrize(("local", "options", "action", "why"), CASES.values(), ids=CASES)
def test_the_action_on_a_target(
    monkeypatch: pytest.MonkeyPatch,
    local: Local,
    options: dict[str, Any],
    action: Action,
    why: str,
) -> None:
    monkeypatch.setattr(devices, "npu_device", lambda: None)
    chosen, reason = choose_action(
        "cannery:x", "key", local, BuildOptions(simulate=True, **options)
    )
    assert chosen is action
    assert why in reason


STEPS = [
    "build  one          this machine has no cannery:one; r/x:one is out of date",
    "build  two-is-long  --force",
    "skip   three        cannery:three is up to date",
    "skip   four         needs files 1, 2",
    "skip   five         there is no software device of chip 310p",
    "",
    "2 to build, 0 to verify, 3 to skip",
    "disk: at most about 6 GB, half of it build cache (estimated)",
    "shard 1/2; in other shards: six",
]
LEGEND = [
    "",
    "missing files:",
    "  1  a.run (the vendor)",
    "  2  b.whl (its makers)",
    "  3  c.gz (CPython 3.7's sources)",
]
NOTE = "Packages that its new version depends on are known only after 'build.py lock'."


def test_a_target_is_a_line_and_a_missing_file_is_named_once() -> None:
    assert to_text(PLAN).splitlines() == [
        *STEPS,
        "layers built once for several targets: 1 (--verbose lists them)",
        "",
        "a change of torch rebuilds:",
        "  one: wheels-torch; unchanged layers: 1",
        "and nothing of: two-is-long",
        NOTE,
        *LEGEND,
    ]


def test_the_details_list_shared_and_unchanged_layers() -> None:
    assert to_text(PLAN, verbose=True).splitlines() == [
        *STEPS,
        "",
        "layers built once for several targets: 1",
        "  toolkit: one, two-is-long",
        "",
        "a change of torch rebuilds:",
        "  one: wheels-torch; unchanged layers: 1",
        "and nothing of: two-is-long",
        "unchanged layers:",
        "  one: toolkit",
        "  two-is-long: toolkit",
        NOTE,
        *LEGEND,
    ]


def test_lines_are_folded_at_a_width() -> None:
    lines = to_text(PLAN, verbose=True, width=40).splitlines()
    assert max(map(len, lines)) <= 40
    assert " ".join(" ".join(lines).split()) == " ".join(to_text(PLAN, verbose=True).split())


def test_the_json() -> None:
    found = json.loads(to_json(PLAN, {}))
    actions = ["build", "build", "skip", "skip", "skip"]
    assert [each["action"] for each in found["targets"]] == actions
    identities = {each.name: each.identity for each in PLAN.steps[0].rendered.layers}
    assert found["targets"][0]["layers"] == identities
    assert {*identities} == {"toolkit", "own-1"}
    assert found["targets"][2]["image"] == "sha256:3"
    assert found["targets"][3]["missing"] == {"a.run": "the vendor", "b.whl": "its makers"}
    assert found["shared"] == [
        {"layer": "toolkit", "identity": identities["toolkit"], "targets": ["one", "two-is-long"]}
    ]
    assert found["change"]["rebuilt"] == {"one": ["wheels-torch"]}
    assert (found["shard"], found["other_shards"]) == ("1/2", ["six"])
    assert found["disk"] == 2 * (3000 + 20 + 20) * 10**6


def test_a_build_that_has_to_download_first_says_so() -> None:
    steps = [replace(step, remote={"d.whl": "an index"}) for step in PLAN.steps[:2]]
    plan = replace(PLAN, steps=(*steps, *PLAN.steps[2:]))
    lines = to_text(plan).splitlines()
    assert "2 to build (2 after a download), 0 to verify, 3 to skip" in lines
    last = ["", "downloads, of which a plan does not ask if the servers answer:"]
    assert lines[-3:] == [*last, "  d.whl (an index): 2 targets"]
    found = json.loads(to_json(plan, {}))["targets"]
    assert [each["downloads"] for each in found[1:3]] == [{"d.whl": "an index"}, {}]


def test_an_empty_plan() -> None:
    assert to_text(Plan(steps=())).splitlines() == ["", "0 to build, 0 to verify, 0 to skip"]
    assert "change" not in json.loads(to_json(replace(PLAN, change=None), {}))
