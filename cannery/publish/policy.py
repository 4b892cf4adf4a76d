# SPDX-License-Identifier: Apache-2.0
"""What images are called where they are published: publish.yaml, read and checked."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cannery.errors import did_you_mean
from cannery.model import Matrix, Target
from cannery.syntax.yaml_reader import Section, read_yaml

_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_REPOSITORY = re.compile(r"[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*")
"""Source of both: the OCI distribution specification, 1.1, "Pulling manifests"."""

_KEY_DIGITS = 12
_SIMULATED = "-sim"


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A page on which people try an image."""

    title: str
    url: str


@dataclass(frozen=True, kw_only=True)
class Publishing:
    """The tag policy. ``immutable`` has ``{target}`` and ``{key}`` in it, ``moving`` the first."""

    repository: str
    immutable: str
    moving: str
    aliases: Mapping[str, str] = field(default_factory=dict)
    indexes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    trials: Mapping[str, Trial] = field(default_factory=dict)

    def immutable_tag(self, target_id: str, key: str, *, simulate: bool) -> str:
        """The tag that only ever names the image with the content key ``key``."""
        digits = key.removeprefix("sha256:")[:_KEY_DIGITS]
        return self.immutable.format(target=target_id, key=digits) + _end(simulate=simulate)

    def moving_tags(self, target_id: str, *, simulate: bool) -> tuple[str, ...]:
        """The tags that follow the newest image of a target: its own, then its aliases.

        No alias ever names a simulated image.
        """
        own = self.moving.format(target=target_id) + _end(simulate=simulate)
        owned = (alias for alias, owner in self.aliases.items() if owner == target_id)
        return (own, *(() if simulate else owned))

    def index_tag(self, tag: str, *, simulate: bool) -> str:
        """The tag of an image for several platforms."""
        return tag + _end(simulate=simulate)


def _end(*, simulate: bool) -> str:
    return _SIMULATED if simulate else ""


def load(path: Path, matrix: Matrix) -> Publishing:
    """Read the tag policy in ``path``, whose targets are those of ``matrix``.

    Raises:
        FileError: it cannot be read.
        MatrixError: with every problem found, each with its line.
    """
    return read_yaml(path, path.name, lambda top: publishing_of(top, matrix))


def publishing_of(top: Section, matrix: Matrix) -> Publishing:
    """The tag policy of the publish.yaml ``top``; what is wrong becomes a problem."""
    if top.text("schema") not in ("1", ""):
        top.wrong("schema", "this version of cannery reads schema 1 only.")
    repository = top.text("repository")
    if repository and not _REPOSITORY.fullmatch(repository):
        fix = "Use a-z, 0-9, '-', '_', '.' and '/', and leave the registry out."
        top.wrong("repository", f"{repository!r} is no name of a repository.", fix)
    immutable, moving = _rules(top.section("tags"))
    found = Publishing(
        repository=repository,
        immutable=immutable,
        moving=moving,
        aliases=_aliases(top, matrix),
        indexes=_indexes(top, matrix),
        trials=_trials(top, matrix),
    )
    if immutable and moving:
        _check_names(top, found, matrix)
    return found


def _rules(section: Section | None) -> tuple[str, str]:
    """The rules for the two tags of a target; empty where one is wrong."""
    if section is None:
        return "", ""
    needs = {"immutable": {"target", "key"}, "moving": {"target"}}
    rules = [_rule(section, name, fields) for name, fields in needs.items()]
    section.done()
    return rules[0], rules[1]


def _rule(section: Section, name: str, needs: set[str]) -> str:
    rule = section.text(name)
    if not rule:
        return ""
    wanted = " and ".join(f"{{{each}}}" for each in sorted(needs, reverse=True))
    try:
        parts = [part for part in string.Formatter().parse(rule) if part[1] is not None]
    except ValueError:
        parts = []
    plain = all(not form and not conversion for _, _, form, conversion in parts)
    if not plain or {part[1] for part in parts} != needs:
        section.wrong(name, f"{rule!r} must have {wanted} in it, and nothing else in braces.")
        return ""
    return rule


def _owner(section: Section, key: str, matrix: Matrix) -> Target | None:
    return section.choose(key, dict(matrix.targets), "target")


