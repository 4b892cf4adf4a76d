# SPDX-License-Identifier: Apache-2.0
"""The tags of published images: reads and checks publish.yaml."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from packaging.version import Version

from cannery.common.errors import did_you_mean
from cannery.common.model import Target
from cannery.common.references import SIMULATED, is_repository, is_tag, tag_end
from cannery.common.yaml_reader import Section, read_yaml
from cannery.image.content_key import KEY_DIGITS, short_key
from cannery.matrix.matrix import Matrix

_TAG_FORM = "Use up to 128 letters, digits, '_', '.' and '-', and no '.' or '-' at the beginning."


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A web page where people can try out an image."""

    title: str
    url: str


@dataclass(frozen=True, kw_only=True)
class Publishing:
    """The tag policy, with the repository's name without its registry.

    ``immutable`` is a format with ``{target}`` and ``{key}``, ``moving`` one with ``{target}``.
    ``aliases`` maps further moving tags to targets, and ``by_scheme`` those that the schemes of
    other publishers give; ``indexes`` maps tags for several platforms to the targets in them, and
    ``trials`` targets to pages.
    """

    repository: str
    immutable: str
    moving: str
    aliases: Mapping[str, str] = field(default_factory=dict)
    by_scheme: Mapping[str, str] = field(default_factory=dict)
    indexes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    trials: Mapping[str, Trial] = field(default_factory=dict)

    def immutable_tag(self, target_id: str, key: str, *, simulate: bool) -> str:
        """The tag that always names the image with the content key ``key``."""
        return self.immutable.format(target=target_id, key=short_key(key)) + tag_end(
            simulate=simulate
        )

    def moving_tags(self, target_id: str, *, simulate: bool) -> tuple[str, ...]:
        """The tags that follow the newest image of a target: its own, then the others.

        Only its own tag ever names a simulated image.
        """
        own = self.moving.format(target=target_id) + tag_end(simulate=simulate)
        others = [*self.aliases.items(), *self.by_scheme.items()]
        owned = (tag for tag, owner in others if owner == target_id)
        return (own, *(() if simulate else owned))

    def immutable_pattern(self, target_id: str) -> re.Pattern[str]:
        """Matches all immutable tags of a target."""
        return re.compile(
            re.escape(self.immutable)
            .replace(re.escape("{target}"), re.escape(target_id))
            .replace(re.escape("{key}"), f"[0-9a-f]{{{KEY_DIGITS}}}")
            + f"({SIMULATED})?"
        )

    def index_tag(self, tag: str, *, simulate: bool) -> str:
        """The tag of an image for several platforms."""
        return tag + tag_end(simulate=simulate)


def load(path: Path, matrix: Matrix) -> Publishing:
    """Read the tag policy in ``path``, whose targets are those of ``matrix``."""
    return read_yaml(path, path.name, lambda top: publishing_of(top, matrix))


def publishing_of(top: Section, matrix: Matrix) -> Publishing:
    """The tag policy of the publish.yaml ``top``; mistakes become problems."""
    if top.text("schema") not in ("1", ""):
        top.wrong("schema", "this version of cannery reads schema 1 only.")
    repository = top.text("repository")
    if repository and not is_repository(repository):
        fix = "Use a-z, 0-9, '-', '_', '.' and '/', and leave the registry out."
        top.wrong("repository", f"invalid repository name {repository!r}.", fix)
    immutable, moving = _rules(top.section("tags"))
    aliases, indexes = _aliases(top, matrix), _indexes(top, matrix)
    schemes = [
        scheme for scheme in top.texts("schemes", _against_scheme) if not _against_scheme(scheme)
    ]
    by_scheme = scheme_tags(schemes, matrix.targets.values())
    publishing = Publishing(
        repository=repository,
        immutable=immutable,
        moving=moving,
        aliases=aliases,
        by_scheme={
            tag: owner for tag, owner in by_scheme.items() if tag not in {*aliases, *indexes}
        },
        indexes=indexes,
        trials=_trials(top, matrix),
    )
    if immutable and moving:
        _check_names(top, publishing, matrix)
    return publishing


def _rules(section: Section | None) -> tuple[str, str]:
    """The formats of the two tags of a target; empty if one is wrong."""
    if section is None:
        return "", ""
    rules = []
    for name, needed in (("immutable", ("target", "key")), ("moving", ("target",))):
        rule = section.text(name)
        if rule and {*(fields_of(rule) or ())} != {*needed}:
            fields = " and ".join(f"{{{field}}}" for field in needed)
            section.wrong(name, f"{rule!r} must contain {fields}, and nothing else in braces.")
            rule = ""
        rules.append(rule)
    section.done()
    return rules[0], rules[1]


def _aliases(top: Section, matrix: Matrix) -> dict[str, str]:
    section = top.section("aliases", required=False)
    if section is None:
        return {}
    uses = {target.recommended: target for target in matrix.targets.values() if target.recommended}
    known = {**matrix.targets, **uses}
    owners = {alias: section.choose(alias, known, "target") for alias in section.names()}
    for alias in owners:
        _check_tag(section, alias)
    return {alias: owner.id for alias, owner in owners.items() if owner}


def _against_scheme(scheme: str) -> str:
    fields = fields_of(scheme)
    if not fields:
        return f"{scheme!r} must contain fields in braces, as in '{{cann}}-{{chip}}'."
    hints = [
        f"there is no field {name!r}. {did_you_mean(name, FIELDS) or 'Known: ' + ', '.join(FIELDS)}"
        for name in fields
        if name not in FIELDS
    ]
    return " ".join(hints)


def _check_tag(section: Section, tag: str) -> None:
    if not is_tag(tag):
        section.wrong(tag, f"invalid tag {tag!r}.", _TAG_FORM)


