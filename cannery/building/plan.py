# SPDX-License-Identifier: Apache-2.0
"""Decides what a run does with each selected target, and why; as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from cannery.common.bases import FoundBase, Origin
from cannery.common.console import columns, fold
from cannery.common.errors import CanneryError, counted
from cannery.common.model import Target
from cannery.common.outside import json_text
from cannery.engine.images import Images
from cannery.fetch.needs import Missing
from cannery.image import vendor_image
from cannery.image.content_key import LABEL, SIMULATOR, KeyInputs, used_bases
from cannery.image.layers import Layer, SharedLayer, components_named, shared
from cannery.image.render import Rendered
from cannery.matrix.project import Project
from cannery.options import BuildOptions
from cannery.verify.devices import device_kinds
from cannery.verify.image_checks import checks_digest, expected
from cannery.verify.results import report_text
from cannery.verify.verification import passed_on


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
    """One target of a run, and the action on it.

    ``files`` maps the names in both build contexts to texts. ``hashes`` maps components to the
    sha256 of their files; the simulated packages have the hash of their recipe. ``image`` is the
    existing image for VERIFY and SKIP. ``missing`` maps the names of missing files to their
    origins, ``remote`` those of files that a build would download first; ``published`` describes
    the image in the registry of --compare-with.
    """

    rendered: Rendered
    files: Mapping[str, str] = field(default_factory=dict)
    hashes: Mapping[str, str] = field(default_factory=dict)
    action: Action = Action.BUILD
    why: str = ""
    key: str = ""
    image: str = ""
    missing: Mapping[str, str] = field(default_factory=dict)
    remote: Mapping[str, str] = field(default_factory=dict)
    published: str = ""

    @property
    def target(self) -> Target:
        return self.rendered.target

    @property
    def id(self) -> str:
        return self.rendered.target.id

    def content_key(self, options: BuildOptions, used: Mapping[str, FoundBase]) -> str:
        """The content key of the image on the bases ``used``, by their build arguments."""
        return KeyInputs.from_target(
            self.target,
            self.files,
            identify_file=lambda name, _: self.hashes[name],
            identify_base=lambda name, _: used[name].identity,
            simulator=self.hashes[SIMULATOR] if options.simulate else "",
        ).key

    @property
    def committed(self) -> KeyInputs:
        """The inputs of the image in the committed files, the same on every machine."""
        simulator = self.hashes.get(SIMULATOR, "")
        return KeyInputs.committed(self.target, self.files, simulator=simulator)


@dataclass(frozen=True, kw_only=True)
class Change:
    """The layers of each target that a change of ``component`` rebuilds, and the unchanged ones."""

    component: str
    rebuilt: Mapping[str, tuple[str, ...]]
    kept: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The steps of a run. ``other_shards`` are the selected targets of other shards.

    ``failures`` has the errors of targets that were named and cannot be built, ``unavailable``
    those of other targets.
    """

    steps: tuple[Step, ...]
    failures: dict[str, CanneryError] = field(default_factory=dict)
    unavailable: dict[str, CanneryError] = field(default_factory=dict)
    shard: str = ""
    other_shards: tuple[str, ...] = ()
    change: Change | None = None
    simulated: bool = False

    def with_action(self, *actions: Action) -> list[Step]:
        return [step for step in self.steps if step.action in actions]

    @property
    def shared(self) -> tuple[SharedLayer, ...]:
        """The layers that are built once for several targets."""
        return shared({step.id: step.rendered.layers for step in self.with_action(Action.BUILD)})

    @property
    def disk(self) -> int:
        """The bytes that a build takes of the engine's disk if none of its layers is there.

        They are estimated: each layer is in the images, and once more in the build cache.
        """
        steps = self.with_action(Action.BUILD)
        layers = {layer.identity: layer for step in steps for layer in step.rendered.layers}
        return 2 * sum(layer.size(simulated=self.simulated) for layer in layers.values())


def local_state(project: Project, target: Target, name: str, images: Images) -> Local:
    """The state of the image ``name`` of ``target`` on this machine, given the local ``images``."""
    if name not in images:
        return Local()
    image = images[name]
    passed = passed_on(
        report_text(project, name),
        image_id=image.id,
        checks=checks_digest(project),
        expected=lambda kind: expected(project, target, kind),
    )
    return Local(
        image=image.id,
        key=image.labels.get(LABEL, ""),
        vendor_image=image.labels.get(vendor_image.LABEL, ""),
        bases=used_bases(image.labels),
        passed=passed,
    )


