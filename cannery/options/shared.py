# SPDX-License-Identifier: Apache-2.0
"""Options that several commands have."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cannery.common.sources import CannSource
from cannery.options.option import OptionSet, changed, option

ARTIFACTS_DEFAULT = Path("artifacts")
"""Below the checkout."""

TARGET = option(
    flags=("--target",),
    metavar="ID",
    help="a target, or a pattern such as 'py39-*'",
)
ALL = option(help="select every target", conflicts=("targets",))
SIMULATE = option(
    help="use a simulated NPU in place of CANN and the driver; the image's tag ends in -sim"
)
ARTIFACTS = option(metavar="DIR", help="the directory of the vendor's files")
SOURCE = option(
    flags=("--source",),
    metavar="NAME",
    choices=tuple(str(each) for each in CannSource),
    help="take CANN's files from folder, download, image or index; repeat it for the order in "
    "which they are tried. With --simulate, CANN is then not simulated, but the NPU is",
    default_text="the order in cannery.toml, else folder, download",
)
CA = option(
    metavar="FILE",
    help="certificates to trust for downloads; they never enter an image",
    default_text="PIP_CERT, SSL_CERT_FILE or REQUESTS_CA_BUNDLE, else this machine's",
)
REGISTRY_CA = option(
    metavar="FILE",
    help="certificates to trust for the registry, in addition to this machine's",
)
INDEX_URL = option(
    metavar="URL",
    help="the package index; its address never enters an image",
    default_text="UV_DEFAULT_INDEX or PIP_INDEX_URL, else PyPI",
)
VERBOSE = option(help="show every check", with_resume=True)
FORMAT = option(
    choices=("text", "json"),
    help="text for people, or JSON for programs; docs/command-line.md has its fields",
)
REGISTRY = option(
    metavar="REGISTRY",
    help="the registry, optionally with a path: registry.example.com, registry.example.com/team",
)


@dataclass(frozen=True, kw_only=True)
class TargetOptions(OptionSet):
    """Which targets a command is about: all of them where none is named."""

    targets: tuple[str, ...] = field(default=(), metadata=changed(TARGET, default_text="all"))
    where: tuple[str, ...] = field(
        default=(),
        metadata=option(
            metavar="KEY=VERSION",
            count="+",
            help="of these targets, only those with this version or chip, as in python=3.9, "
            "cann=8.0.RC2, torch=2.3.1 or chip=910b",
        ),
    )


@dataclass(frozen=True, kw_only=True)
class RequiredTargetOptions(TargetOptions):
    """The same for a command that needs a target."""

    targets: tuple[str, ...] = field(metadata=TARGET)
