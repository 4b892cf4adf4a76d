# SPDX-License-Identifier: Apache-2.0
"""The content key of an image, a hash of all that it is built from, and the labels of its origin.

Part of the key are the files that a Dockerfile names of the build context that all of them share:
programs of the build, and the guard. The labels are those of the OCI image specification,
annotations.md.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Self

from cannery.common.bases import Base, File, FoundBase, Origin
from cannery.common.errors import file_error
from cannery.common.files import open_file
from cannery.common.model import Target
from cannery.common.outside import parse_json
from cannery.fetch.needs import needed_files
from cannery.matrix.project import Project

CONTEXT_LIST = ".dockerignore"
"""Names the files that the engine gets, each after a '!', and with its '*' no others."""

CONTEXT = "cannery"
"""The name of the shared build context in Dockerfiles."""

_COPY = re.compile(rf"^COPY (?:--\S+ )*--from={CONTEXT} (.+)$", re.MULTILINE)
_MOUNT = re.compile(rf"--mount=((?:\S*,)?from={CONTEXT}(?:,\S*)?)(?:\s|$)")


def context_names(project: Project) -> tuple[str, ...]:
    """The files of the build context that all Dockerfiles share."""
    lines = _read(project.build_context / CONTEXT_LIST).splitlines()
    return tuple(line.removeprefix("!") for line in lines if line.startswith("!"))


def read_context(project: Project) -> dict[str, str]:
    """Name to content, as ``with_mode`` gives it, of every file of the shared build context."""
    return {name: _read(project.build_context / name) for name in context_names(project)}


def with_mode(text: str, *, executable: bool) -> str:
    """The content of a file for a content key: the engine gets its mode, too."""
    return f"\0executable\0{text}" if executable else text


def _read(path: Path) -> str:
    # The doctor is a zip archive; git's files are decoded in the same way.
    try:
        with open_file(path) as stream:
            executable = bool(os.fstat(stream.fileno()).st_mode & stat.S_IXUSR)
            text = stream.read().decode(errors="surrogateescape")
    except OSError as error:
        raise file_error("read", path, error) from error
    return with_mode(text, executable=executable)


LABEL = "io.cannery.key"
"""The label of an image that holds its key."""

KEY_DIGITS = 12
"""The length of a key in the tag and the version of an image."""

SIMULATOR = "simulator"
"""The name of the simulated packages among the inputs."""

_SCHEMA = 3
"""Part of every key; a new number makes all images out of date."""

_UNSEEN = ("compose.yaml",)
"""Rendered files that no Dockerfile reads."""


def context_files(files: Mapping[str, str], shared: Mapping[str, str]) -> dict[str, str]:
    """The files that a build reads: of the target's folder, and of the ``shared`` context.

    A build can read no file of that context that its Dockerfile does not name.
    """
    read = {name: text for name, text in files.items() if name not in _UNSEEN}
    used = _used(named_files(read.get("Dockerfile", "")), frozenset(shared))
    return {**read, **{f"{CONTEXT}/{name}": shared[name] for name in sorted(used)}}


@cache
def named_files(dockerfile: str) -> frozenset[str]:
    """The files and folders of the shared context that ``dockerfile`` names; '.' is all of it."""
    copied = (match[1].split() for match in _COPY.finditer(dockerfile))
    names = {word for words in copied for word in words[:-1] if not word.startswith("--")}
    for match in _MOUNT.finditer(dockerfile):
        fields = dict(pair.partition("=")[::2] for pair in match[1].split(","))
        names.add(fields.get("source", "."))
    return frozenset(names)


@cache
def _used(named: frozenset[str], names: frozenset[str]) -> frozenset[str]:
    paths = [PurePosixPath(name) for name in names]
    return frozenset(str(path) for path in paths if any(path.is_relative_to(top) for top in named))


def bases_of(target: Target) -> dict[str, Base]:
    """Build argument to its base image."""
    bases = {"BASE_IMAGE": target.base, "BUILD_IMAGE": target.build_base}
    if target.emulated:
        bases["INSTALLER_IMAGE"] = target.build_base
    return bases


@dataclass(frozen=True, kw_only=True)
class KeyInputs:
    """Everything that the image of a target is built from.

    ``files`` maps the names of the build contexts' files to their texts, ``artifacts`` components
    to identifiers of their files, and ``bases`` build arguments to identifiers of the images.
    """

    files: Mapping[str, str]
    artifacts: Mapping[str, str]
    bases: Mapping[str, str]
    simulate: bool

    @classmethod
    def from_target(
        cls,
        target: Target,
        files: Mapping[str, str],
        *,
        identify_file: Callable[[str, File], str],
        identify_base: Callable[[str, Base], str],
        simulator: str,
    ) -> Self:
        """The inputs of ``target``.

        ``files`` are those of both build contexts, see ``context_files``. ``identify_file`` is
        called with a component and its file, ``identify_base`` with a build argument and its base.
        ``simulator`` identifies the simulated packages and is empty for the vendor's files.
        """
        needed = needed_files(target, simulate=bool(simulator))
        artifacts = {name: identify_file(name, file) for name, file in needed.items()}
        if target.vendor_image:
            # Not the name: a mirror's image has the same content.
            artifacts["vendor-image"] = target.vendor_image.rpartition("@")[2]
        return cls(
            files=files,
            artifacts={**({SIMULATOR: simulator} if simulator else {}), **artifacts},
            bases={name: identify_base(name, base) for name, base in bases_of(target).items()},
            simulate=bool(simulator),
        )

    @classmethod
    def committed(cls, target: Target, files: Mapping[str, str], *, simulator: str) -> Self:
        """The inputs in committed files, which are the same on every machine.

        The name identifies a vendor file without a published sha256, the reference a base. The
        arguments are those of ``from_target``.
        """
        return cls.from_target(
            target,
            files,
            identify_file=lambda _, file: file.sha256 or file.name,
            identify_base=lambda _, base: base.image,
            simulator=simulator,
        )

    @property
    def key(self) -> str:
        """The content key, as ``sha256:`` and 64 digits."""
        content = {
            "schema": _SCHEMA,
            "files": {name: _digest(text) for name, text in self.files.items()},
            "artifacts": dict(self.artifacts),
            "bases": dict(self.bases),
            "simulate": self.simulate,
        }
        text = json.dumps(content, sort_keys=True, ensure_ascii=True)
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()

    def names_that_differ(self, other: KeyInputs) -> list[str]:
        """The files, components and build arguments that differ from those in ``other``."""
        pairs = (
            (self.files, other.files),
            (self.artifacts, other.artifacts),
            (self.bases, other.bases),
        )
        return [
            name
            for local, others in pairs
            for name in sorted(local.keys() | others.keys())
            if local.get(name) != others.get(name)
        ]


@cache
def _digest(text: str) -> str:
    """The sha256 of ``text``, computed once for a file that many targets share."""
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()


def short_key(key: str) -> str:
    """The first digits of the content key ``key``, which is ``sha256:`` and 64 digits."""
    return key.removeprefix("sha256:")[:KEY_DIGITS]


_PREFIX = "org.opencontainers.image"

BASES = "io.cannery.bases"
"""The label that says which images were used for the bases, by build argument."""

_USER = re.compile(r"://[^/?#]*@")


def origin_labels(*, key: str, commit: str, origin: str, created: str) -> dict[str, str]:
    """The labels of an image that is built now.

    ``created`` is a time as in ``2026-11-21T12:00:00Z``. ``commit`` and ``origin``, a git URL, are
    empty where the checkout has none. The version is the part of the content key ``key`` that the
    image's tag has. There is no ``licenses``: no short expression is true of hundreds of packages,
    whose licenses the bill of materials has.
    """
    labels = {"created": created, "version": short_key(key)}
    if commit:
        labels["revision"] = commit
    if origin:
        labels["source"] = source_uri(origin)
    return {f"{_PREFIX}.{name}": value for name, value in labels.items()}


def bases_labels(base: Base, used: Mapping[str, FoundBase]) -> dict[str, str]:
    """The labels of an image of ``base`` on the bases ``used``, by build argument."""
    identities = {name: [one.origin, one.identity] for name, one in used.items()}
    image = used["BASE_IMAGE"]
    name = image.reference
    if image.origin is Origin.REGISTRY:
        # Not that of a mirror, which has the same image.
        name = base.image if base.is_pinned else f"{base.image}@{name.rpartition('@')[2]}"
    return {
        BASES: json.dumps(identities, separators=(",", ":"), sort_keys=True),
        f"{_PREFIX}.base.name": name,
    }


def used_bases(labels: Mapping[str, str]) -> dict[str, tuple[Origin, str]]:
    """Build argument to the origin and the identity of the base that an image was built on.

    It is empty if the ``labels`` of the image do not say that.
    """
    try:
        document = parse_json(labels.get(BASES, "{}"))
        return {
            str(name): (Origin(origin), str(identity))
            for name, (origin, identity) in document.items()
        }
    except (ValueError, TypeError, AttributeError):
        return {}


def source_uri(address: str) -> str:
    """A git URL as a URI, without a user name and a password."""
    if "://" in address:
        return _USER.sub("://", address, count=1)
    # The form of ssh: git@host:path.
    host, colon, path = address.rpartition("@")[2].partition(":")
    return f"ssh://{host}/{path.lstrip('/')}" if colon else f"file://{address}"
