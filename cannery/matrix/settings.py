# SPDX-License-Identifier: Apache-2.0
"""Reads cannery.toml, which is optional: the defaults of options, and this site's own servers.

Its mirrors and images are put into the targets of a matrix. An option that is a setting has a key
there by its declaration in ``cannery.options``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, create_model
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from cannery.common.bases import Address, Base
from cannery.common.documents import MOST_BYTES
from cannery.common.errors import MatrixError, Problem, UsageError, did_you_mean, enumerated
from cannery.common.files import read_text
from cannery.common.model import CannRelease, Target, chip_hint
from cannery.common.models import (
    Mistake,
    MistakesError,
    Model,
    Parsed,
    Unique,
    fitting,
    matching,
    parse_toml_as,
)
from cannery.common.option import Declared
from cannery.common.references import (
    full_reference,
    is_registry,
    is_versioned,
    read_reference,
    without_login,
)
from cannery.matrix.file_definitions import Server, Url
from cannery.matrix.files import SETTINGS
from cannery.matrix.matrix import Matrix
from cannery.options import all_settings


def _path(text: str, info: ValidationInfo) -> Path:
    root: Path = (info.context or {}).get("root", Path())
    return root / text


def _program(text: str, info: ValidationInfo) -> Path:
    path = _path(text, info)
    if not path.is_file():
        raise ValueError(f"there is no program {path}.")
    return path


_APT = "https://ascend.devcloud.huaweicloud.com/cann/debian"
"""The vendor's repository, as public build scripts use it (read 2026-11-28; docs/cann.md)."""

_MOVED = {"order": "source", "accept-eula": "accept-eula", "cache": "cache", "servers": "servers"}
_HARMLESS = ("accept", "accept-language", "referer", "user-agent")
_VARIABLE = re.compile(r".*\$\{\w+\}.*")


def _moved(table: Any) -> None:
    keys = [*table] if isinstance(table, dict) else []
    moves = [f"{key!r} as {_MOVED[key]!r}" for key in keys if key in _MOVED] or ["its keys"]
    raise MistakesError(
        [((), "this table is gone.", f"Write {enumerated(moves)} at the head of the file.")]
    )


def _without_secrets(server: Address) -> Address:
    """``server``, of which no secret is in the file."""
    mistakes: list[Mistake] = []
    if without_login(server.url) != server.url:
        mistakes.append((("url",), "this has a login, and a file is no place for one.", _NETRC))
    for name, value in server.headers:
        if name.lower() not in _HARMLESS and not _VARIABLE.match(value):
            what = "this may be a secret, and a file is no place for one."
            fix = "Put it into a variable of the environment, and write ${NAME} here."
            mistakes.append((("headers", name), what, fix))
    if mistakes:
        raise MistakesError(mistakes)
    return server


_NETRC = "Put it into ~/.netrc."


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


Fingerprint = Annotated[
    str,
    matching(
        r"[0-9A-Fa-f]{40}",
        "{text!r} is not the fingerprint of a key: 40 digits, as 'gpg --show-keys FILE' prints it.",
    ),
]


class Apt(Model):
    """The vendor's repository for apt, and the key that its index must be signed with."""

    url: Url = Field(default=_APT, description="The folder with 'dists'.")
    suite: str = "cann"
    component: str = "main"
    key: Annotated[Path, Parsed(_path, info=True)] = Field(description="A file with its key.")
    fingerprint: Fingerprint = Field(description="That of the key: 40 digits.")


class Settings(Model):
    """What cannery.toml says besides the defaults of options, which ``value`` has."""

    servers: tuple[
        Annotated[
            Server,
            BeforeValidator(lambda url: {"url": url} if isinstance(url, str) else url),
            AfterValidator(_without_secrets),
        ],
        ...,
    ] = Field(default=(), description="Servers that have files under their names alone.")
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
    apt: Apt | None = None
    sources: Annotated[None, BeforeValidator(_moved)] = Field(default=None, deprecated=True)

    def apt_source(self) -> Apt:
        """What ``apt`` says."""
        if self.apt:
            return self.apt
        what = "the source 'apt' needs the key of the vendor's repository, and cannery.toml names "
        fix = "Add [apt] with 'key' and 'fingerprint'; docs/cann.md says where they are from."
        raise UsageError(Problem(what=f"{what}none.", fix=fix))

    def value(self, key: str) -> Any:
        """The value of the setting ``key``; None if the file has none."""
        return getattr(self, _field(key), None)


def _field(key: str) -> str:
    return key.replace("-", "_")


@dataclass(frozen=True)
class _Read:
    """Marks a value that is read as that of the option ``declared``."""

    declared: Declared

    def __get_pydantic_core_schema__(self, *_: Any) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(self._read)

    def __get_pydantic_json_schema__(self, *_: Any) -> JsonSchemaValue:
        choices = self.declared.option.choices
        kind = "integer" if self.declared.kind is int else "string"
        return {"enum": [*choices]} if choices else {"type": kind}

    def _read(self, written: Any, info: ValidationInfo) -> Any:
        option, number = self.declared.option, self.declared.kind is int
        if not isinstance(written, int if number else str) or isinstance(written, bool):
            kind = "a number" if number else "text"
            raise MistakesError([((), f"this must be {kind}.", "")])
        text = str(written).strip()
        if not text:
            raise MistakesError([((), "this is empty.", "Write a value.")])
        if option.shown(text) != text:
            what = "this has a secret, and a file is no place for one."
            fix = f"Put it into the variable {self.declared.variable}."
            fix = "Leave it out, and use docker login." if option.setting == "registry" else fix
            raise MistakesError([((), what, fix)])
        if option.choices and text not in option.choices:
            hint = did_you_mean(text, option.choices)
            raise MistakesError([((), f"there is no {text!r}.", hint)])
        if self.declared.kind is Path:
            return _path(text, info)
        return self.declared.read(text)


@cache
def settings_file() -> type[Settings]:
    """The model of cannery.toml: the settings of options, and what no option has."""
    fields: dict[str, Any] = {}
    for key, declared in all_settings().items():
        kind: Any = Annotated[Any, _Read(declared)]
        if declared.repeated:
            kind = Annotated[Unique[kind], Field(min_length=1)]
        text = declared.option.help[0].upper() + declared.option.help[1:] + "."
        fields[_field(key)] = kind, Field(default=None, alias=key, description=text)
    return create_model("SettingsFile", __base__=Settings, **fields)


def read_settings(root: Path) -> Settings:
    """The settings of the checkout in ``root``; relative paths in it are below ``root``."""
    try:
        text = read_text(root / SETTINGS, MOST_BYTES)
    except FileNotFoundError:
        return Settings()
    return _parsed(text.removeprefix("\ufeff").replace("\r\n", "\n"), root)


@lru_cache(maxsize=2)
def _parsed(text: str, root: Path) -> Settings:
    return parse_toml_as(settings_file(), text, SETTINGS, {"root": root})


def with_settings(matrix: Matrix, settings: Settings) -> Matrix:
    """``matrix`` with the mirrors, stand-ins and vendor's images of ``settings``."""
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


def with_bases(targets: Iterable[Target], allowed: str) -> list[Target]:
    """``targets`` with bases of "any" origin, only "pulled" ones, or those of "mirrors" only."""
    if allowed == "any":
        return [*targets]
    change: dict[str, Any] = {"stand_in": None, "only_mirrors": allowed == "mirrors"}
    return [
        replace(
            target,
            base=replace(target.base, **change),
            build_base=replace(target.build_base, **change),
        )
        for target in targets
    ]


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
