# SPDX-License-Identifier: Apache-2.0
"""Reads the contents of a local image, of one that a record names, or of a commit's files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from cannery.building import git
from cannery.building.affected import CONTEXT, IMAGES, folders_of, is_read
from cannery.common import console
from cannery.common.errors import (
    EngineError,
    MatrixError,
    Problem,
    UsageError,
    closest,
    did_you_mean,
)
from cannery.common.files import read_text
from cannery.common.model import Target
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
from cannery.publish.difference import Contents, LayerContent, SideKind
from cannery.publish.image_inventory import image_inventory
from cannery.publish.inventory import Package
from cannery.registry.records import Record, read_record, read_records

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
    try:
        local = local_images(local_names(name))
    except EngineError:
        if record := _recorded(project, name):
            return _of_record(name, record)
        raise
    if local:
        reference = next(iter(local))
        return _of_image(project, reference, _target(project, reference, local[reference].labels))
    if record := _recorded(project, name):
        return _of_record(name, record)
    problem = not_found(project, name)
    raise UsageError(replace(problem, fix=problem.fix or "To compare commits, add --target ID."))


def local_names(name: str) -> list[str]:
    """The local images that ``name`` can mean: those of the target ``name``, the real one first."""
    if {":", "/", "@"} & {*name}:
        return [name]
    return [image_name(name, simulate=simulate) for simulate in (False, True)]


def _recorded(project: Project, name: str) -> Record | None:
    """The newest record of the published image ``name``, by one of its tags or by its digest."""
    for record in reversed(read_records(project.releases)):
        tags = {f"{record.place}:{tag}" for tag in (record.tag, *record.tags)}
        if name in tags | {f"{record.place}@{digest}" for digest in record.digests}:
            return record
    return None


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


def _target(project: Project, name: str, labels: Mapping[str, str]) -> Target:
    """The target of a local image, by its label."""
    targets = project.matrix().targets
    if TARGET not in labels:
        raise UsageError(f"{name} is not an image of this project: it has no label {TARGET}.")
    if labels[TARGET] not in targets:
        what = f"{name} is an image of {labels[TARGET]}, which matrix.yaml does not have."
        fix = "Compare the records of its pushes in releases/, or check out a commit that has it."
        raise UsageError(Problem(what=what, fix=fix))
    return targets[labels[TARGET]]


def _of_image(project: Project, name: str, target: Target) -> Contents:
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
    commit = git.read_commit(root, resolved, is_read)
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
