# SPDX-License-Identifier: Apache-2.0
"""Puts together what is said of an image when it is published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cannery.attestation import SLSA, SPDX, statement, subject_name
from cannery.contents import Contents
from cannery.execute import base
from cannery.execute.contents import image_contents
from cannery.files import read_text
from cannery.pipeline.planning import Ready, bases
from cannery.project import Project
from cannery.provenance import Builder, Source, UsedBase, slsa
from cannery.sbom import spdx
from cannery.wheels import parse_lock


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What the statements are about: a manifest with ``digest``, pushed to ``repository``.

    ``repository`` has the registry in it; ``tag`` is the one that always names this image.
    """

    repository: str
    tag: str
    digest: str


def contents_of(ready: Ready, image: str) -> Contents:
    """What the local image ``image`` of ``ready`` holds; see ``image_contents``."""
    return image_contents(image, ready.target.platform, ready.target, ready.hashes)


def statements(
    project: Project,
    ready: Ready,
    contents: Contents,
    subject: Subject,
    *,
    key: str,
    created: str,
    source: Source,
    builder: Builder,
) -> list[dict[str, Any]]:
    """The bill of materials of an image, and its provenance, as in-toto statements.

    ``key`` is the image's content key. It must be the one that ``ready`` has now, or the files,
    bases and hashes that are named here are not those that the image was made from.

    Raises:
        EngineError: the engine does not answer.
        FileError: a lock cannot be read.
    """
    target = ready.target
    bill = spdx(
        target,
        contents,
        image_digest=subject.digest,
        created=created,
        reference=subject.repository,
    )
    used = {
        name: UsedBase(base=each, architecture=architecture, used=base.identity(each, architecture))
        for name, (each, architecture) in bases(target).items()
    }
    made = slsa(
        target,
        contents,
        key=key,
        source=source,
        lock=parse_lock(read_text(project.lock(target))),
        tools=parse_lock(read_text(project.tools_lock)),
        bases=used,
        builder=builder,
    )
    name = subject_name(subject.repository, subject.tag, target.platform)
    return [
        statement(name, subject.digest, SPDX, bill),
        statement(name, subject.digest, SLSA, made),
    ]
