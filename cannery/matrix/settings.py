# SPDX-License-Identifier: Apache-2.0
"""Reads cannery.toml, which is optional: where this checkout takes CANN and base images from.

Its mirrors and images are put into the targets of a matrix.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, ValidationInfo

from cannery.common.bases import DEFAULT_ORDER, Base, CannSource
from cannery.common.documents import MOST_BYTES
from cannery.common.errors import MatrixError, Problem, did_you_mean
from cannery.common.files import read_text
from cannery.common.model import CannRelease, Target, chip_hint
from cannery.common.models import Model, Parsed, Unique, fitting, parse_toml_as
from cannery.common.references import (
    full_reference,
    is_registry,
    is_versioned,
    read_reference,
    without_login,
)
from cannery.matrix.file_definitions import Server
from cannery.matrix.files import SETTINGS
from cannery.matrix.matrix import Matrix


def _path(text: str, info: ValidationInfo) -> Path:
    root: Path = (info.context or {}).get("root", Path())
    return root / text


def _program(text: str, info: ValidationInfo) -> Path:
    path = _path(text, info)
    if not path.is_file():
        raise ValueError(f"there is no program {path}.")
    return path


def _removed(_: str) -> str:
    raise ValueError(
        "the vendor's signatures are no longer verified, only the sha256 of each file. "
        "Remove the line."
    )


Printable = Annotated[
    str, fitting(str.isprintable, "the value has line breaks or control characters.")
]
Image = Annotated[
    str,
    fitting(
        is_versioned,
        "{text!r} is not the reference of an image, as in registry/name:tag.",
        without_login,
    ),
]
Registry = Annotated[
    str,
    fitting(
        is_registry,
        "{text!r} is not a registry. "
        "Write it as registry.example.com or registry.example.com/folder.",
        without_login,
    ),
]
Repository = Annotated[
    str,
    fitting(
        lambda text: (named := read_reference(text)) and named.registry and not named.version,
        "{text!r} is not a repository with its registry. Write it as docker.io/library/debian.",
        without_login,
    ),
]
Mirrors = Mapping[str, tuple[str, ...]]


class Sources(Model):
    """Where files of CANN are from."""

    order: Annotated[Unique[CannSource], Field(min_length=1)] = DEFAULT_ORDER
    servers: tuple[
        Annotated[
            Server, BeforeValidator(lambda url: {"url": url} if isinstance(url, str) else url)
        ],
        ...,
    ] = Field(default=(), description="Servers that have files under their names alone.")
    accept_eula: Printable = Field(
        default="", alias="accept-eula", description="Who accepts the vendor's licence."
    )
    cache: Annotated[Path, Parsed(_path, info=True)] | None = Field(
        default=None, description="The folder of the store."
    )
    cann_ca: Annotated[str, Parsed(_removed)] = Field(default="", alias="cann-ca", deprecated=True)


class Settings(Model):
    """What cannery.toml says, and the defaults of the rest."""

    sources: Sources = Sources()
    images: dict[str, dict[str, Image]] = Field(
        default={}, description="Release and chip to the reference of an image with it."
    )
    mirrors: dict[Registry, tuple[Registry, ...]] = Field(
        default={}, description="Registry to those that are asked in its place."
    )
    stand_ins: dict[Repository, Annotated[Path, Parsed(_program, info=True)]] = Field(
        default={},
        alias="stand-ins",
        description="Repository to the program that makes an image in place of one of its images "
        "if no registry can be reached.",
    )


def read_settings(root: Path) -> Settings:
    """The settings of the checkout in ``root``; relative paths in it are below ``root``.

    Raises:
        MatrixError: with every problem of the file, each with its key and its line.
        FileError: it cannot be read.
    """
    try:
        text = read_text(root / SETTINGS, MOST_BYTES)
    except FileNotFoundError:
        return Settings()
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    return parse_toml_as(Settings, text, SETTINGS, {"root": root})


def with_settings(matrix: Matrix, settings: Settings) -> Matrix:
    """``matrix`` with the mirrors, stand-ins and vendor's images of ``settings``.

    Raises:
        MatrixError: ``settings`` has an image of a release or for a chip that no target uses.
    """
    if not settings.mirrors and not settings.images and not settings.stand_ins:
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
        base=_own_base(target.base, settings),
        build_base=_own_base(target.build_base, settings),
        cann=replace(cann, images={**cann.images, **own}),
    )


def _own_base(base: Base, settings: Settings) -> Base:
    program = settings.stand_ins.get(full_reference(base.image).name)
    return replace(base, mirrors=at_mirrors(base.image, settings.mirrors), stand_in=program)


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
            where = settings.place("images", version)
            what = f"images.{version}: no target uses CANN {version}."
            yield Problem(what=what, fix=did_you_mean(version, releases), where=where)
            continue
        for chip in images.keys() - set(releases[version].chips):
            where = settings.place("images", version, chip)
            what = f"images.{version}.{chip}: CANN {version} has no kernels for chip {chip!r}."
            fix = chip_hint(chip, releases[version].chips)
            yield Problem(what=what, fix=fix, where=where)
