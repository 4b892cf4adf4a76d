# SPDX-License-Identifier: Apache-2.0
"""Puts what cannery.toml says about images and registries into the targets of a matrix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from cannery.common.bases import Base
from cannery.common.cann import CannRelease
from cannery.common.errors import MatrixError, Problem, did_you_mean
from cannery.common.model import Target, chip_hint
from cannery.common.references import full_reference
from cannery.matrix.files import SETTINGS
from cannery.matrix.matrix import Matrix
from cannery.matrix.settings import Settings
from cannery.matrix.toml_places import place_of

Mirrors = Mapping[str, tuple[str, ...]]


def with_settings(matrix: Matrix, settings: Settings) -> Matrix:
    """``matrix`` with the mirrors and the vendor's images of ``settings``.

    Raises:
        MatrixError: ``settings`` has an image of a release or for a chip that no target uses.
    """
    if not settings.mirrors and not settings.images and not settings.snapshots:
        return matrix
    targets = matrix.targets.values()
    if problems := [*_unknown(settings, targets)]:
        raise MatrixError(problems)
    changed = {target.id: _changed(target, settings) for target in targets}
    return replace(matrix, targets=changed)


def _changed(target: Target, settings: Settings) -> Target:
    cann = target.cann
    own = settings.images.get(cann.version, {})
    return replace(
        target,
        base=_base(target.base, settings),
        build_base=_base(target.build_base, settings),
        cann=replace(cann, images={**cann.images, **own}),
    )


def _base(base: Base, settings: Settings) -> Base:
    if base.snapshot:
        return replace(base, archive=settings.snapshots.get(base.distribution.name, ""))
    return replace(base, mirrors=at_mirrors(base.image, settings.mirrors))


def at_mirrors(reference: str, mirrors: Mirrors) -> tuple[str, ...]:
    """The same image as ``reference`` at each mirror of its registry, by its digest if it has one.

    Without a digest it has a tag.
    """
    full = full_reference(reference)
    wanted = f"{full.repository}@{full.digest}" if full.digest else f"{full.repository}:{full.tag}"
    return tuple(f"{mirror}/{wanted}" for mirror in mirrors.get(full.registry, ()))


def _unknown(settings: Settings, targets: Iterable[Target]) -> Iterator[Problem]:
    releases: dict[str, CannRelease] = {each.cann.version: each.cann for each in targets}
    for version, images in settings.images.items():
        if version not in releases:
            where = place_of(settings.text, SETTINGS, ("images", version))
            what = f"images.{version}: no target uses CANN {version}."
            yield Problem(what=what, fix=did_you_mean(version, releases), where=where)
            continue
        for chip in images.keys() - set(releases[version].chips):
            where = place_of(settings.text, SETTINGS, ("images", version, chip))
            what = f"images.{version}.{chip}: CANN {version} has no kernels for chip {chip!r}."
            fix = chip_hint(chip, releases[version].chips)
            yield Problem(what=what, fix=fix, where=where)
