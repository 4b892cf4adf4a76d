# SPDX-License-Identifier: Apache-2.0
"""The differences between two images, records or commits."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from cannery.building import git
from cannery.building.affected import CONTEXT, IMAGES, folders_of, read_commit
from cannery.common import console
from cannery.common.console import columns, fold, size_text
from cannery.common.errors import (
    EngineError,
    MatrixError,
    Problem,
    UsageError,
    closest,
    did_you_mean,
)
from cannery.common.files import read_text
from cannery.common.outside import json_text, one_line, printable
from cannery.common.references import image_name
from cannery.engine import client as engine
from cannery.engine.images import local_images
from cannery.image.plan import NAMESPACE, plan_image
from cannery.lock.debs import FILE as DEBS_FILE
from cannery.lock.debs import parse_debs
from cannery.lock.lock_file import parse_lock
from cannery.matrix.files import MATRIX
from cannery.matrix.project import Project
from cannery.matrix.schema import parse_matrix
from cannery.publish.inventory import Package, image_inventory
from cannery.registry.records import Record, read_record, read_records

PACKAGES = ("wheels", "debian", "vendor")
"""The sections whose values are versions of packages."""


class SideKind(StrEnum):
    """The kind of thing that is compared. Each has sizes and layers of its own meaning."""

    IMAGE = "image"
    """A local image: sizes are unpacked."""
    RECORD = "record"
    """The record of a push: sizes are those of compressed layers."""
    COMMIT = "commit"
    """The files of a target at a commit, which have no sizes."""


@dataclass(frozen=True, kw_only=True)
class LayerContent:
    """One layer. Layers of equal ``identity`` are equal; ``size`` in bytes is None if unknown."""

    name: str
    identity: str
    size: int | None = None


@dataclass(frozen=True, kw_only=True)
class Contents:
    """One side of a comparison, with everything that is known about it.

    ``sections`` maps headings, such as ``wheels`` or ``labels``, to names and values. ``files``
    maps those of ``PACKAGES`` to names and the files that these packages were installed from.
    ``size`` is in bytes, and None if it is unknown.
    """

    name: str
    kind: SideKind
    sections: Mapping[str, Mapping[str, str]]
    files: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    layers: Sequence[LayerContent] = ()
    size: int | None = None


@dataclass(frozen=True, kw_only=True)
class Section:
    """The differences below one heading; ``equal`` is the number of equal entries."""

    added: Mapping[str, str]
    removed: Mapping[str, str]
    changed: Mapping[str, tuple[str, str]]
    equal: int

    @property
    def differs(self) -> bool:
        """True for any difference."""
        return bool(self.added or self.removed or self.changed)


@dataclass(frozen=True, kw_only=True)
class LayerChange:
    """A layer with its ``sizes`` on both sides; ``state`` is equal, changed, added or removed."""

    name: str
    state: str
    sizes: tuple[int | None, int | None]


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The comparison of ``before`` with ``after``; ``sections`` are by their headings.

    ``only_one`` names the sections that only one side has, so that they cannot be compared.
    """

    before: Contents
    after: Contents
    sections: Mapping[str, Section]
    layers: tuple[LayerChange, ...]
    only_one: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """True for any difference."""
        changed = any(layer.state != "equal" for layer in self.layers)
        return changed or any(section.differs for section in self.sections.values())


def difference(before: Contents, after: Contents) -> Difference:
    """Compare two sides, section by section and layer by layer."""
    sections = {}
    for name in before.sections:
        if name not in after.sections:
            continue
        old, new = before.sections[name], after.sections[name]
        sections[name] = _section(old, new)
        if name in PACKAGES:
            # A package with another version has another file in any case.
            files = before.files.get(name, {}), after.files.get(name, {})
            equal = {package for package in old if old[package] == new.get(package)}
            both = sorted(equal & {*files[0]} & {*files[1]})
            of_files = _section(*({package: side[package] for package in both} for side in files))
            if of_files.differs:
                sections[f"files of {name}"] = of_files
    old_layers, new_layers = (
        {layer.name: layer for layer in side.layers} for side in (before, after)
    )
    layers = []
    # Those of ``after`` first.
    for name in {**new_layers, **old_layers} if old_layers and new_layers else ():
        a, b = old_layers.get(name), new_layers.get(name)
        state = "removed" if a else "added"
        if a and b:
            state = "equal" if a.identity == b.identity else "changed"
        sizes = (a.size if a else None, b.size if b else None)
        layers.append(LayerChange(name=name, state=state, sizes=sizes))
    return Difference(
        before=before,
        after=after,
        sections=sections,
        layers=tuple(layers),
        only_one=tuple(sorted({*before.sections} ^ {*after.sections})),
    )