def _aliases(top: Section, matrix: Matrix) -> dict[str, str]:
    section = top.section("aliases", required=False)
    if section is None:
        return {}
    owners = {alias: _owner(section, alias, matrix) for alias in section.names()}
    for alias in owners:
        _check_tag(section, alias)
    return {alias: owner.id for alias, owner in owners.items() if owner}


def _check_tag(section: Section, tag: str) -> None:
    if not _TAG.fullmatch(tag):
        fix = "Use letters, digits, '_', '.' and '-', at most 128, and no '.' or '-' in front."
        section.wrong(tag, f"{tag!r} cannot be a tag.", fix)


def _indexes(top: Section, matrix: Matrix) -> dict[str, tuple[str, ...]]:
    section = top.section("indexes", required=False)
    if section is None:
        return {}
    found = {}
    for tag in section.names():
        _check_tag(section, tag)
        ids = section.texts(tag, lambda each: _unknown(each, matrix))
        targets = [matrix.targets[each] for each in ids if each in matrix.targets]
        if len(targets) == len(ids):
            found[tag] = ids
            _check_index(section, tag, targets)
    return found


def _check_index(section: Section, tag: str, targets: list[Target]) -> None:
    if len(targets) < 2:
        section.wrong(tag, f"{tag!r} needs two targets or more.")
        return
    platforms = [target.platform for target in targets]
    if len({*platforms}) < len(platforms):
        what = f"the targets of {tag!r} are for {', '.join(platforms)}: one for each is enough."
        section.wrong(tag, what)
    contents = {tuple(sorted(target.components.items())) for target in targets}
    if len(contents) > 1:
        what = f"the targets of {tag!r} differ in more than their platform."
        section.wrong(tag, what, "People who pull it would get other versions on another machine.")


def _unknown(name: str, matrix: Matrix) -> str:
    hint = did_you_mean(name, matrix.targets)
    return "" if name in matrix.targets else f"there is no target {name!r}. {hint}".rstrip()


def _trials(top: Section, matrix: Matrix) -> dict[str, Trial]:
    section = top.section("trials", required=False)
    if section is None:
        return {}
    found = {}
    for name, each in section.sections():
        if what := _unknown(name, matrix):
            section.wrong(name, what)
        title, url = each.text("title"), each.text("url")
        if url and not re.fullmatch(r"https?://[^\s<>\"']+", url):
            each.wrong("url", f"{url!r} is no link.", "Begin it with https://.")
        each.done()
        found[name] = Trial(title=title, url=url)
    return found


def _check_names(top: Section, found: Publishing, matrix: Matrix) -> None:
    """Report every tag that two owners would write."""
    taken: dict[str, str] = {}
    for name in matrix.targets:
        for simulate in (False, True):
            tag = found.moving.format(target=name) + _end(simulate=simulate)
            other = taken.setdefault(tag, f"target {name}")
            if other != f"target {name}":
                top.wrong("tags", f"{tag!r} would be the tag of {other} and of {name}.")
            if not _TAG.fullmatch(tag):
                top.wrong("tags", f"{tag!r} cannot be a tag.", "Use a shorter name.")
    for kind, tags in (("aliases", found.aliases), ("indexes", found.indexes)):
        section = top.section(kind, required=False) or top
        for tag in tags:
            other = taken.setdefault(tag, f"the {kind} entry {tag}")
            if other != f"the {kind} entry {tag}":
                section.wrong(tag, f"{tag!r} is the tag of {other} already.", "Rename it.")
    _check_immutable(top, found, matrix, taken)


def _check_immutable(
    top: Section, found: Publishing, matrix: Matrix, taken: Mapping[str, str]
) -> None:
    """Report what could be the immutable tag of an image that is built later, too."""
    patterns = {
        name: re.compile(
            re.escape(found.immutable)
            .replace(re.escape("{target}"), re.escape(name))
            .replace(re.escape("{key}"), f"[0-9a-f]{{{_KEY_DIGITS}}}")
            + f"({_SIMULATED})?"
        )
        for name in matrix.targets
    }
    for tag, owner in taken.items():
        for name, pattern in patterns.items():
            if pattern.fullmatch(tag):
                what = f"{tag!r} of {owner} could be the immutable tag of an image of {name}."
                top.wrong("tags", what, "Rename it.")
