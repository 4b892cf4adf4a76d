# SPDX-License-Identifier: Apache-2.0
"""The options of ``test`` for images of any origin."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cannery.options import values
from cannery.options.option import OptionSet, option

_GROUP = "any image (--image without --target)"


@dataclass(frozen=True, kw_only=True)
class AnyImageOptions(OptionSet):
    """How an image of any origin is tested, and where the results go."""

    profiles: tuple[str, ...] = field(
        default=(),
        metadata=option(
            flags=("--profile",),
            metavar="NAME",
            group=_GROUP,
            needs="image",
            conflicts=("targets",),
            help="also check what this platform asks of an image: docker, kubernetes, volcano, "
            "volcano-ssh, kubeflow-notebook, modelarts, merlin, or one in --profiles",
        ),
    )
    profiles_file: Path | None = field(
        default=None,
        metadata=option(
            flags=("--profiles",),
            metavar="FILE",
            group=_GROUP,
            needs="profiles",
            help="a YAML file with further profiles",
        ),
    )
    checks: Path | None = field(
        default=None,
        metadata=option(
            metavar="DIR",
            group=_GROUP,
            needs="image",
            conflicts=("targets",),
            help="your own checks: *.yaml with commands, and testinfra files test_*.py",
        ),
    )
    chip: str = field(
        default="",
        metadata=option(
            metavar="CHIP",
            group=_GROUP,
            needs="image",
            conflicts=("targets",),
            parse=values.matching(r"[a-z0-9]{1,20}", "chip", "910b or a3"),
            help="the chip that the image must have kernels for",
            default_text="the one that its labels or its name say",
        ),
    )
    strict: bool = field(
        default=False,
        metadata=option(
            group=_GROUP,
            needs="image",
            conflicts=("targets",),
            help="fail for pairings that no source knows, too",
        ),
    )
    json: Path | None = field(
        default=None,
        metadata=option(
            metavar="FILE",
            group=_GROUP,
            needs="image",
            conflicts=("targets",),
            help="write the report as JSON",
        ),
    )
    junit: Path | None = field(
        default=None,
        metadata=option(
            metavar="FILE",
            group=_GROUP,
            needs="image",
            conflicts=("targets",),
            help="write the report as JUnit XML, for CI services",
        ),
    )
    sarif: Path | None = field(
        default=None,
        metadata=option(
            metavar="FILE",
            group=_GROUP,
            needs="image",
            conflicts=("targets",),
            help="write the report as SARIF, for code scanning",
        ),
    )
    dockerfile: str = field(
        default="Dockerfile",
        metadata=option(
            metavar="PATH",
            group=_GROUP,
            needs="sarif",
            help="the file of the repository that results in the SARIF file point to",
        ),
    )
