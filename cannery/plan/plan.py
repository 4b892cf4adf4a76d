# SPDX-License-Identifier: Apache-2.0
"""What a run will do with each target of a selection, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from cannery.image.layers import Layer, SharedLayer, components_named, shared
from cannery.model import Target


class Action(StrEnum):
    """What is done with a target."""

    BUILD = "build"
    VERIFY = "verify"
    """The image is there, and was not checked as this run would check it."""
    SKIP = "skip"


@dataclass(frozen=True, kw_only=True)
class Local:
    """What this machine has of a target: an image, its key, and on what all checks passed."""

    image: str = ""
    key: str = ""
    passed: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Step:
    """What is done with one target. ``image`` is the image that is there, for VERIFY and SKIP.

    ``missing`` maps the name of each file that cannot be had here to where people get it;
    ``published`` says what a registry has, where one was asked.
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
    """What a change of ``component`` would make anew in each target, and what it would leave."""

    component: str
    anew: Mapping[str, tuple[str, ...]]
    stays: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run does. ``elsewhere`` are the selected targets of other shards."""

    steps: tuple[Step, ...]
    shard: str = ""
    elsewhere: tuple[str, ...] = ()
    change: Change | None = None

    def of(self, *actions: Action) -> list[Step]:
        return [step for step in self.steps if step.action in actions]

    @property
    def shared(self) -> tuple[SharedLayer, ...]:
        """The layers that are made once for several of the targets that are built."""
        return shared({step.id: step.layers for step in self.of(Action.BUILD)})


@dataclass(frozen=True, kw_only=True)
class Expected:
    """The image that a run would make: its name, its key, and on what it would be checked."""

    name: str
    key: str
    kinds: frozenset[str]


def choose_action(
    expected: Expected, here: Local, *, test: bool, force: bool, record: bool = False
) -> tuple[Action, str]:
    """What to do with a target, and why.

    A run that is to ``record`` results checks images again that were verified before.
    """
    name = expected.name
    if force:
        return Action.BUILD, "--force"
    if not here.image:
        return Action.BUILD, f"there is no {name} here"
    if here.key != expected.key:
        of = "from something else" if here.key else "by an older build.py"
        return Action.BUILD, f"{name} was made {of}"
    if test and not expected.kinds <= here.passed:
        without = ", ".join(sorted(expected.kinds - here.passed))
        return Action.VERIFY, f"{name} is up to date, and not verified (device: {without})"
    if test and record:
        return Action.VERIFY, f"{name} is up to date, and its results are to be recorded"
    return Action.SKIP, f"{name} is up to date"


def missing(why: Mapping[str, str]) -> str:
    """The reason for which a target without its files is skipped."""
    files = "; ".join(f"{name} ({origin})" for name, origin in why.items())
    return f"cannot be built without {files}"


def change_of(
    component: str, targets: Sequence[Target], layers: Mapping[str, Sequence[Layer]]
) -> Change:
    """What a change of ``component`` would make anew in ``targets``.

    Raises:
        UsageError: none of them has it.
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