def _section(old: Mapping[str, str], new: Mapping[str, str]) -> Section:
    both = sorted({*old} & {*new})
    changed = {name: (old[name], new[name]) for name in both if old[name] != new[name]}
    return Section(
        added={name: new[name] for name in sorted({*new} - {*old})},
        removed={name: old[name] for name in sorted({*old} - {*new})},
        changed=changed,
        equal=len(both) - len(changed),
    )


_ABSENT = "-"
_LONG = 60
"""Values with more characters are on lines of their own."""

_SIZES = {SideKind.IMAGE: "unpacked", SideKind.RECORD: "compressed"}


def difference_text(compared: Difference, width: int = 0) -> str:
    """Tables of all that differs. Lines longer than ``width`` are folded, if it is not 0."""
    before, after = compared.before, compared.after
    lines = columns([("before", before.name, before.kind), ("after", after.name, after.kind)])
    if before.size is not None and after.size is not None:
        kinds = f"{_SIZES[before.kind]} and {_SIZES[after.kind]}, which cannot be compared"
        change = after.size - before.size
        end = f"({'-' if change < 0 else '+'}{size_text(abs(change))}), {_SIZES[after.kind]}"
        end = end if before.kind is after.kind else f"({kinds})"
        lines += ["", f"size: {size_text(before.size)} -> {size_text(after.size)} {end}"]
    for name, section in compared.sections.items():
        if section.differs:
            counts = {
                "changed": len(section.changed),
                "added": len(section.added),
                "removed": len(section.removed),
                "equal": section.equal,
            }
            parts = [f"{count:,} {state}" for state, count in counts.items() if count]
            lines += ["", f"{name}: {', '.join(parts)}", *_rows(section)]
    if compared.layers:
        lines += ["", *_layer_lines(compared)]
    if compared.only_one:
        names = ", ".join(compared.only_one)
        lines += ["", f"not compared, because only one side has them: {names}"]
    if not compared.differs:
        lines += ["", "no difference"]
    return printable("\n".join(fold(lines, width)))


def difference_json(compared: Difference) -> str:
    """The same as JSON, with sizes in bytes."""
    content: dict[str, Any] = {
        **{
            side: {"name": contents.name, "kind": contents.kind, "size": contents.size}
            for side, contents in (("before", compared.before), ("after", compared.after))
        },
        "differs": compared.differs,
        "sections": {name: asdict(section) for name, section in compared.sections.items()},
        "layers": [asdict(layer) for layer in compared.layers],
        "not_compared": compared.only_one,
    }
    return json_text(content)


def _rows(section: Section) -> Iterator[str]:
    """A table of short values, and then the long ones, each on its own line."""
    values = [
        *((name, old, new) for name, (old, new) in section.changed.items()),
        *((name, _ABSENT, new) for name, new in section.added.items()),
        *((name, old, _ABSENT) for name, old in section.removed.items()),
    ]
    rows = sorted((one_line(name), one_line(old), one_line(new)) for name, old, new in values)
    short = [row for row in rows if max(map(len, row)) <= _LONG]
    if short:
        yield from (f"  {line}" for line in columns([("", "before", "after"), *short]))
    for name, old, new in rows:
        if (name, old, new) not in short:
            yield from (f"  {name}", f"    before  {old}", f"    after   {new}")


