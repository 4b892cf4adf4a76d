# SPDX-License-Identifier: Apache-2.0
"""The options that several commands have, or that other folders take; each is declared once.

The options of one command are in its own file, ``cannery/cli/cmd_NAME.py``. Those with ``setting``
are in a class of this file, and so cannery.toml and the environment can have their values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from cannery.common.bases import CannSource
from cannery.common.model import MACHINE_OF, USUAL_CHIP, chip_named
from cannery.common.option import (
    Declared,
    Option,
    OptionSet,
    apt_address,
    declared,
    flag,
    index_address,
    matching,
    number,
    option,
    person,
    proxy_address,
)
from cannery.common.package_index import PackageIndex, package_index
from cannery.common.references import without_login

MACHINES = "several machines (docs/platform-teams.md)"
_FETCHING = "fetching files (docs/build.md)"
_PLAN = "show what would be done, and build nothing"

TARGET = Option(
    "a target, or a pattern such as 'py39-*'", flags=("--target",), words="ID", metavar="ID"
)
ALL = Option("select every target", default=False, conflicts=("targets",))
SIMULATE = Option(
    "use a simulated NPU in place of CANN and the driver; the image's tag ends in -sim",
    default=False,
)
ARTIFACTS = Option(
    "the directory of Huawei's packages",
    default=Path("artifacts"),
    metavar="DIR",
    setting="artifacts",
)
SOURCE = Option(
    "take CANN's files from folder, download, apt, image or index; repeat it for the order in "
    "which they are tried. With --simulate, CANN is then not simulated, but the NPU is",
    default=(),
    flags=("--source",),
    metavar="NAME",
    choices=tuple(str(source) for source in CannSource),
    default_text="folder, download",
    setting="source",
)
CA = Option(
    "certificates to trust for downloads; they never enter an image",
    default=None,
    metavar="FILE",
    default_text="PIP_CERT, SSL_CERT_FILE or REQUESTS_CA_BUNDLE, else this machine's",
    setting="ca",
)
REGISTRY_CA = Option(
    "certificates to trust for the registry, in addition to this machine's",
    default=None,
    metavar="FILE",
    setting="ca",
)
INDEX_URL = Option(
    "the package index; its address never enters an image",
    default="",
    parse=index_address,
    metavar="URL",
    default_text="UV_DEFAULT_INDEX or PIP_INDEX_URL, else PyPI",
    setting="index-url",
    shown=without_login,
)
VERBOSE = Option("show every check", default=False)
FORMAT = Option(
    "text for people, or JSON for programs; docs/reference.md has its fields",
    default="text",
    choices=("text", "json"),
)
REGISTRY = Option(
    "the registry, optionally with a path: registry.example.com, registry.example.com/team",
    metavar="REGISTRY",
    setting="registry",
    shown=without_login,
)
CACHE = Option(
    "the folder of fetched files, which several checkouts may share",
    default=None,
    metavar="DIR",
    default_text="cannery in XDG_CACHE_HOME or ~/.cache",
    group=_FETCHING,
    setting="cache",
)

_SECRET = re.compile(r"(?:^|,)[^=,]*(?:secret|token|password)[^=,]*=([^,]+)", re.IGNORECASE)
"""Matches a field of a cache that holds a secret, such as ``secret_access_key``."""


def without_secrets(text: str, replacement: Callable[[str], str] = lambda _: "****") -> str:
    """A cache as buildx takes it, ``type=...``, with another text in place of each secret."""

    def replaced(match: re.Match[str]) -> str:
        return match[0].removesuffix(match[1]) + replacement(match[1])

    return _SECRET.sub(replaced, text)


@dataclass(frozen=True, kw_only=True)
class TargetOptions(OptionSet):
    """Which targets a command is about: all of them where none is named."""

    targets: tuple[str, ...] = TARGET.field(default=(), default_text="all")
    where: tuple[str, ...] = option(
        "of these targets, only those with this version or chip, as in python=3.9, "
        "cann=8.0.RC2, torch=2.3.1 or chip=910b",
        default=(),
        metavar="KEY=VERSION",
        count="+",
    )


@dataclass(frozen=True, kw_only=True)
class RequiredTargetOptions(TargetOptions):
    """The same for a command that needs a target."""

    targets: tuple[str, ...] = TARGET.field()


@dataclass(frozen=True, kw_only=True)
class ProxyOptions(OptionSet):
    """The proxy of this run and of all programs that it starts."""

    proxy: str = option(
        "the proxy for downloads, registries and steps of builds; the engine pulls by its own",
        default="",
        metavar="URL",
        parse=proxy_address,
        default_text="HTTP_PROXY and HTTPS_PROXY; of build steps that of docker's config.json",
        setting="proxy",
        shown=without_login,
    )
    no_proxy: str = option(
        "hosts that are asked without the proxy, as in localhost,.example.com",
        default="",
        metavar="HOSTS",
        parse=matching(r"[\w.:/*,\[\]-]+", "list of hosts", "localhost,.example.com"),
        default_text="NO_PROXY",
        setting="no-proxy",
    )

    @property
    def proxy_variables(self) -> dict[str, str]:
        """The variables that say the same to other programs."""
        values = {("http_proxy", "https_proxy"): self.proxy, ("no_proxy",): self.no_proxy}
        names = {name: value for group, value in values.items() if value for name in group}
        return {**names, **{name.upper(): value for name, value in names.items()}}


@dataclass(frozen=True, kw_only=True)
class IndexOptions(ProxyOptions):
    """Where packages are looked for. ``ca`` is absolute."""

    ca: Path | None = CA.field()
    index_url: str = INDEX_URL.field()
    apt_mirror: str = option(
        "the mirror of Debian and Ubuntu for the steps of builds; it has each archive below its "
        "name, as in URL/debian-security; its address never enters an image",
        default="",
        metavar="URL",
        parse=apt_address,
        default_text="the servers that each base names",
        setting="apt-mirror",
        shown=without_login,
    )

    @property
    def index(self) -> PackageIndex:
        """The package index, the certificates, the proxy and apt's mirror."""
        index = package_index(self.ca, self.index_url)
        return replace(index, proxy=self.proxy, no_proxy=self.no_proxy, apt_mirror=self.apt_mirror)


