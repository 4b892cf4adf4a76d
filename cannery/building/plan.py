# SPDX-License-Identifier: Apache-2.0
"""Decides what a run does with each selected target, and why; as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from cannery.common.bases import Origin
from cannery.common.console import columns, fold
from cannery.common.model import Target
from cannery.common.outside import json_text
from cannery.fetch.needs import Missing
from cannery.image.layers import Layer, SharedLayer, components_named, shared


class Action(StrEnum):
    """What a run does with a target."""

    BUILD = "build"
    VERIFY = "verify"
    """The image exists, but was not checked on the kinds of device of this run."""
    SKIP = "skip"


@dataclass(frozen=True, kw_only=True)
class Local:
    """A target's image on this machine: its id, its key, and the device kinds that it passed on.

    ``vendor_image`` is the reference of the image that its CANN was taken from, if it was.
    ``bases`` maps build arguments to the origin and the identity of the bases that it is on.
    """

    image: str = ""
    key: str = ""
    vendor_image: str = ""
    bases: Mapping[str, tuple[Origin, str]] = field(default_factory=dict)
    passed: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Step:
    """What a run does with one target. For VERIFY and SKIP, ``image`` is the existing image.

    ``missing`` maps the names of missing files to their origins; ``published`` describes the image
    in the registry of --compare-with.
    """

    id: str
    action: Action
    why: str
    key: str = ""
    image: str = ""
    missing: Mapping[str, str]
    layers: tuple[Layer, ...] = ()
    published: str = ""


@dataclass(frozen=True, kw_only=True)
class Change:
    """The layers of each target that a change of ``component`` rebuilds, and the unchanged ones."""

    component: str
    rebuilt: Mapping[str, tuple[str, ...]]
    kept: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The steps of a run. ``other_shards`` are the selected targets of other shards."""

    steps: tuple[Step, ...]
    shard: str = ""
    other_shards: tuple[str, ...] = ()
    change: Change | None = None

    def with_action(self, *actions: Action) -> list[Step]:
        return [step for step in self.steps if step.action in actions]

    @property
    def shared(self) -> tuple[SharedLayer, ...]:
        """The layers that are built once for several targets."""
        return shared({step.id: step.layers for step in self.with_action(Action.BUILD)})


@dataclass(frozen=True, kw_only=True)
class Expected:
    """The image that a run would build: its name, its key, and the device kinds of its checks."""

    name: str
    key: str
    kinds: frozenset[str]


def choose_action(
    expected: Expected, here: Local, *, test: bool, force: bool, record: bool = False
) -> tuple[Action, str]:
    """What a run does with a target, and why.

    With ``record``, images are checked again even if they are verified.
    """
    name = expected.name
    if force:
        return Action.BUILD, "--force"
    if not here.image:
        return Action.BUILD, f"this machine has no {name}"
    if here.key != expected.key:
        old = f"{name} was built by an older build.py"
        return Action.BUILD, f"the inputs of {name} have changed" if here.key else old
    if test and not expected.kinds <= here.passed:
        without = ", ".join(sorted(expected.kinds - here.passed))
        return Action.VERIFY, f"{name} is up to date, but not verified (device: {without})"
    if test and record:
        return Action.VERIFY, f"{name} is up to date, and --record checks it again"
    return Action.SKIP, f"{name} is up to date"


def missing(why: Mapping[str, str]) -> str:
    """The reason why a target without its files is skipped."""
    files = "; ".join(f"{name} ({origin})" for name, origin in why.items())
    return f"cannot be built without {files}"


def change_of(
    component: str, targets: Sequence[Target], layers: Mapping[str, Sequence[Layer]]
) -> Change:
    """The layers of ``targets`` that a change of ``component`` rebuilds."""
    named = components_named(component, targets)
    rebuilt, kept = {}, {}
    for target in targets:
        touched = [each.name for each in layers[target.id] if each.components & named]
        if touched:
            rebuilt[target.id] = tuple(touched)
        kept[target.id] = tuple(
            each.name for each in layers[target.id] if not each.components & named
        )
    return Change(component=component, rebuilt=rebuilt, kept=kept)


def to_text(plan: Plan, *, verbose: bool = False, width: int = 0) -> str:
    """A line for each target, totals, the effect of a change, and the files that are missing.

    ``verbose`` lists the targets of each shared layer, and the layers that a change leaves alone.
    Lines are folded at ``width`` characters; 0 folds none.
    """
    files = Missing(step.missing for step in plan.steps)
    rows = [(str(step.action), step.id, _reason(step, files)) for step in plan.steps]
    lines = columns(rows)
    counts = Counter(str(step.action) for step in plan.steps)
    lines += ["", ", ".join(f"{counts[name]} to {name}" for name in ("build", "verify", "skip"))]
    if plan.shard:
        lines.append(
            f"shard {plan.shard}; in other shards: {', '.join(plan.other_shards) or 'none'}"
        )
    lines += _shared(plan, verbose=verbose)
    if plan.change:
        lines += ["", *_change(plan.change, verbose=verbose)]
    if legend := files.legend("missing files:"):
        lines += ["", *legend]
    return "\n".join(fold(lines, width))


def _reason(step: Step, files: Missing) -> str:
    """The reason for the action, with the numbers of missing files in place of their names."""
    without = step.missing and step.why == missing(step.missing)
    why = files.needs(step.missing) if without else step.why
    return f"{why}; {step.published}" if step.published else why


def _shared(plan: Plan, *, verbose: bool) -> list[str]:
    shared = plan.shared
    if not shared:
        return []
    head = f"layers built once for several targets: {len(shared)}"
    if not verbose:
        return [f"{head} (--verbose lists them)"]
    return ["", head, *(f"  {each.layer.name}: {', '.join(each.targets)}" for each in shared)]


def _change(change: Change, *, verbose: bool) -> list[str]:
    lines = [f"a change of {change.component} rebuilds:"]
    lines += [
        f"  {name}: {', '.join(layers)}; unchanged layers: {len(change.kept[name])}"
        for name, layers in change.rebuilt.items()
    ]
    if others := [name for name in change.kept if name not in change.rebuilt]:
        lines.append(f"and nothing of: {', '.join(others)}")
    if verbose:
        lines.append("unchanged layers:")
        lines += [f"  {name}: {', '.join(layers)}" for name, layers in change.kept.items()]
    note = "Packages that its new version depends on are known only after 'build.py lock'."
    return [*lines, note]


def to_json(plan: Plan, needs: Mapping[str, Any]) -> str:
    """The plan for programs, with the files that real builds need; docs/reference.md has fields."""
    found: dict[str, Any] = {
        "targets": [
            {
                "id": step.id,
                "action": str(step.action),
                "why": step.why,
                "key": step.key,
                "image": step.image,
                "missing": dict(step.missing),
                "registry": step.published,
                "layers": {layer.name: layer.identity for layer in step.layers},
            }
            for step in plan.steps
        ],
        "shared": [
            {
                "layer": each.layer.name,
                "identity": each.layer.identity,
                "targets": [*each.targets],
            }
            for each in plan.shared
        ],
        "shard": plan.shard,
        "other_shards": [*plan.other_shards],
        "needs": dict(needs),
    }
    if plan.change:
        found["change"] = {
            "component": plan.change.component,
            "rebuilt": {name: [*layers] for name, layers in plan.change.rebuilt.items()},
            "kept": {name: [*layers] for name, layers in plan.change.kept.items()},
        }
    return json_text(found)
