# SPDX-License-Identifier: Apache-2.0
"""Reads cannery.toml, which is optional: where this checkout takes CANN and base images from.

Its mirrors and images are put into the targets of a matrix.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from cannery.common.bases import DEFAULT_ORDER, Address, Base, CannSource
from cannery.common.errors import MatrixError, Problem, Span, did_you_mean
from cannery.common.files import read_text
from cannery.common.http import without_login
from cannery.common.model import CannRelease, Target, chip_hint
from cannery.common.outside import parse_toml
from cannery.common.references import full_reference, is_registry, is_versioned, read_reference
from cannery.matrix.file_definitions import is_header, is_url
from cannery.matrix.files import SETTINGS
from cannery.matrix.matrix import Matrix

T = TypeVar("T")

_AT = re.compile(r"\(at (?:line ([0-9]+), column ([0-9]+)|end of document)\)")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What cannery.toml says, and the defaults of the rest.

    ``servers`` have files under their names alone. ``accept_eula`` is who accepts the vendor's
    licence, and ``cache`` the folder of the store. ``images`` maps a release and a chip to the
    reference of an image, ``mirrors`` a registry to those that are asked in its place, and
    ``stand_ins`` a repository to the program that makes an image in place of one of its images if
    no registry can be reached.
    ``text`` is the file's.
    """

    order: tuple[CannSource, ...] = DEFAULT_ORDER
    servers: tuple[Address, ...] = ()
    accept_eula: str = ""
    cache: Path | None = None
    images: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    mirrors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    stand_ins: Mapping[str, Path] = field(default_factory=dict)
    text: str = field(default="", repr=False, compare=False)


def read_settings(root: Path) -> Settings:
    """The settings of the checkout in ``root``; relative paths in it are below ``root``.

    Raises:
        MatrixError: with every problem of the file, each with its key and its line.
        FileError: it cannot be read.
    """
    try:
        text = read_text(root / SETTINGS)
    except FileNotFoundError:
        return Settings()
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    try:
        loaded = parse_toml(text)
    except ValueError as error:
        raise MatrixError(_not_toml(text, str(error))) from error
    problems: list[Problem] = []
    settings = _settings(_Table(loaded, (), text, problems), root)
    if problems:
        raise MatrixError(sorted(problems, key=lambda each: (each.where is None, each.where)))
    return settings


def _not_toml(text: str, said: str) -> Problem:
    place = _AT.search(said)
    line, column = (place[1], place[2]) if place and place[1] else (text.count("\n") + 1, 1)
    what = f"the file is not TOML: {_AT.sub('', said).strip().lower() or 'nested too deeply'}."
    return Problem(what=what, where=Span(file=SETTINGS, line=int(line), column=int(column)))


class _Table:
    """A table that is being read. ``done`` reports the keys that nobody asked for."""

    def __init__(
        self, values: Mapping[str, Any], path: tuple[str, ...], text: str, problems: list[Problem]
    ) -> None:
        self._values = values
        self._path = path
        self.text_of_file = text
        self._problems = problems
        self._known: list[str] = []

    def wrong(self, key: str, what: str, fix: str = "", *, index: int | None = None) -> None:
        """Note a problem of ``key``, or of the item ``index`` of its list."""
        where = place_of(self.text_of_file, SETTINGS, (*self._path, key), index or 0)
        name = ".".join([*self._path, key]) + ("" if index is None else f"[{index}]")
        self._problems.append(Problem(what=f"{name}: {what}", fix=fix, where=where))

    def _take(self, key: str, kind: type[T], noun: str, default: T) -> T:
        self._known.append(key)
        value = self._values.get(key, default)
        if not isinstance(value, kind):
            self.wrong(key, f"the value must be {noun}.")
            return default
        return value

    def text(self, key: str) -> str:
        text = self._take(key, str, "text", "")
        if key in self._values and not text.strip():
            self.wrong(key, "the value is empty.")
        elif not text.isprintable():
            self.wrong(key, "the value has line breaks or control characters.")
        return text.strip()

    def items(self, key: str) -> list[Any]:
        return self._take(key, list, "a list", [])

    def table(self, key: str) -> _Table:
        values = self._take(key, dict, "a table", {})
        return _Table(values, (*self._path, key), self.text_of_file, self._problems)

    def tables(self) -> Iterable[tuple[str, _Table]]:
        for key in self._values:
            yield key, self.table(key)

    def names(self) -> list[str]:
        return [*self._values]

    def done(self) -> None:
        for key in self._values:
            if key not in self._known:
                self.wrong(key, "unknown key.", did_you_mean(key, self._known))


def _settings(top: _Table, root: Path) -> Settings:
    sources = top.table("sources")
    if "cann-ca" in sources.names() and sources.text("cann-ca"):
        what = "the vendor's signatures are no longer verified, only the sha256 of each file."
        sources.wrong("cann-ca", what, "Remove the line.")
    settings = Settings(
        order=_order(sources),
        servers=tuple(_servers(sources)),
        accept_eula=sources.text("accept-eula"),
        cache=_path(sources, "cache", root),
        images={name: _images(each) for name, each in top.table("images").tables()},
        mirrors=_mirrors(top.table("mirrors")),
        stand_ins=_stand_ins(top.table("stand-ins"), root),
        text=top.text_of_file,
    )
    sources.done()
    top.done()
    return settings


