# SPDX-License-Identifier: Apache-2.0
"""The options of ``fetch`` and ``cache``, and those by which a build fetches files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cannery.options import values
from cannery.options.option import OptionSet, changed, option
from cannery.options.shared import ARTIFACTS, ARTIFACTS_DEFAULT, CA, TargetOptions

_GROUP = "fetching files (docs/fetching.md)"
_CACHE = option(
    metavar="DIR",
    help="the folder of fetched files, which several checkouts may share",
    default_text="CANNERY_CACHE, cannery.toml, or cannery in XDG_CACHE_HOME or ~/.cache",
    group=_GROUP,
    with_resume=True,
)


@dataclass(frozen=True, kw_only=True)
class TransferOptions(OptionSet):
    """How missing files are downloaded. ``cache`` is None for the usual folder."""

    accept_eula: str = field(
        default="",
        metadata=option(
            metavar="NAME",
            group=_GROUP,
            help="accept the vendor's licence of the files that are downloaded, as the person or "
            "company NAME; the acceptance is recorded with its date",
            parse=values.name,
            with_resume=True,
        ),
    )
    trust_first_use: bool = field(
        default=False,
        metadata=option(
            group=_GROUP,
            help="download files, too, of which nobody publishes a sha256, and write the sha256 "
            "of each into matrix.yaml for review",
            with_resume=True,
        ),
    )
    fetch_jobs: int = field(
        default=4,
        metadata=option(
            metavar="N",
            group=_GROUP,
            parse=values.number(1, 64),
            help="download N files at a time",
            with_resume=True,
        ),
    )
    cache: Path | None = field(default=None, metadata=_CACHE)


@dataclass(frozen=True, kw_only=True)
class FetchOptions(TargetOptions):
    """What is fetched: the files of targets, and those of CANN releases."""

    cann: tuple[str, ...] = field(
        default=(),
        metadata=option(
            metavar="VERSION",
            help="the files of this CANN release for the chips and machines of its targets",
        ),
    )
    all: bool = field(
        default=False,
        metadata=option(help="the files of every target", conflicts=("targets", "cann")),
    )
    artifacts: Path = field(
        default=ARTIFACTS_DEFAULT,
        metadata=changed(ARTIFACTS, help="a directory of files that need not be fetched"),
    )
    into: Path | None = field(
        default=None,
        metadata=option(metavar="DIR", help="also put the files into this directory"),
    )
    ca: Path | None = field(default=None, metadata=CA)


@dataclass(frozen=True, kw_only=True)
class CacheOptions(OptionSet):
    """What is done with the fetched files."""

    action: str = field(
        metadata=option(
            positional=True,
            metavar="ACTION",
            choices=("list", "prune"),
            help="list the fetched files, or prune those that are no longer used",
        )
    )
    days: int = field(
        default=90,
        metadata=option(
            metavar="N",
            parse=values.number(0, 99_999),
            help="prune files that no checkout has used for N days; 0 prunes all files",
        ),
    )
    cache: Path | None = field(default=None, metadata=changed(_CACHE, group=""))