def _layer_lines(compared: Difference) -> Iterator[str]:
    counts = Counter(layer.state for layer in compared.layers)
    states = [state for state in ("changed", "added", "removed", "equal") if counts[state]]
    yield f"layers: {', '.join(f'{counts[state]} {state}' for state in states)}"
    # Without sizes, as of commits, equal layers are left out.
    sized = any(size is not None for layer in compared.layers for size in layer.sizes)
    rows = []
    for layer in compared.layers:
        if sized:
            sizes = [_ABSENT if size is None else size_text(size) for size in layer.sizes]
            rows.append((layer.name, layer.state, *sizes))
        elif layer.state != "equal":
            rows.append((layer.name, layer.state))
    if rows:
        head = [("", "", "before", "after")] if sized else []
        yield from (f"  {line}" for line in columns([*head, *rows], right=(2, 3)))


TARGET = f"{NAMESPACE}.target"
"""The label of an image with the id of its target."""


def read_contents(project: Project, name: str) -> Contents:
    """The contents of the image or the record ``name``.

    It is the path of a record, a local image, a target with a local image, or a published image
    that a record names.
    """
    if name.endswith(".json"):
        path = Path(name).absolute()
        if not path.is_file():
            known = [
                str(file.relative_to(project.root)) for file in project.releases.glob("*/*.json")
            ]
            what = f"there is no record {name}."
            raise UsageError(Problem(what=what, fix=did_you_mean(name, known)))
        return _of_record(name, read_record(path))
    record = None
    # The newest record of a published image, by one of its tags or by its digest.
    for published in read_records(project.releases):
        tags = {f"{published.place}:{tag}" for tag in (published.tag, *published.tags)}
        if name in tags | {f"{published.place}@{digest}" for digest in published.digests}:
            record = published
    try:
        local = local_images(local_names(name))
    except EngineError:
        if not record:
            raise
        local = {}
    if local:
        reference = next(iter(local))
        return _of_image(project, reference, local[reference].labels)
    if record:
        return _of_record(name, record)
    problem = not_found(project, name)
    raise UsageError(replace(problem, fix=problem.fix or "To compare commits, add --target ID."))


def local_names(name: str) -> list[str]:
    """The local images that ``name`` can mean: those of the target ``name``, the real one first."""
    if {":", "/", "@"} & {*name}:
        return [name]
    return [image_name(name, simulate=simulate) for simulate in (False, True)]


def not_found(project: Project, name: str) -> Problem:
    """The problem that ``name`` is neither a local image nor in a record."""
    targets = project.matrix().targets
    targets_by_name = {
        text: target for target in targets for text in (target, *local_names(target))
    }
    if name in targets_by_name:
        what = f"{name} is not on this machine."
        return Problem(what=what, fix=f"Build it: python build.py --target {targets_by_name[name]}")
    what = f"there is no local image {name!r}, and no record in releases/ names it."
    near = closest(name, targets_by_name)
    return Problem(what=what, fix=f"Did you mean {near!r}?" if near else "")


def _of_image(project: Project, name: str, image_labels: Mapping[str, str]) -> Contents:
    targets = project.matrix().targets
    if TARGET not in image_labels:
        raise UsageError(f"{name} is not an image of this project: it has no label {TARGET}.")
    target = targets.get(image_labels[TARGET])
    if target is None:
        what = f"{name} is an image of {image_labels[TARGET]}, which matrix.yaml does not have."
        fix = "Compare the records of its pushes in releases/, or check out a commit that has it."
        raise UsageError(Problem(what=what, fix=fix))
    console.say(f"reading {name}")
    details = engine.image_details(name)
    config = details["Config"]
    inventory = image_inventory(name, target.platform, target)
    pairs = (pair.partition("=")[::2] for pair in config.get("Env") or [])
    layers = engine.image_layers(name)
    lock = parse_lock(read_text(project.lock(target)))
    target_layers = [layer.name for layer in plan_image(target, lock).layers]
    base = [f"base {number}" for number in range(1, len(layers) - len(target_layers) + 1)]
    names = [*(["base"] if len(base) == 1 else base), *target_layers]
    if len(names) != len(layers):
        # The image was built from another state of the checkout.
        names = [f"layer {number}" for number in range(1, len(layers) + 1)]
    return Contents(
        name=name,
        kind=SideKind.IMAGE,
        sections={
            "components": inventory.components,
            **inventory.versions,
            "environment": dict(pairs),
            "labels": config.get("Labels") or {},
        },
        files={"wheels": _files(inventory.wheels), "debian": _files(inventory.debian)},
        layers=[
            LayerContent(name=layer, identity=diff_id, size=size)
            for layer, (diff_id, size) in zip(names, layers, strict=True)
        ],
        size=details["Size"],
    )


