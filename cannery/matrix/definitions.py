# SPDX-License-Identifier: Apache-2.0
"""What targets of matrix.yaml may name: bases, interpreters, CANN, wheels, applications."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, Self
from urllib.parse import quote

from packaging.requirements import InvalidRequirement
from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    model_validator,
)

from cannery.common.bases import Base, File, Python, PythonSource, Source
from cannery.common.documents import Steps
from cannery.common.errors import did_you_mean
from cannery.common.model import EXTRAS, MACHINE_OF, Application, CannRelease, Chip, Layout
from cannery.common.models import Model, OneOf, Parsed, Sha256, Unique, matching, raise_mistakes
from cannery.common.references import read_reference
from cannery.common.specifiers import normal_name, parse_requirement
from cannery.common.wheels import BuiltWheel, TorchIndex, VendorWheel
from cannery.matrix.cann_definitions import CannDefaults, ReleaseShape, Version, releases
from cannery.matrix.distributions import PackageName, Packages, load_distributions
from cannery.matrix.file_definitions import (
    NO_DOWNLOADS,
    Downloads,
    FileName,
    FileShape,
    Requirements,
    Url,
    made_file,
    named,
)

_MACHINE = "{machine}"
_OURS = {
    *("os", "base", "python", "driver", "guard", "toolkit", "kernels", "nnal", "torch"),
    *("torch_npu", "apex", "deepspeed", "deepspeed_plugin"),
    *EXTRAS,
}
"""Components of every image, whose names no application can have."""


def _component(text: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", text):
        raise ValueError(f"{text!r} cannot be a component. Use a-z, 0-9 and '_'.")
    if text in _OURS:
        raise ValueError(f"{text!r} is the name of another component. Choose another name.")
    return text


def _image(text: str) -> str:
    reference = read_reference(text)
    if not (reference and reference.tag):
        fix = "Write it as name:tag@sha256:digest, or as name:tag while its digest is not known."
        raise ValueError(f"{text!r} is not an image with a tag. {fix}")
    return text


def _wheel_name(text: str) -> str:
    try:
        text.format(tag="", abi="", machine="")
    except (KeyError, IndexError, ValueError, AttributeError, TypeError):
        raise ValueError("only {tag}, {abi} and {machine} can be filled in.") from None
    return text


def _port(text: str) -> str:
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 0 < int(text) < 1 << 16:
        raise ValueError(f"{text!r} is not a port.")
    return text


def _in_file(pattern: str, place: str) -> AfterValidator:
    """Marks a text that goes into a generated file without quotes."""
    return matching(pattern, f"{{text!r}} cannot be in {place!r}: only {pattern} can.")


Component = Annotated[str, AfterValidator(_component)]
Local = Annotated[
    str,
    matching(
        r"[a-z0-9]+(\.[a-z0-9]+)*",
        "{text!r} is not a local version. Write it as in empty, for 0.7.3+empty.",
    ),
]
Environment = dict[
    Annotated[str, _in_file(r"[A-Za-z_][A-Za-z0-9_]*", "environment")],
    Annotated[str, _in_file(r"[^\s\"'\\$]+", "environment")],
]
_Path = Annotated[str, _in_file(r"[A-Za-z0-9._/+@-]+", "volumes")]
_NAME = "the name of a package; write it as my-package"


class BaseShape(Model):
    """A base image. ``packages`` replaces entries of its distribution's."""

    image: Annotated[str, AfterValidator(_image)]
    suite: str
    glibc: Annotated[
        str,
        matching(r"[0-9]+\.[0-9]+", "{text!r} is not a version of glibc. Write it as in 2.36."),
    ]
    distribution: Annotated[str, OneOf(load_distributions())] = "debian"
    packages: Packages = Field(default={})


