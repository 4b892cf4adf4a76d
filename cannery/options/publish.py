# SPDX-License-Identifier: Apache-2.0
"""The options of ``push``, ``promote``, ``prune``, ``notes`` and ``catalog``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cannery.options import values
from cannery.options.option import OptionSet, option
from cannery.options.shared import ARTIFACTS, ARTIFACTS_DEFAULT, REGISTRY, REGISTRY_CA, SIMULATE

PUSH_EXCEPTIONS = ("simulated", "unverified", "differs")
"""What a push refuses unless it is allowed by name."""


@dataclass(frozen=True, kw_only=True)
class PushOptions(OptionSet):
    """How images are pushed. ``signing_key`` is a file or a URI; empty for no signature."""

    simulate: bool = field(default=False, metadata=SIMULATE)
    registry: str = field(metadata=REGISTRY)
    allow: tuple[str, ...] = field(
        default=(),
        metadata=option(
            choices=PUSH_EXCEPTIONS,
            help="push images that are refused otherwise: simulated ones, ones that were not "
            "verified, or ones that differ from the committed files",
        ),
    )
    release: bool = field(
        default=False,
        metadata=option(
            help="refuse images that are not from a clean commit, verified on an NPU, and signed"
        ),
    )
    signing_key: str = field(
        default="",
        metadata=option(
            flags=("--key",),
            metavar="KEY",
            help="sign the images with this key of cosign",
            default_text="CANNERY_SIGNING_KEY, else no signature",
        ),
    )
    compression: str = field(
        default="zstd",
        metadata=option(
            choices=("zstd", "gzip"),
            help="the compression of layers; engines older than 23.0 need gzip",
        ),
    )
    artifacts: Path = field(default=ARTIFACTS_DEFAULT, metadata=ARTIFACTS)
    ca: Path | None = field(default=None, metadata=REGISTRY_CA)


@dataclass(frozen=True, kw_only=True)
class PromoteOptions(OptionSet):
    """What is copied, and where to."""

    source: str = field(
        metadata=option(
            positional=True,
            metavar="FROM",
            help="the published image: REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@DIGEST",
        )
    )
    destination: str = field(
        metadata=option(
            positional=True,
            metavar="TO",
            help="the destination: REGISTRY/REPOSITORY to keep the tags, or "
            "REGISTRY/REPOSITORY:TAG",
        )
    )
    allow: tuple[str, ...] = field(
        default=(),
        metadata=option(
            choices=("unrecorded",),
            help="copy an image that is refused otherwise: one that no file in releases/ records",
        ),
    )
    ca: Path | None = field(default=None, metadata=REGISTRY_CA)


@dataclass(frozen=True, kw_only=True)
class PruneOptions(OptionSet):
    """What a registry keeps."""

    registry: str = field(metadata=REGISTRY)
    keep: int = field(
        default=3,
        metadata=option(
            metavar="N",
            parse=values.number(0, 999),
            help="keep the N newest images of each target that no file in releases/ records",
        ),
    )
    yes: bool = field(
        default=False, metadata=option(help="delete; without it, only show what would be deleted")
    )
    ca: Path | None = field(default=None, metadata=REGISTRY_CA)


@dataclass(frozen=True, kw_only=True)
class CatalogOptions(OptionSet):
    """What becomes of the table and the page."""

    check: bool = field(
        default=False,
        metadata=option(
            help="write nothing; exit with code 4 if the table in README.md is out of date"
        ),
    )
    out: Path = field(
        default=Path(".cannery/catalog"),
        metadata=option(metavar="DIR", help="the directory of the page, index.html"),
    )
