# SPDX-License-Identifier: Apache-2.0
"""Decides what a run does with each selected target, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from cannery.common.bases import Origin
from cannery.common.model import Target
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
    anew: Mapping[str, tuple[str, ...]]
    stays: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The steps of a run. ``elsewhere`` are the selected targets of other shards."""

    steps: tuple[Step, ...]
    shard: str = ""
    elsewhere: tuple[str, ...] = ()
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
    """The layers of ``targets`` that a change of ``component`` rebuilds.

    Raises:
        UsageError: no target has the component.
    """
    named = components_named(component, targets)
    anew, stays = {}, {}
    for target in targets:
        touched = [each.name for each in layers[target.id] if each.components & named]
        if touched:
            anew[target.id] = tuple(touched)
        stays[target.id] = tuple(
            each.name for each in layers[target.id] if not each.components & named
        )
    return Change(component=component, anew=anew, stays=stays)