class Archive(FileShape):
    """The archive of an interpreter; ``{machine}`` in its name stands for each machine."""

    hashes: dict[Annotated[str, OneOf(MACHINE_OF.values())], Sha256] = Field(default={})

    @model_validator(mode="after")
    def _is_one_or_two(self) -> Self:
        if _MACHINE in self.file and self.sha256:
            what = "one sha256 cannot be that of the archives for two machines."
            fix = "Write hashes: {aarch64: ..., x86_64: ...}."
            raise_mistakes([(("sha256",), what, fix)])
        if self.hashes and _MACHINE not in self.file:
            fix = "Write {machine} into its name."
            raise_mistakes([(("hashes",), f"{self.file!r} is one file.", fix)])
        return self

    def files(self, downloads: Downloads) -> dict[str, File]:
        """Machine to archive."""
        file = made_file(self.file, self.origin, self.download, downloads, self)
        if _MACHINE not in self.file:
            return dict.fromkeys(MACHINE_OF.values(), file)
        return {
            machine: replace(
                file,
                name=file.name.replace(_MACHINE, machine),
                sha256=self.hashes.get(machine, ""),
                addresses=tuple(
                    replace(each, url=each.url.replace(quote(_MACHINE), machine))
                    for each in file.addresses
                ),
            )
            for machine in MACHINE_OF.values()
        }


_PythonVersion = Annotated[
    str, matching(r"3\.[0-9]+\.[0-9]+", "{text!r} has no patch level. Write it as in 3.9.2.")
]


class BundledPython(Model):
    """The interpreter of a base."""

    version: _PythonVersion
    # debian is the name of the time when every base was Debian.
    source: Literal["base", "debian", "standalone"]
    base: Annotated[str, named("bases", "base")]

    def python(self, name: str, _: Downloads) -> Python:
        return Python(name=name, version=self.version, source=PythonSource.BASE, base=self.base)


class PythonArchive(Model):
    """An interpreter of an archive."""

    version: _PythonVersion
    source: Literal["standalone"]
    archive: Archive

    def python(self, name: str, downloads: Downloads) -> Python:
        source, archives = PythonSource.STANDALONE, self.archive.files(downloads)
        return Python(name=name, version=self.version, source=source, archives=archives)


def _kind_of_python(data: Any) -> str:
    is_archive = isinstance(data, dict) and data.get("source") == "standalone"
    return "of an archive" if is_archive else "of a base"


PythonShape = Annotated[
    Annotated[BundledPython, Tag("of a base")] | Annotated[PythonArchive, Tag("of an archive")],
    Discriminator(_kind_of_python),
]


class WheelFile(Model):
    """A wheel that is a file; its name may have the tags of an interpreter in braces.

    ``sha256`` maps names without braces to hashes.
    """

    file: Annotated[FileName, AfterValidator(_wheel_name)]
    origin: str
    download: Url = ""
    sha256: dict[str, Sha256] = Field(default={})
    requirements: Requirements = ()

    @model_validator(mode="after")
    def _hashes_are_of_its_files(self) -> Self:
        names = re.compile(re.sub(r"\\{\w+\\}", r"\\w+", re.escape(self.file)))
        raise_mistakes(
            (("sha256", name), f"{name!r} is no name that {self.file!r} stands for.", "")
            for name in self.sha256
            if not names.fullmatch(name)
        )
        return self

    def wheel(self, version: str) -> VendorWheel:
        fields = {**dict(self), "download": (self.download.rstrip("/"),) if self.download else ()}
        return VendorWheel(version=version, **fields)


_NO_SDIST = "{text!r} is not one version of a package. Write it as in vllm==0.7.3."


def _one_version(text: str) -> str:
    try:
        parse_requirement(text)
    except InvalidRequirement as error:
        raise ValueError(_NO_SDIST.format(text=text)) from error
    return text


class WheelFromSdist(Model):
    """A wheel that is built from an sdist of a package index."""

    sdist: Annotated[
        str,
        matching(
            r"[A-Za-z0-9._-]+==[A-Za-z0-9.!]+",
            _NO_SDIST,
        ),
        AfterValidator(_one_version),
    ]
    local: Local = ""
    build_requirements: Requirements = ()
    environment: Environment = Field(default={})

    @model_validator(mode="before")
    @classmethod
    def _is_no_file(cls, data: Any) -> Any:
        what = "it is of a wheel that is a file, and 'sdist' of one that is built."
        both = [key for key in ("file", "origin") if isinstance(data, dict) and key in data]
        raise_mistakes(((key,), what, "Remove one of them.") for key in both)
        return data

    def wheel(self, _: str) -> BuiltWheel:
        name, _, version = self.sdist.partition("==")
        return BuiltWheel(
            package=normal_name(name),
            version=version,
            local=self.local,
            requirements=self.build_requirements,
            environment=self.environment,
        )