def _indexes(top: Section, matrix: Matrix) -> dict[str, tuple[str, ...]]:
    section = top.section("indexes", required=False)
    if section is None:
        return {}
    indexes = {}
    for tag in section.names():
        _check_tag(section, tag)
        ids = section.texts(tag, lambda name: _unknown(name, matrix))
        targets = [matrix.targets[name] for name in ids if name in matrix.targets]
        if len(targets) == len(ids):
            indexes[tag] = ids
            _check_index(section, tag, targets)
    return indexes


def _check_index(section: Section, tag: str, targets: list[Target]) -> None:
    if len(targets) < 2:
        section.wrong(tag, f"the index {tag!r} needs two or more targets.")
        return
    platforms = [target.platform for target in targets]
    if len({*platforms}) < len(platforms):
        what = f"the index {tag!r} needs one target for each platform, not {', '.join(platforms)}."
        section.wrong(tag, what)
    contents = {tuple(sorted(target.components.items())) for target in targets}
    if len(contents) > 1:
        what = f"the targets of the index {tag!r} differ in more than their platform."
        fix = "Name targets with equal versions: people expect the same on every machine."
        section.wrong(tag, what, fix)


def _unknown(name: str, matrix: Matrix) -> str:
    hint = did_you_mean(name, matrix.targets)
    return "" if name in matrix.targets else f"there is no target {name!r}. {hint}".rstrip()


def _trials(top: Section, matrix: Matrix) -> dict[str, Trial]:
    section = top.section("trials", required=False)
    if section is None:
        return {}
    trials = {}
    for name, trial in section.sections():
        if what := _unknown(name, matrix):
            section.wrong(name, what)
        title, url = trial.text("title"), trial.text("url")
        if url and not re.fullmatch(r"https?://[^\s<>\"']+", url):
            trial.wrong("url", f"invalid URL {url!r}.", "Begin it with https://.")
        trial.done()
        trials[name] = Trial(title=title, url=url)
    return trials


def _check_names(top: Section, publishing: Publishing, matrix: Matrix) -> None:
    """Report every tag that two targets, aliases or indexes would use."""
    taken: dict[str, str] = {}
    for name in matrix.targets:
        for simulate in (False, True):
            tag = publishing.moving_tags(name, simulate=simulate)[0]
            other = taken.setdefault(tag, f"target {name}")
            if other != f"target {name}":
                top.wrong("tags", f"{tag!r} would be the tag of {other} and of target {name}.")
            example = publishing.immutable_tag(name, "0" * KEY_DIGITS, simulate=simulate)
            for each in (tag, example):
                if not is_tag(each):
                    top.wrong("tags", f"{each!r} would be an invalid tag of {name}.", _TAG_FORM)
    for key, kind, tags in (
        ("aliases", "alias", publishing.aliases),
        ("indexes", "index", publishing.indexes),
    ):
        section = top.section(key, required=False) or top
        for tag in tags:
            other = taken.setdefault(tag, f"the {kind} {tag}")
            if other != f"the {kind} {tag}":
                section.wrong(tag, f"{tag!r} is already the tag of {other}.", "Rename it.")
    for tag, name in publishing.by_scheme.items():
        if tag in taken:
            top.wrong("schemes", f"{tag!r} of {name} is already the tag of {taken[tag]}.")
        elif not is_tag(tag):
            top.wrong("schemes", f"{tag!r} would be an invalid tag of {name}.", _TAG_FORM)
        taken[tag] = f"target {name}"
    _check_immutable(top, publishing, matrix, taken)


def _check_immutable(
    top: Section, publishing: Publishing, matrix: Matrix, taken: Mapping[str, str]
) -> None:
    """Report every tag that could also be an immutable tag of a later image."""
    patterns = {name: publishing.immutable_pattern(name) for name in matrix.targets}
    for tag, owner in taken.items():
        for name, pattern in patterns.items():
            if pattern.fullmatch(tag):
                what = f"{tag!r} of {owner} could be the immutable tag of an image of {name}."
                top.wrong("tags", what, "Rename it.")


FIELDS = (
    *("arch", "cann", "chip", "os", "python", "torch", "torch_npu", "deepspeed"),
    *("application", "application_version"),
)
"""Names that a scheme may have in braces; ``os`` is the base's name without its '-'."""


def fields_of(scheme: str) -> tuple[str, ...] | None:
    """The names in braces in ``scheme``; None if it is no format of plain fields."""
    try:
        parts = [part for part in string.Formatter().parse(scheme) if part[1] is not None]
    except ValueError:
        return None
    if any(form or conversion for _, _, form, conversion in parts):
        return None
    return tuple(str(part[1]) for part in parts)


def scheme_tags(schemes: Iterable[str], targets: Iterable[Target]) -> dict[str, str]:
    """Tag to the id of the target that owns it.

    A target has a tag only by the schemes whose fields it has all of, and an application's only by
    those that name the application. Where several targets would have a tag, the one with the
    newest torch owns it, or else the first.
    """
    owners: dict[str, Target] = {}
    ordered = sorted(targets, key=lambda target: Version(target.torch or "0"), reverse=True)
    for scheme in schemes:
        used = fields_of(scheme) or ()
        for target in ordered:
            application = target.application
            values = {
                "arch": target.docker_arch,
                "cann": target.cann.version,
                "chip": target.chip,
                "os": target.base.name.replace("-", "", 1),
                "python": target.python.minor,
                "torch": target.torch,
                "torch_npu": target.torch_npu,
                "deepspeed": target.deepspeed,
                "application": application.component if application else "",
                "application_version": application.version if application else "",
            }
            applied = "application" in used
            if applied == bool(application) and all(values.get(name) for name in used):
                owners.setdefault(scheme.format(**values), target)
    return {tag: target.id for tag, target in owners.items()}
