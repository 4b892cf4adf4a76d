# SPDX-License-Identifier: Apache-2.0
"""What targets of matrix.yaml may name: bases, interpreters, CANN, wheels, applications."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, Self
from urllib.parse import quote

from pydantic import AfterValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from cannery.common.bases import Base, File, Python, PythonSource, Source
from cannery.common.errors import Problem, did_you_mean
from cannery.common.model import EXTRAS, MACHINE_OF, Application, CannRelease, Layout
from cannery.common.models import Model, OneOf, Sha256, Unique, matching, raise_mistakes
from cannery.common.references import read_reference
from cannery.common.specifiers import normal_name
from cannery.common.wheels import BuiltWheel, TorchIndex, VendorWheel
from cannery.matrix.cann_definitions import CannDefaults, ReleaseShape, Version, made_release
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
WHEEL_FILES = (
    *("apex", "deepspeed_plugins"),
    *("torch_wheels", "torch_npu_wheels", "triton_ascend_wheels"),
)
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

    def base(self, name: str) -> Base:
        distribution = load_distributions()[self.distribution]
        distribution = replace(distribution, packages={**distribution.packages, **self.packages})
        return Base(
            name=name,
            image=self.image,
            suite=self.suite,
            glibc=self.glibc,
            distribution=distribution,
        )


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


class PythonShape(Model):
    """An interpreter: that of a base, or an archive."""

    version: Annotated[
        str, matching(r"3\.[0-9]+\.[0-9]+", "{text!r} has no patch level. Write it as in 3.9.2.")
    ]
    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {
                    "properties": {"source": {"const": "standalone"}, "base": False},
                    "required": ["archive"],
                },
                {
                    "properties": {"source": {"enum": ["base", "debian"]}, "archive": False},
                    "required": ["base"],
                },
            ]
        }
    )
    # debian is the name of the time when every base was Debian.
    source: Literal["base", "standalone", "debian"]
    base: Annotated[str, named("bases", "base")] = ""
    archive: Archive | None = None

    @model_validator(mode="after")
    def _has_either(self) -> Self:
        keys = ("archive", "base") if self.source == "standalone" else ("base", "archive")
        if not getattr(self, keys[0]):
            raise_mistakes(
                [((), f"a python of source {self.source} has no {keys[0]!r}.", "Add it.")]
            )
        if getattr(self, keys[1]):
            what = f"a python of source {self.source} has no {keys[1]}."
            raise_mistakes([((keys[1],), what, "Remove it.")])
        return self


class WheelFile(Model):
    """A wheel that is a file; its name may have the tags of an interpreter in braces."""

    file: Annotated[FileName, AfterValidator(_wheel_name)]
    origin: str
    requirements: Requirements = ()


class WheelFromSdist(Model):
    """A wheel that is built from an sdist of a package index."""

    sdist: Annotated[
        str,
        matching(
            r"[A-Za-z0-9._-]+==[A-Za-z0-9.!]+",
            "{text!r} is not one version of a package. Write it as in vllm==0.7.3.",
        ),
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


def _kind_of_wheel(data: Any) -> str:
    return "built wheel" if isinstance(data, dict) and "sdist" in data else "wheel file"


Wheel = Annotated[
    Annotated[WheelFile, Tag("wheel file")] | Annotated[WheelFromSdist, Tag("built wheel")],
    Discriminator(_kind_of_wheel),
]


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
    def _has_a_folder_for_each_source(self) -> Self:
        folders = [source.folder for source in self.sources]
        raise_mistakes(
            (("sources", number, "folder"), f"{name!r} is the folder of another source.", "")
            for number, name in enumerate(folders)
            if name in folders[:number]
        )
        return self


class DefinitionsShape(Model):
    """The part of matrix.yaml that the files of cannery/data can have, too."""

    bases: dict[str, BaseShape] = Field(default={})
    pythons: dict[str, PythonShape] = Field(default={})
    downloads: Downloads = NO_DOWNLOADS
    cann_layouts: dict[Layout, CannDefaults] = Field(default={})
    cann: dict[Version, ReleaseShape] = Field(default={})
    apex: dict[str, WheelFile] = Field(default={})
    deepspeed_plugins: dict[str, WheelFile] = Field(default={})
    torch_wheels: dict[str, WheelFile] = Field(default={})
    torch_npu_wheels: dict[str, WheelFile] = Field(default={})
    triton_ascend_wheels: dict[str, WheelFile] = Field(default={})
    deepspeed_wheels: dict[str, Wheel] = Field(default={})
    torch_indexes: dict[str, TorchIndexShape] = Field(default={})
    applications: dict[str, ApplicationShape] = Field(default={})
    leave_out: dict[
        str,
        Unique[
            Annotated[
                str,
                matching(
                    r"(?!/)[A-Za-z0-9._/+*?\[\]-]+",
                    "{text!r} is not a pattern of paths; write it as */numpy/tests.",
                ),
            ]
        ],
    ] = Field(default={})


@dataclass(kw_only=True)
class Definitions:
    """What the targets of the file may name.

    ``python_bases`` maps the interpreters of bases to these. ``wheels`` has those that are files,
    by their section and version.
    """

    bases: Mapping[str, Base]
    pythons: dict[str, Python] = field(default_factory=dict)
    python_bases: dict[str, str] = field(default_factory=dict)
    cann: Mapping[str, CannRelease]
    wheels: Mapping[str, Mapping[str, VendorWheel]]
    deepspeed_wheels: Mapping[str, VendorWheel | BuiltWheel]
    torch_indexes: Mapping[str, TorchIndex]
    applications: dict[str, Application] = field(default_factory=dict)
    leave_out: Mapping[str, tuple[str, ...]]

    @property
    def sections(self) -> dict[str, Mapping[str, object]]:
        """The definitions by their section and name."""
        return {**vars(self), **self.wheels}

    def pythons_for(self, base: Base, python: Python) -> str:
        """Which interpreters ``base`` can have in place of ``python``, as advice."""
        bundled = [name for name, each in self.python_bases.items() if each == base.name]
        same = [
            each.name
            for each in self.pythons.values()
            if each.minor == python.minor and each.name not in self.python_bases
        ]
        if same or bundled:
            return f"It can have {' or '.join((*same, *bundled))}."
        return f"Declare an archive of Python {python.minor} with 'source: standalone'."


def made_definitions(shape: DefinitionsShape, problems: list[Problem]) -> Definitions:
    """Everything that targets may name; mistakes become problems."""
    downloads = shape.downloads
    definitions = Definitions(
        bases={name: each.base(name) for name, each in shape.bases.items()},
        cann={
            version: made_release(version, each, shape.cann_layouts, downloads, problems)
            for version, each in shape.cann.items()
        },
        wheels={
            key: {
                version: VendorWheel(version=version, **dict(each))
                for version, each in getattr(shape, key).items()
            }
            for key in WHEEL_FILES
        },
        deepspeed_wheels={
            version: _wheel("deepspeed", version, each, version, problems)
            for version, each in shape.deepspeed_wheels.items()
        },
        torch_indexes={
            name: TorchIndex(name=name, **dict(each)) for name, each in shape.torch_indexes.items()
        },
        leave_out=shape.leave_out,
    )
    for name, python in shape.pythons.items():
        definitions.pythons[name] = Python(
            name=name,
            version=python.version,
            source=PythonSource.STANDALONE if python.archive else PythonSource.BASE,
            archives=python.archive.files(downloads) if python.archive else {},
        )
        if python.base:
            definitions.python_bases[name] = python.base
    for name, app in shape.applications.items():
        fields = dict(app)
        fields["wheels"] = {
            component: _wheel(
                # The other packages of an application have versions of their own.
                *(component, app.version, each),
                *(app.version if component == app.component else "", problems),
            )
            for component, each in app.wheels.items()
        }
        fields["sources"] = tuple(
            Source(
                folder=each.folder,
                file=made_file(each.file, each.origin, each.download, downloads, each),
            )
            for each in app.sources
        )
        definitions.applications[name] = Application(name=name, **fields)
    asked = {each for app in shape.applications.values() for each in app.packages}
    for base in shape.bases.values():
        known = {*load_distributions()[base.distribution].packages, *asked}
        for name in base.packages.keys() - known:
            what, where = f"nothing asks for {name!r}.", base.place("packages", name)
            problems.append(Problem(what=what, fix=did_you_mean(name, known), where=where))
    return definitions


def _wheel(
    component: str,
    version: str,
    shape: WheelFile | WheelFromSdist,
    sdist_version: str,
    problems: list[Problem],
) -> VendorWheel | BuiltWheel:
    """The wheel of ``component``; an sdist must have ``sdist_version``, if that is not empty."""
    if isinstance(shape, WheelFile):
        return VendorWheel(version=version, **dict(shape))
    name, _, built = shape.sdist.partition("==")
    package = normal_name(name)
    what = fix = ""
    if package != normal_name(component.replace("_", "-")):
        what = f"the wheel of {component} cannot be built from the sdist of {package}."
        fix = "A component has the name of its package."
    elif sdist_version and built != sdist_version:
        what = f"the sdist is of version {built}, and {sdist_version} is declared."
        fix = f"Write it as in {package}=={sdist_version}."
    if what:
        problems.append(Problem(what=what, fix=fix, where=shape.place("sdist")))
    return BuiltWheel(
        package=package,
        version=built,
        local=shape.local,
        requirements=shape.build_requirements,
        environment=shape.environment,
    )