def _sdist_mistakes(
    component: str, version: str, shape: WheelFile | WheelFromSdist
) -> Iterator[tuple[Steps, str, str]]:
    """What is wrong with the wheel of ``component``; an sdist must have ``version``, if any."""
    if isinstance(shape, WheelFile):
        return
    wheel = shape.wheel("")
    if wheel.package != normal_name(component.replace("_", "-")):
        what = f"the wheel of {component} cannot be built from the sdist of {wheel.package}."
        yield ("sdist",), what, "A component has the name of its package."
    elif version and wheel.version != version:
        what = f"the sdist is of version {wheel.version}, and {version} is declared."
        yield ("sdist",), what, f"Write it as in {wheel.package}=={version}."


def _kind_of_wheel(data: Any) -> str:
    return "built wheel" if isinstance(data, dict) and "sdist" in data else "wheel file"


Wheel = Annotated[
    Annotated[WheelFile, Tag("wheel file")] | Annotated[WheelFromSdist, Tag("built wheel")],
    Discriminator(_kind_of_wheel),
]


_NodeLabel = Annotated[
    str,
    matching(
        r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", "{text!r} cannot be the label of a node."
    ),
]
_MOST_CARDS = 999
"""Of one host."""


class ChipShape(Model):
    """What a project says of the cards of a chip; ``none`` is a host without a label."""

    resource: Annotated[
        str,
        matching(
            r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?/[A-Za-z0-9][A-Za-z0-9._-]{0,62}",
            "{text!r} is no resource of Kubernetes. Write it as in huawei.com/Ascend910.",
        ),
    ] = ""
    ring: _NodeLabel = ""
    hosts: dict[Annotated[int, Field(ge=1, le=_MOST_CARDS)], _NodeLabel] = Field(default={})

    @property
    def chip(self) -> Chip:
        hosts = {most: "" if label == "none" else label for most, label in self.hosts.items()}
        return Chip(resource=self.resource, ring=self.ring, hosts=hosts)


class TorchIndexShape(Model):
    """A package index with builds of torch for another device."""

    url: Url
    local: Local


class SourceShape(FileShape):
    """A source archive of an application."""

    folder: Component


class ApplicationShape(Model):
    """What people run on an environment."""

    component: Component
    version: str
    title: str = ""
    requirements: Requirements = ()
    overrides: Requirements = ()
    sdists: Unique[
        Annotated[str, matching(r"[a-z0-9]+(-[a-z0-9]+)*", f"{{text!r}} is not {_NAME}.")]
    ] = ()
    wheels: dict[Component, Wheel] = Field(default={})
    packages: Unique[PackageName] = ()
    environment: Environment = Field(default={})
    ports: Unique[Annotated[str, AfterValidator(_port)]] = ()
    volumes: dict[_Path, _Path] = Field(default={})
    sources: tuple[SourceShape, ...] = ()

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        folders = [source.folder for source in self.sources]
        mistakes: list[tuple[Steps, str, str]] = [
            (("sources", number, "folder"), f"{name!r} is the folder of another source.", "")
            for number, name in enumerate(folders)
            if name in folders[:number]
        ]
        for name, wheel in self.wheels.items():
            # The other packages of an application have versions of their own.
            version = self.version if name == self.component else ""
            for path, what, fix in _sdist_mistakes(name, version, wheel):
                mistakes.append((("wheels", name, *path), what, fix))
        raise_mistakes(mistakes)
        return self


def _bases(shapes: Mapping[str, BaseShape], info: ValidationInfo) -> dict[str, Base]:
    applications: Mapping[str, Application] = info.data.get("applications", {})
    asked = {each for app in applications.values() for each in app.packages}
    bases, mistakes = {}, []
    for name, shape in shapes.items():
        distribution = load_distributions()[shape.distribution]
        known = {*distribution.packages, *asked}
        for entry in shape.packages.keys() - known:
            hint = did_you_mean(entry, known)
            mistakes.append(((name, "packages", entry), f"nothing asks for {entry!r}.", hint))
        packages = {**distribution.packages, **shape.packages}
        bases[name] = Base(
            name=name,
            image=shape.image,
            suite=shape.suite,
            glibc=shape.glibc,
            distribution=replace(distribution, packages=packages),
        )
    raise_mistakes(mistakes if "applications" in info.data else ())
    return bases