def choose_action(name: str, key: str, local: Local, options: BuildOptions) -> tuple[Action, str]:
    """The action on a target whose image ``name`` would have the content ``key``, and the reason.

    ``local`` is the image of that name.
    """
    if options.force:
        return Action.BUILD, "--force"
    if not local.image:
        return Action.BUILD, f"this machine has no {name}"
    if local.key != key:
        old = f"{name} was built by an older build.py"
        return Action.BUILD, f"the inputs of {name} have changed" if local.key else old
    if options.test and (absent := device_kinds(simulate=options.simulate) - local.passed):
        devices = ", ".join(sorted(absent))
        return Action.VERIFY, f"{name} is up to date, but not verified (device: {devices})"
    if options.test and options.record:
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
        names = {layer.name: bool(layer.components & named) for layer in layers[target.id]}
        if any(names.values()):
            rebuilt[target.id] = tuple(name for name, touched in names.items() if touched)
        kept[target.id] = tuple(name for name, touched in names.items() if not touched)
    return Change(component=component, rebuilt=rebuilt, kept=kept)


def to_text(plan: Plan, *, verbose: bool = False, width: int = 0) -> str:
    """A line for each target, totals, the effect of a change, and the files that are missing.

    ``verbose`` lists the targets of each shared layer, and the layers that a change leaves alone.
    Lines are folded at ``width`` characters; 0 folds none.
    """
    files = Missing(step.missing for step in plan.steps)
    rows = []
    for step in plan.steps:
        # The legend names the files.
        without = step.missing and step.why == missing(step.missing)
        why = files.needs(step.missing) if without else step.why
        rows.append((step.action, step.id, f"{why}; {step.published}" if step.published else why))
    counts = Counter(step.action for step in plan.steps)
    building = plan.with_action(Action.BUILD)
    waiting = len([step for step in building if step.remote])
    notes = {Action.BUILD: f" ({waiting} after a download)" if waiting else ""}
    totals = (f"{counts[action]} to {action}{notes.get(action, '')}" for action in Action)
    lines = [*columns(rows), "", ", ".join(totals)]
    if plan.disk:
        needed = f"{max(1, round(plan.disk / 1e9))} GB"
        lines.append(f"disk: at most about {needed}, half of it build cache (estimated)")
    if plan.shard:
        others = ", ".join(plan.other_shards) or "none"
        lines.append(f"shard {plan.shard}; in other shards: {others}")
    if plan.shared:
        head = f"layers built once for several targets: {len(plan.shared)}"
        targets = [f"  {same.layer.name}: {', '.join(same.targets)}" for same in plan.shared]
        lines += ["", head, *targets] if verbose else [f"{head} (--verbose lists them)"]
    if plan.change:
        lines += ["", *_change(plan.change, verbose=verbose)]
    if legend := files.legend("missing files:"):
        lines += ["", *legend]
    if waiting:
        origins = {name: origin for step in building for name, origin in step.remote.items()}
        users = Counter(name for step in building for name in step.remote)
        lines += ["", "downloads, of which a plan does not ask if the servers answer:"]
        lines += [f"  {n} ({origins[n]}): {counted(users[n], 'target')}" for n in sorted(origins)]
    return "\n".join(fold(lines, width))


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
    document: dict[str, Any] = {
        "targets": [
            {
                "id": step.id,
                "action": str(step.action),
                "why": step.why,
                "key": step.key,
                "image": step.image,
                "missing": dict(step.missing),
                "downloads": dict(step.remote),
                "registry": step.published,
                "layers": {layer.name: layer.identity for layer in step.rendered.layers},
            }
            for step in plan.steps
        ],
        "shared": [
            {
                "layer": same.layer.name,
                "identity": same.layer.identity,
                "targets": [*same.targets],
            }
            for same in plan.shared
        ],
        "shard": plan.shard,
        "other_shards": [*plan.other_shards],
        "disk": plan.disk,
        "needs": dict(needs),
    }
    if plan.change:
        document["change"] = {
            "component": plan.change.component,
            "rebuilt": {name: [*layers] for name, layers in plan.change.rebuilt.items()},
            "kept": {name: [*layers] for name, layers in plan.change.kept.items()},
        }
    return json_text(document)
