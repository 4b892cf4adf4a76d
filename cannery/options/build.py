# SPDX-License-Identifier: Apache-2.0
"""The options of ``build``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cannery.options import values
from cannery.options.cache_secrets import have_secrets
from cannery.options.option import OptionSet, changed, option
from cannery.options.shared import (
    ALL,
    ARTIFACTS,
    ARTIFACTS_DEFAULT,
    CA,
    INDEX_URL,
    SIMULATE,
    SOURCE,
    TARGET,
    VERBOSE,
    TargetOptions,
)
from cannery.options.values import Shard

_PLAN = "show what would be done, and build nothing"
_MACHINES = "several machines (docs/many-machines.md)"


@dataclass(frozen=True, kw_only=True)
class SelectionOptions(TargetOptions):
    """What is built."""

    targets: tuple[str, ...] = field(default=(), metadata=TARGET)
    all: bool = field(
        default=False,
        metadata=changed(
            ALL, help="select every target; those whose files are missing are skipped"
        ),
    )
    resume: bool = field(
        default=False,
        metadata=option(
            help="continue the last run: build and check what it did not finish, with its options",
            with_resume=True,
        ),
    )
    shard: Shard | None = field(
        default=None,
        metadata=option(
            metavar="I/N",
            parse=values.parse_shard,
            group=_MACHINES,
            help="build the I-th of N shares of the selection, which cost about the same",
        ),
    )


@dataclass(frozen=True, kw_only=True)
class BuildOptions(OptionSet):
    """How images are built. ``artifacts`` and ``ca`` are absolute.

    ``gateway`` is the address of the proxy that answers from a bundle; empty for the network.
    """

    simulate: bool = field(default=False, metadata=changed(SIMULATE, remembered=True))
    artifacts: Path = field(default=ARTIFACTS_DEFAULT, metadata=changed(ARTIFACTS, remembered=True))
    sources: tuple[str, ...] = field(default=(), metadata=changed(SOURCE, remembered=True))
    test: bool = field(
        default=True,
        metadata=option(flags=("--no-test",), help="do not check the images", remembered=True),
    )
    force: bool = field(
        default=False,
        metadata=option(help="build images that are up to date, too", remembered=True),
    )
    record: bool = field(
        default=False,
        metadata=option(
            help="check images that are up to date, too, and write the results to verified/",
            conflicts=("test",),
            remembered=True,
        ),
    )
    report: Path | None = field(
        default=None,
        metadata=option(
            metavar="FILE",
            help="if a build fails, write its logs, Dockerfiles, versions and the sha256 of all "
            "that it used to this file, without credentials",
            with_resume=True,
        ),
    )
    from_bundle: Path | None = field(
        default=None,
        metadata=option(
            metavar="FILE",
            help="build without a network from this file, which 'build.py bundle' has made; "
            "without --target, all targets that it has",
            conflicts=("artifacts", "index_url", "builder", "cache_from", "plan", "print"),
            remembered=True,
        ),
    )
    gateway: str = ""
    verbose: bool = field(
        default=False, metadata=changed(VERBOSE, help="show every check and every shared layer")
    )
    check_jobs: int = field(
        default=1,
        metadata=option(
            flags=("--jobs",),
            metavar="N",
            parse=values.number(1, 999),
            help="check N images at a time",
            remembered=True,
            with_resume=True,
        ),
    )
    ca: Path | None = field(default=None, metadata=changed(CA, remembered=True, with_resume=True))
    index_url: str = field(
        default="", metadata=changed(INDEX_URL, remembered=True, with_resume=True, secret=True)
    )
    builder: str = field(
        default="",
        metadata=option(
            metavar="NAME",
            group=_MACHINES,
            help="build with this builder of 'docker buildx ls'",
            remembered=True,
        ),
    )
    cache_from: tuple[str, ...] = field(
        default=(),
        metadata=option(
            metavar="REPOSITORY",
            group=_MACHINES,
            help="read layers from this repository of a registry, or from what buildx takes as "
            "'type=...'",
            remembered=True,
            with_resume=True,
            has_secret=have_secrets,
        ),
    )
    cache_to: tuple[str, ...] = field(
        default=(),
        metadata=option(
            metavar="REPOSITORY",
            group=_MACHINES,
            help="write all layers to this repository of a registry, or to what buildx takes as "
            "'type=...'",
            remembered=True,
            with_resume=True,
            has_secret=have_secrets,
        ),
    )

    @property
    def with_cann(self) -> bool:
        """Whether CANN's files are taken from a source, although the NPU may be simulated."""
        return bool(self.sources)


@dataclass(frozen=True, kw_only=True)
class PlanOptions(OptionSet):
    """What is shown of a plan. With ``plan`` the engine need not answer."""

    plan: bool = field(
        default=False,
        metadata=option(
            group=_PLAN,
            help="show what would be built, what would be skipped and why, and what is shared",
            conflicts=("print",),
            with_resume=True,
        ),
    )
    format: str = field(
        default="text",
        metadata=option(
            choices=("text", "json"),
            group=_PLAN,
            help="the format of the plan",
            needs="plan",
            with_resume=True,
        ),
    )
    if_changed: str = field(
        default="",
        metadata=option(
            metavar="COMPONENT",
            group=_PLAN,
            help="show what a change of torch, toolkit, base, ... would rebuild",
            needs="plan",
        ),
    )
    compare_with: str = field(
        default="",
        metadata=option(
            metavar="REPOSITORY",
            group=_PLAN,
            help="show whether the images in this repository are up to date",
            needs="plan",
        ),
    )
    print: bool = field(
        default=False,
        metadata=option(group=_PLAN, help="print the file for 'docker buildx bake'"),
    )