@dataclass(frozen=True, kw_only=True)
class BuildOptions(IndexOptions):
    """How images are built. ``artifacts`` is absolute.

    ``bundle`` is the folder of an unpacked bundle, which has the bases and the files.
    """

    simulate: bool = SIMULATE.field()
    artifacts: Path = ARTIFACTS.field()
    sources: tuple[str, ...] = SOURCE.field()
    test: bool = option("do not check the images", default=True, flags=("--no-test",))
    bases: str = option(
        "where bases may be from: any place; registries, and never a stand-in (pulled); or only "
        "mirrors that cannery.toml names (mirrors)",
        default="any",
        choices=("any", "pulled", "mirrors"),
        setting="bases",
    )
    force: bool = flag(
        "build images that are up to date, too, and all steps again: read no cache",
    )
    record: bool = flag(
        "check images that are up to date, too, and write the results to verified/",
        conflicts=("test",),
    )
    report: Path | None = option(
        "if a build fails, write its logs, Dockerfiles, versions and the sha256 of all "
        "that it used to this file, without credentials",
        default=None,
        metavar="FILE",
    )
    from_bundle: Path | None = option(
        "build without a network from this file, which 'build.py bundle' has made; "
        "without --target, all targets that it has",
        default=None,
        metavar="FILE",
        conflicts=("artifacts", "index_url", "builder", "cache_from", "plan", "print"),
    )
    bundle_sha256: str = option(
        "use the bundle only if this is its sha256, which 'build.py bundle' has printed",
        default="",
        metavar="SHA256",
        needs="from_bundle",
    )
    bundle: Path | None = None
    verbose: bool = VERBOSE.field(help="show every check and every shared layer")
    check_jobs: int = option(
        "check N images at a time",
        default=1,
        flags=("--jobs",),
        metavar="N",
        parse=number(1, 999),
        setting="jobs",
    )
    builder: str = option(
        "build with this builder of 'docker buildx ls'",
        default="",
        metavar="NAME",
        group=MACHINES,
        setting="builder",
    )
    cache_from: tuple[str, ...] = option(
        "read layers from this repository of a registry, or from what buildx takes as 'type=...'",
        default=(),
        metavar="REPOSITORY",
        group=MACHINES,
        setting="cache-from",
        shown=without_secrets,
    )
    cache_to: tuple[str, ...] = option(
        "write all layers to this repository of a registry, or to what buildx takes as 'type=...'",
        default=(),
        metavar="REPOSITORY",
        group=MACHINES,
        setting="cache-to",
        shown=without_secrets,
    )

    @property
    def with_cann(self) -> bool:
        """Whether CANN's files are taken from a source, although the NPU may be simulated.

        With --simulate, only a source that was typed says so.
        """
        return bool(self.sources) and "sources" not in self.from_settings