def _pythons(
    shapes: Mapping[str, BundledPython | PythonArchive], info: ValidationInfo
) -> dict[str, Python]:
    downloads = info.data.get("downloads", NO_DOWNLOADS)
    return {name: shape.python(name, downloads) for name, shape in shapes.items()}


def _applications(
    shapes: Mapping[str, ApplicationShape], info: ValidationInfo
) -> dict[str, Application]:
    downloads = info.data.get("downloads", NO_DOWNLOADS)
    applications = {}
    for name, shape in shapes.items():
        fields = dict(shape)
        fields["wheels"] = {key: each.wheel(shape.version) for key, each in shape.wheels.items()}
        fields["sources"] = tuple(
            Source(
                folder=each.folder,
                file=made_file(each.file, each.origin, each.download, downloads, each),
            )
            for each in shape.sources
        )
        applications[name] = Application(name=name, **fields)
    return applications


def _wheels(shapes: Mapping[str, WheelFile]) -> dict[str, VendorWheel]:
    return {version: shape.wheel(version) for version, shape in shapes.items()}


def _deepspeed(
    shapes: Mapping[str, WheelFile | WheelFromSdist],
) -> dict[str, VendorWheel | BuiltWheel]:
    raise_mistakes(
        ((version, *path), what, fix)
        for version, shape in shapes.items()
        for path, what, fix in _sdist_mistakes("deepspeed", version, shape)
    )
    return {version: shape.wheel(version) for version, shape in shapes.items()}


def _indexes(shapes: Mapping[str, TorchIndexShape]) -> dict[str, TorchIndex]:
    return {name: TorchIndex(name=name, **dict(shape)) for name, shape in shapes.items()}


_WheelFiles = Annotated[Mapping[str, VendorWheel], Parsed(_wheels, of=dict[str, WheelFile])]
_Pattern = Annotated[
    str,
    matching(
        r"(?!/)[A-Za-z0-9._/+*?\[\]-]+",
        "{text!r} is not a pattern of paths; write it as */numpy/tests.",
    ),
]


class Definitions(Model):
    """What targets may name. A field is made of the shapes in the file, and of earlier fields."""

    downloads: Downloads = NO_DOWNLOADS
    cann_layouts: dict[Layout, CannDefaults] = Field(default={})
    applications: Annotated[
        Mapping[str, Application],
        Parsed(_applications, of=dict[str, ApplicationShape], info=True),
    ] = Field(default={})
    bases: Annotated[Mapping[str, Base], Parsed(_bases, of=dict[str, BaseShape], info=True)] = (
        Field(default={})
    )
    pythons: Annotated[
        Mapping[str, Python], Parsed(_pythons, of=dict[str, PythonShape], info=True)
    ] = Field(default={})
    cann: Annotated[
        Mapping[str, CannRelease], Parsed(releases, of=dict[Version, ReleaseShape], info=True)
    ] = Field(default={})
    apex: _WheelFiles = Field(default={})
    deepspeed_plugins: _WheelFiles = Field(default={})
    torch_wheels: _WheelFiles = Field(default={})
    torch_npu_wheels: _WheelFiles = Field(default={})
    triton_ascend_wheels: _WheelFiles = Field(default={})
    deepspeed_wheels: Annotated[
        Mapping[str, VendorWheel | BuiltWheel], Parsed(_deepspeed, of=dict[str, Wheel])
    ] = Field(default={})
    torch_indexes: Annotated[
        Mapping[str, TorchIndex], Parsed(_indexes, of=dict[str, TorchIndexShape])
    ] = Field(default={})
    leave_out: dict[str, Unique[_Pattern]] = Field(default={})

    def pythons_for(self, base: Base, python: Python) -> str:
        """Which interpreters ``base`` can have in place of ``python``, as advice."""
        same = [
            name
            for name, each in self.pythons.items()
            if each.minor == python.minor and not each.base
        ]
        bundled = [name for name, each in self.pythons.items() if each.base == base.name]
        if same or bundled:
            return f"It can have {' or '.join((*same, *bundled))}."
        return f"Declare an archive of Python {python.minor} with 'source: standalone'."