def _order(sources: _Table) -> tuple[CannSource, ...]:
    known = {str(each): each for each in CannSource}
    found = []
    items = sources.items("order")
    for name in items:
        if not isinstance(name, str) or name not in known:
            sources.wrong("order", f"unknown source {name!r}.", did_you_mean(str(name), known))
        elif known[name] in found:
            sources.wrong("order", f"{name!r} is there twice.", "Keep one of them.")
        else:
            found.append(known[name])
    if "order" in sources.names() and not items:
        sources.wrong("order", "the list is empty.", "Name at least one source.")
    return tuple(found) or DEFAULT_ORDER


def _servers(sources: _Table) -> Iterable[Address]:
    for number, each in enumerate(sources.items("servers")):
        table = each if isinstance(each, dict) else {"url": each}
        url, headers = table.get("url"), table.get("headers", {})
        if unknown := sorted(table.keys() - {"url", "headers"}):
            fix = did_you_mean(unknown[0], ["url", "headers"])
            sources.wrong("servers", f"unknown key {unknown[0]!r}.", fix, index=number)
        if not isinstance(url, str) or not is_url(url):
            fix = "Write it as https://HOST/PATH."
            sources.wrong("servers", f"{url!r} is not a web address.", fix, index=number)
        elif not isinstance(headers, dict) or not all(
            isinstance(value, str) and is_header(name, value) for name, value in headers.items()
        ):
            what = "'headers' must be a table of request headers."
            sources.wrong("servers", what, index=number)
        else:
            yield Address(url=url.rstrip("/"), headers=tuple(headers.items()))


def _images(release: _Table) -> dict[str, str]:
    noun = "the reference of an image, as in registry/name:tag"
    return {chip: _checked(release, chip, is_versioned, noun) for chip in release.names()}


def _mirrors(table: _Table) -> dict[str, tuple[str, ...]]:
    found = {}
    for registry in table.names():
        items = table.items(registry)
        for each in (registry, *items):
            if not isinstance(each, str) or not is_registry(each):
                fix = "Write it as registry.example.com or registry.example.com/folder."
                table.wrong(registry, f"{without_login(str(each))!r} is not a registry.", fix)
        found[registry] = tuple(str(each) for each in items)
    return found


def _stand_ins(table: _Table, root: Path) -> dict[str, Path]:
    programs = {}
    for repository in table.names():
        named = read_reference(repository)
        if not named or not named.registry or named.version:
            what = f"{without_login(repository)!r} is not a repository with its registry."
            table.wrong(repository, what, "Write it as docker.io/library/debian.")
        elif program := _path(table, repository, root):
            programs[repository] = program
            if not program.is_file():
                table.wrong(repository, f"there is no program {program}.")
    return programs


def _checked(table: _Table, key: str, fits: Callable[[str], bool], noun: str) -> str:
    text = table.text(key)
    if text and not fits(text):
        table.wrong(key, f"{without_login(text)!r} is not {noun}.")
    return text


def _path(table: _Table, key: str, root: Path) -> Path | None:
    text = table.text(key)
    return root / text if text else None


def place_of(text: str, file: str, path: Sequence[str], index: int = 0) -> Span:
    """The place of the key at ``path`` in ``text``, which is valid TOML.

    Of an array of tables it is that of the table ``index``.
    """
    found = [each for each in _statements(text) if _has(each[2], path)]
    tables = [each for each in found if each[1].startswith("[[")]
    if not found:
        return Span(file=file, line=1, column=1)
    number = (tables[index] if index < len(tables) else found[0])[0]
    line = text.split("\n")[number - 1]
    return Span(file=file, line=number, column=len(line) - len(line.lstrip()) + 1)


def _statements(text: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Every header and every key with its value: the number of its line, its text, and what it says
    below its header.
    """
    header, begun = "", 0
    lines = text.split("\n")
    for number in range(1, len(lines) + 1):
        statement = "\n".join(lines[begun:number]).lstrip()
        try:
            values = parse_toml(f"{header}\n{statement}")
        except ValueError:
            continue  # it goes on in the next line
        first, begun = begun + 1, number
        if statement.startswith("["):
            header, values = statement, parse_toml(statement)
        if statement and not statement.startswith("#"):
            yield first, statement, values


def _has(values: Any, path: Sequence[str]) -> bool:
    for key in path:
        values = values[0] if isinstance(values, list) and values else values
        if not isinstance(values, dict) or key not in values:
            return False
        values = values[key]
    return True


Mirrors = Mapping[str, tuple[str, ...]]


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
            where = place_of(settings.text, SETTINGS, ("images", version))
            what = f"images.{version}: no target uses CANN {version}."
            yield Problem(what=what, fix=did_you_mean(version, releases), where=where)
            continue
        for chip in images.keys() - set(releases[version].chips):
            where = place_of(settings.text, SETTINGS, ("images", version, chip))
            what = f"images.{version}.{chip}: CANN {version} has no kernels for chip {chip!r}."
            fix = chip_hint(chip, releases[version].chips)
            yield Problem(what=what, fix=fix, where=where)