@dataclass(frozen=True, kw_only=True)
class PlanOptions(OptionSet):
    """What is shown of a plan instead of building."""

    plan: bool = flag(
        "show what would be built, what would be skipped and why, and what is shared",
        group=_PLAN,
        conflicts=("print",),
    )
    format: str = option(
        "the format of the plan",
        default="text",
        choices=("text", "json"),
        group=_PLAN,
        needs="plan",
    )
    if_changed: str = option(
        "show what a change of torch, toolkit, base, ... would rebuild",
        default="",
        metavar="COMPONENT",
        group=_PLAN,
        needs="plan",
    )
    compare_with: str = option(
        "show whether the images in this repository are up to date",
        default="",
        metavar="REPOSITORY",
        group=_PLAN,
        needs="plan",
    )
    print: bool = flag("print the file for 'docker buildx bake'", group=_PLAN)


@dataclass(frozen=True, kw_only=True)
class TransferOptions(OptionSet):
    """How missing files are downloaded. ``cache`` is None for the usual folder."""

    accept_eula: str = option(
        "accept Huawei's licence of the files that are downloaded, as the person or "
        "company NAME; the acceptance is recorded with its date",
        default="",
        metavar="NAME",
        group=_FETCHING,
        parse=person,
        setting="accept-eula",
    )
    trust_first_use: bool = flag(
        "download files, too, of which nobody publishes a sha256, and write the sha256 "
        "of each beside its name, in cannery/data or matrix.yaml, for review",
        group=_FETCHING,
    )
    fetch_jobs: int = option(
        "download N files at a time",
        default=4,
        metavar="N",
        group=_FETCHING,
        parse=number(1, 64),
        setting="fetch-jobs",
    )
    cache: Path | None = CACHE.field()


@dataclass(frozen=True, kw_only=True)
class RegistryOptions(OptionSet):
    """Where images are pushed."""

    registry: str = REGISTRY.field()


@dataclass(frozen=True, kw_only=True)
class SigningOptions(OptionSet):
    """Who signs images: ``signing_key`` is a file or a URI; empty for no signature."""

    signing_key: str = option(
        "sign the images with this key of cosign",
        default="",
        flags=("--key",),
        metavar="KEY",
        default_text="no signature",
        setting="signing-key",
    )


@dataclass(frozen=True, kw_only=True)
class NewOptions(OptionSet):
    """A new target; an empty field is for the newest version that fits."""

    python: str = option(
        "the Python version, as in 3.10 or 3.10.14",
        metavar="X.Y",
        parse=matching(r"3\.[0-9]+(\.[0-9]+)?", "Python version", "3.10 or 3.10.14"),
    )
    torch: str = option(
        "the torch version, as in 2.6.0, or a series of it, as in 2.6",
        default="",
        metavar="VERSION",
        parse=matching(r"([0-9]+\.[0-9]+(\.[0-9]+)?)?", "torch version", "2.7.1"),
        default_text="the newest that fits",
    )
    cann: str = option(
        "the CANN version, as in 8.3.RC1, or a series of it, as in 9.1",
        default="",
        metavar="VERSION",
        default_text="the newest that fits",
    )
    chip: str = option(
        "the chip by any of its names, as 910b, A2, Ascend910B1, A3, 910_93, A5, 950 or 310P",
        default=USUAL_CHIP,
        metavar="NAME",
        parse=chip_named,
    )
    platform: str = option(
        "the image's platform", default="linux/arm64", choices=("linux/arm64", "linux/amd64")
    )
    deepspeed: str = option(
        "the DeepSpeed version, or none",
        default="",
        metavar="VERSION",
        parse=matching(r"([0-9]+\.[0-9]+\.[0-9]+|none)?", "DeepSpeed version", "0.15.0, or none"),
        default_text="the version that is advised for this torch",
    )
    apex: bool = flag("add apex, whose wheel you have to provide")
    id: str = option(
        "the id of the target",
        default="",
        metavar="ID",
        parse=matching(r"([a-z0-9]+([._-][a-z0-9]+)*)?", "id", "py310-mine"),
        default_text="made from the versions",
    )

    @property
    def minor(self) -> str:
        """As in ``3.10``."""
        return ".".join(self.python.split(".")[:2])

    @property
    def machine(self) -> str:
        """The architecture, as ``uname -m`` names it."""
        return MACHINE_OF[self.platform.split("/")[1]]


@cache
def all_settings() -> Mapping[str, Declared]:
    """Every option of this file that is a setting, by its key."""
    classes = [
        each
        for each in globals().values()
        if isinstance(each, type) and issubclass(each, OptionSet)
    ]
    return {
        each.option.setting: each
        for options in classes
        for each in declared(options)
        if each.option.setting
    }