def _files(packages: tuple[Package, ...]) -> dict[str, str]:
    return {
        package.name: f"{package.file} (sha256 {package.sha256[:12]})"
        for package in packages
        if package.sha256
    }


def _of_record(name: str, record: Record) -> Contents:
    image = next(iter(record.platforms.values()))
    return Contents(
        name=name,
        kind=SideKind.RECORD,
        sections={"components": record.components, **record.packages},
        layers=[
            LayerContent(name=layer.name, identity=layer.diff_id, size=layer.size)
            for layer in image.layers
        ],
        size=image.size,
    )


_LOCK = "requirements.lock"
_LISTED = (_LOCK, DEBS_FILE)
"""Files whose packages are compared one by one."""


def commit_contents(project: Project, revision: str, target_id: str) -> Contents:
    """The components, packages, layers and rendered files of a target at a commit."""
    root = project.root
    resolved = git.resolve(root, revision)
    if not resolved:
        hint = did_you_mean(revision, git.names(root))
        raise UsageError(Problem(what=f"there is no commit {revision!r}.", fix=hint))
    folder = f"{IMAGES}{target_id}/"
    commit = read_commit(project, resolved)
    if MATRIX not in commit.texts:
        raise MatrixError(f"{revision} has no {MATRIX}.")
    targets = parse_matrix(commit.texts[MATRIX], f"{revision}:{MATRIX}", data=commit.texts).targets
    if target_id not in targets:
        what = f"there is no target {target_id!r} at {revision}."
        raise UsageError(Problem(what=what, fix=did_you_mean(target_id, targets)))
    target = targets[target_id]
    folders = folders_of(commit)
    files = folders.get(folder, {})
    if _LOCK not in files:
        raise MatrixError(f"there is no {revision}:{folder}{_LOCK}.")
    lock = parse_lock(files[_LOCK], f"{revision}:{folder}{_LOCK}")
    if DEBS_FILE in files:
        lock = replace(lock, debs=parse_debs(files[DEBS_FILE], f"{revision}:{folder}{DEBS_FILE}"))
    plan = plan_image(target, lock)
    debs = lock.debs.debs if lock.debs else {}
    programs = folders.get(CONTEXT, {})
    return Contents(
        name=f"{target_id} at {revision}",
        kind=SideKind.COMMIT,
        sections={
            "components": {**target.components, "chip": target.chip},
            "wheels": {wheel.name: wheel.version for wheel in lock.wheels},
            **({"debian": {name: deb.version for name, deb in debs.items()}} if lock.debs else {}),
            "vendor": {name: file.name for name, file in target.artifacts.items()},
            "environment": plan.environment.all,
            "rendered files": {name: _short(files[name]) for name in files if name not in _LISTED},
            "build programs": {name: _short(text) for name, text in programs.items()},
        },
        files={
            "wheels": {
                wheel.name: f"{wheel.files[0].name} (sha256 {wheel.files[0].sha256[:12]})"
                for wheel in lock.wheels
                if len(wheel.files) == 1
            },
            "debian": {n: f"{deb.file} (sha256 {deb.sha256[:12]})" for n, deb in debs.items()},
        },
        layers=[LayerContent(name=layer.name, identity=layer.identity) for layer in plan.layers],
    )


def _short(text: str) -> str:
    digest = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()
    return f"sha256 {digest[:12]}"
