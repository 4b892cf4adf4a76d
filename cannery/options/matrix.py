# SPDX-License-Identifier: Apache-2.0
"""The options of the commands that read or change matrix.yaml and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cannery.options import values
from cannery.options.option import OptionSet, changed, option
from cannery.options.shared import CA, FORMAT, INDEX_URL, VERBOSE, TargetOptions

USUAL_CHIP = "910b"


@dataclass(frozen=True, kw_only=True)
class ListOptions(TargetOptions):
    """How targets are listed."""

    format: str = field(
        default="table",
        metadata=option(
            choices=("table", "json", "names"),
            help="a table for people, JSON for programs, or one id per line",
        ),
    )
    verbose: bool = field(
        default=False,
        metadata=changed(VERBOSE, help="show the versions and all results of each target"),
    )


@dataclass(frozen=True, kw_only=True)
class CheckOptions(TargetOptions):
    """Which targets are checked, and how that is shown."""

    format: str = field(default="text", metadata=FORMAT)


@dataclass(frozen=True, kw_only=True)
class ExplainOptions(TargetOptions):
    """Which targets are explained."""

    targets: tuple[str, ...] = field(
        default=(),
        metadata=option(flags=("--target",), metavar="ID", help="the same as TARGET"),
    )
    names: tuple[str, ...] = field(
        default=(),
        metadata=option(
            positional=True,
            metavar="TARGET",
            count="*",
            help="a target, or a pattern such as 'py39-*'",
        ),
    )
    format: str = field(default="text", metadata=FORMAT)


@dataclass(frozen=True, kw_only=True)
class RenderOptions(TargetOptions):
    """Whether images/ is written."""

    check: bool = field(
        default=False,
        metadata=option(help="write nothing; exit with code 4 if images/ is out of date"),
    )


@dataclass(frozen=True, kw_only=True)
class LockOptions(TargetOptions):
    """Which pinned packages may move, and where packages are looked for."""

    upgrade: tuple[str, ...] = field(
        default=(),
        metadata=option(
            metavar="PACKAGE", help="move this package to its newest version that fits"
        ),
    )
    ca: Path | None = field(default=None, metadata=CA)
    index_url: str = field(default="", metadata=INDEX_URL)


@dataclass(frozen=True, kw_only=True)
class UpdateOptions(TargetOptions):
    """What becomes of newer versions."""

    write: bool = field(
        default=False,
        metadata=option(
            help="write versions into matrix.yaml that compat.yaml knows to work; nothing else "
            "in the file changes"
        ),
    )
    deepspeed: bool = field(
        default=False,
        metadata=option(help="update DeepSpeed, too, where a target has the newest one in use"),
    )
    bases: bool = field(
        default=False,
        metadata=option(
            help="instead, ask the registries for the digests of the bases that have none; "
            "--write adds them",
            conflicts=("check", "deepspeed"),
        ),
    )
    snapshot: str = field(
        default="",
        metadata=option(
            metavar="TIME",
            parse=values.matching(r"[0-9]{8}T[0-9]{6}Z", "time of a snapshot", "20261101T000000Z"),
            help="instead, give the bases that have a snapshot this one, as in 20261101T000000Z; "
            "--write changes it in matrix.yaml",
            conflicts=("check", "deepspeed", "bases"),
        ),
    )
    new: bool = field(
        default=False,
        metadata=option(
            help="instead, propose whole targets: for new pairs of torch and CANN, and for newer "
            "applications; --write adds them to families of matrix.yaml. Targets that are no "
            "longer maintained are named for removal",
            conflicts=("deepspeed", "bases", "snapshot", "targets", "where"),
        ),
    )
    table: tuple[str, ...] = field(
        default=(),
        metadata=option(
            metavar="FILE",
            help="with --new, the table of torch_npu (COMPATIBILITY.md) or of vllm-ascend "
            "(versioning_policy.md) as a file or an https address; --write adds its new rows to "
            "compat.yaml",
            conflicts=("deepspeed", "bases", "snapshot", "targets", "where"),
        ),
    )
    check: bool = field(
        default=False,
        metadata=option(
            help="write nothing; exit with code 4 if something is newer (a torch without a "
            "torch_npu, and versions on which sources disagree, do not count)",
            conflicts=("write",),
        ),
    )
    ca: Path | None = field(default=None, metadata=CA)
    index_url: str = field(
        default="",
        metadata=changed(
            INDEX_URL,
            help="the package index",
            default_text="UV_DEFAULT_INDEX or PIP_INDEX_URL, else pip's",
        ),
    )


@dataclass(frozen=True, kw_only=True)
class NewOptions(OptionSet):
    """What a new target has; an empty field is for the newest version that fits.

    ``python`` may have a patch level. ``machine`` is the architecture, as ``uname -m`` names it.
    """

    python: str = field(
        metadata=option(
            metavar="X.Y",
            parse=values.matching(r"3\.[0-9]+(\.[0-9]+)?", "Python version", "3.10 or 3.10.14"),
            help="the Python version, as in 3.10 or 3.10.14",
        )
    )
    torch: str = field(
        default="",
        metadata=option(
            metavar="VERSION",
            parse=values.matching(r"([0-9]+\.[0-9]+\.[0-9]+)?", "torch version", "2.7.1"),
            help="the torch version, as in 2.6.0",
            default_text="the newest that fits",
        ),
    )
    cann: str = field(
        default="",
        metadata=option(
            metavar="VERSION",
            help="the CANN version, as in 8.3.RC1",
            default_text="the newest that fits",
        ),
    )
    chip: str = field(
        default=USUAL_CHIP,
        metadata=option(metavar="NAME", parse=str.lower, help="the chip: 910b, a3, 910 or 310p"),
    )
    deepspeed: str = field(
        default="",
        metadata=option(
            metavar="VERSION",
            parse=values.matching(
                r"([0-9]+\.[0-9]+\.[0-9]+|none)?", "DeepSpeed version", "0.15.0, or none"
            ),
            help="the DeepSpeed version, or none",
            default_text="the version that is advised for this torch",
        ),
    )
    apex: bool = field(
        default=False, metadata=option(help="add apex, whose wheel you have to provide")
    )
    id: str = field(
        default="",
        metadata=option(
            metavar="ID",
            parse=values.matching(r"([a-z0-9]+([._-][a-z0-9]+)*)?", "id", "py310-mine"),
            help="the id of the target",
            default_text="made from the versions",
        ),
    )
    write: bool = field(
        default=False,
        metadata=option(help="add it to matrix.yaml; nothing else in the file changes"),
    )
    machine: str = "aarch64"

    @property
    def minor(self) -> str:
        """As in ``3.10``."""
        return ".".join(self.python.split(".")[:2])
