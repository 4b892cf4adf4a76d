# SPDX-License-Identifier: Apache-2.0
"""The tags of published images: reads and checks publish.yaml."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Self

from packaging.version import Version
from pydantic import Field, ValidationInfo, model_validator

from cannery.common.errors import did_you_mean
from cannery.common.model import Target
from cannery.common.models import (
    Mistake,
    Model,
    Parsed,
    SchemaVersion,
    Unique,
    fitting,
    matching,
    raise_mistakes,
    read_yaml,
)
from cannery.common.references import SIMULATED, is_repository, is_tag, tag_end
from cannery.image.content_key import KEY_DIGITS, short_key
from cannery.matrix.matrix import Matrix

_TAG_FORM = "Use up to 128 letters, digits, '_', '.' and '-', and no '.' or '-' at the beginning."


class Trial(Model):
    """A web page where people can try out an image."""

    title: str
    url: Annotated[
        str,
        matching(r"https?://[^\s<>\"']+", "invalid URL {text!r}. Begin it with https://."),
    ]


@dataclass(frozen=True, kw_only=True)
class Publishing:
    """The tag policy, with the repository's name without its registry; "" for none.

    ``immutable`` is a format with ``{target}`` and ``{key}``, ``moving`` one with ``{target}``.
    ``aliases`` maps further moving tags to targets, and ``by_scheme`` those that the schemes of
    other publishers give; ``indexes`` maps tags for several platforms to the targets in them, and
    ``trials`` targets to pages. ``signed_with`` is the public key that has signed what is promoted,
    a path or a URI; empty if no signature is required.
    """

    immutable: str
    moving: str
    repository: str = ""
    aliases: Mapping[str, str] = field(default_factory=dict)
    by_scheme: Mapping[str, str] = field(default_factory=dict)
    indexes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    trials: Mapping[str, Trial] = field(default_factory=dict)
    signed_with: str = ""

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
    """Read the tag policy in ``path``, whose targets are those of ``matrix``.

    Without the file the formats are the usual ones, and each push names its repository.
    """
    if not path.exists():
        return _policy(Tags(), matrix)
    targets = matrix.targets.values()
    # Of several chips, the first is the usual one.
    uses = {each.recommended: each.id for each in [*targets][::-1] if each.recommended}
    context = {"matrix": matrix, "owners": {**uses, **{name: name for name in matrix.targets}}}
    policy = read_yaml(PublishFile, path, context=context).policy(matrix)
    if (key := policy.signed_with) and "://" not in key:
        return replace(policy, signed_with=str(path.parent / key))
    return policy


def _with_fields(*needed: str) -> Callable[[str], str]:
    fields = " and ".join(f"{{{name}}}" for name in needed)

    def check(text: str) -> str:
        if {*(fields_of(text) or ())} != {*needed}:
            raise ValueError(f"{text!r} must contain {fields}, and nothing else in braces.")
        return text

    return check


def _scheme(text: str) -> str:
    fields = fields_of(text)
    if not fields:
        example = "'{cann}-{chip}'"
        raise ValueError(f"{text!r} must contain fields in braces, as in {example}.")
    for name in fields:
        if name not in FIELDS:
            hint = did_you_mean(name, FIELDS) or "Known: " + ", ".join(FIELDS)
            raise ValueError(f"there is no field {name!r}. {hint}")
    return text


def _target(name: str, info: ValidationInfo) -> str:
    known = (info.context or {})["matrix"].targets
    if name not in known:
        raise ValueError(f"there is no target {name!r}. {did_you_mean(name, known)}".rstrip())
    return name


def _owner(name: str, info: ValidationInfo) -> str:
    """The target ``name``, or the one that is recommended for the use ``name``."""
    owners: Mapping[str, str] = (info.context or {})["owners"]
    if name not in owners:
        raise ValueError(f"there is no target {name!r}. {did_you_mean(name, owners)}".rstrip())
    return owners[name]


Tag = Annotated[str, fitting(is_tag, f"invalid tag {{text!r}}. {_TAG_FORM}")]
TargetName = Annotated[str, Parsed(_target, info=True)]


class Tags(Model):
    """The formats of the two tags of a target, and of the one for all its ``platforms``."""

    immutable: Annotated[str, Parsed(_with_fields("target", "key"))] = "{target}-{key}"
    moving: Annotated[str, Parsed(_with_fields("target"))] = "{target}"
    platforms: Annotated[str, Parsed(_with_fields("target"))] = "{target}-multi"


class PublishFile(Model):
    """The names of published images, and the tags that move."""

    schema_: Annotated[str, SchemaVersion(1)] = Field(alias="schema")
    repository: Annotated[
        str,
        fitting(
            is_repository,
            "invalid repository name {text!r}. "
            "Use a-z, 0-9, '-', '_', '.' and '/', and leave the registry out.",
        ),
    ]
    tags: Tags = Tags()
    aliases: dict[Tag, Annotated[str, Parsed(_owner, info=True)]] = Field(
        default={},
        description="Tag to the target that has it, or to what a target is recommended for.",
    )
    schemes: Unique[Annotated[str, Parsed(_scheme)]] = Field(
        default=(), description="Tags by the naming schemes of other publishers."
    )
    indexes: dict[Tag, Unique[TargetName]] = Field(
        default={}, description="Tag to targets that differ only in their platform."
    )
    trials: dict[TargetName, Trial] = Field(
        default={}, description="Target to a web page where people can try its image out."
    )
    signed_with: str = Field(
        default="",
        description="Public key of cosign, a file relative to this one or a URI: 'promote' copies "
        "only images that it has signed.",
    )

    def policy(self, matrix: Matrix) -> Publishing:
        """The policy for the targets of ``matrix``."""
        usual = _policy(self.tags, matrix)
        by_scheme = scheme_tags(self.schemes, matrix.targets.values())
        others = {*self.aliases, *self.indexes, *usual.indexes}
        return replace(
            usual,
            repository=self.repository,
            aliases=self.aliases,
            by_scheme={tag: owner for tag, owner in by_scheme.items() if tag not in others},
            indexes={**usual.indexes, **self.indexes},
            trials=self.trials,
            signed_with=self.signed_with,
        )

    @model_validator(mode="after")
    def _tags_differ(self, info: ValidationInfo) -> Self:
        matrix: Matrix = (info.context or {})["matrix"]
        policy = self.policy(matrix)
        indexes = (
            mistake
            for tag, names in policy.indexes.items()
            for mistake in _index_mistakes(tag, [matrix.targets[name] for name in names])
        )
        invalid = _format_mistakes(policy, matrix)
        raise_mistakes([*indexes, *invalid, *_clashes(policy, matrix)])
        return self


def _policy(tags: Tags, matrix: Matrix) -> Publishing:
    """The policy of ``tags`` alone."""
    platforms = matrix.platforms.items()
    return Publishing(
        immutable=tags.immutable,
        moving=tags.moving,
        indexes={tags.platforms.format(target=name): ids for name, ids in platforms},
    )


def _index_mistakes(tag: str, targets: list[Target]) -> Iterator[Mistake]:
    path, fix = ("indexes", tag), ""
    platforms = [target.platform for target in targets]
    if len(targets) < 2:
        what = f"the index {tag!r} needs two or more targets."
    elif len({*platforms}) < len(platforms):
        what = f"the index {tag!r} needs one target for each platform, not {', '.join(platforms)}."
    elif len({tuple(sorted(target.components.items())) for target in targets}) > 1:
        what = f"the targets of the index {tag!r} differ in more than their platform."
        fix = "Name targets with equal versions: people expect the same on every machine."
    else:
        return
    yield path, what, fix


def _format_mistakes(publishing: Publishing, matrix: Matrix) -> Iterator[Mistake]:
    for name in matrix.targets:
        for simulate in (False, True):
            moving = publishing.moving_tags(name, simulate=simulate)[0]
            immutable = publishing.immutable_tag(name, "0" * KEY_DIGITS, simulate=simulate)
            for tag in (moving, immutable):
                if not is_tag(tag):
                    yield ("tags",), f"{tag!r} would be an invalid tag of {name}.", _TAG_FORM
    for tag, name in publishing.by_scheme.items():
        if not is_tag(tag):
            yield ("schemes",), f"{tag!r} would be an invalid tag of {name}.", _TAG_FORM


def _clashes(publishing: Publishing, matrix: Matrix) -> Iterator[Mistake]:
    """Every tag that two targets, aliases or indexes would use."""
    taken: dict[str, str] = {}
    for name in matrix.targets:
        for simulate in (False, True):
            tag = publishing.moving_tags(name, simulate=simulate)[0]
            other = taken.setdefault(tag, f"target {name}")
            if other != f"target {name}":
                what = f"{tag!r} would be the tag of {other} and of target {name}."
                yield ("tags",), what, ""
    for key, kind in (("aliases", "alias"), ("indexes", "index")):
        for tag in getattr(publishing, key):
            other = taken.setdefault(tag, f"the {kind} {tag}")
            if other != f"the {kind} {tag}":
                yield (key, tag), f"{tag!r} is already the tag of {other}.", "Rename it."
    for tag, name in publishing.by_scheme.items():
        if tag in taken:
            yield ("schemes",), f"{tag!r} of {name} is already the tag of {taken[tag]}.", ""
        taken[tag] = f"target {name}"
    patterns = {name: publishing.immutable_pattern(name) for name in matrix.targets}
    for tag, owner in taken.items():
        for name, pattern in patterns.items():
            if pattern.fullmatch(tag):
                what = f"{tag!r} of {owner} could be the immutable tag of an image of {name}."
                yield ("tags",), what, "Rename it."


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
