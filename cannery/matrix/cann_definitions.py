# SPDX-License-Identifier: Apache-2.0
"""The CANN releases of matrix.yaml, and what those of one layout have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo, model_validator

from cannery.common.bases import File, Published
from cannery.common.cann_version import CannVersion
from cannery.common.documents import Key, Steps
from cannery.common.errors import did_you_mean
from cannery.common.model import CHIPS, MACHINE_OF, CannPackages, CannRelease, Layout, chip_hint
from cannery.common.models import Model, Unique, matching, raise_mistakes
from cannery.common.references import is_versioned
from cannery.matrix.file_definitions import (
    Downloads,
    FileFacts,
    FilePattern,
    Folder,
    FolderPattern,
    Hashes,
    Requirements,
    Zip,
    made_file,
    zip_name,
)

DEFAULT = "default"
"""The key of the name that kernels have for every chip without a name of its own."""

_COMMUNITY = ".beta1"
"""The community's files drop it from the version (Ascend Extension for PyTorch 6.0.0 notes)."""


def _image(text: str) -> str:
    if not is_versioned(text):
        fix = "Write it as registry/name:tag or registry/name@sha256:digest."
        raise ValueError(f"{text!r} is not the reference of an image. {fix}")
    return text


def _version(text: str) -> str:
    CannVersion.parse(text)
    return text


def _chip(text: str) -> str:
    if text not in CHIPS:
        raise ValueError(f"{text!r} is not a chip. {chip_hint(text, CHIPS)}")
    return text


def _chip_or_default(text: str) -> str:
    return text if text == DEFAULT else _chip(text)


Version = Annotated[str, AfterValidator(_version)]
Chip = Annotated[str, AfterValidator(_chip)]


class CannDefaults(Model):
    """What the releases of one layout have in common; what is empty, each must say itself.

    The names of files hold {release}, {chip} and {machine}. ``kernels`` maps a chip to such a name.
    """

    origin: str = ""
    download: FolderPattern = ""
    toolkit: FilePattern = ""
    kernels: dict[Annotated[str, AfterValidator(_chip_or_default)], FilePattern] = Field(default={})
    nnal: FilePattern = ""
    requirements: Requirements = ()


class PartShape(FileFacts):
    """A package of a release, with what differs from its layout's."""

    file: FilePattern = ""
    origin: str = ""
    download: Folder = ""


class ReleaseShape(Model):
    """A CANN release. ``sha256`` has the hashes of files, or of zips, by their names."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"properties": {"edition": {"const": "release"}}},
                {"required": ["nearest_public"]},
            ]
        }
    )
    layout: Layout
    edition: Literal["release", "interim"] = "release"
    nearest_public: str = ""
    installer: Literal["native", "emulated"] = "native"
    origin: str = ""
    download: Folder = ""
    sha256: dict[str, Hashes] = Field(default={})
    toolkit: PartShape | None = None
    chips: Unique[Chip] = ()
    kernels: dict[Chip, PartShape] = Field(default={})
    nnal: PartShape | None = None
    without: Unique[Annotated[str, matching("nnal", "{text!r} cannot be left out; nnal can.")]] = ()
    image: dict[str, Annotated[str, AfterValidator(_image)]] = Field(default={})
    requirements: Requirements = ()

    @model_validator(mode="after")
    def _together(self) -> Self:
        if self.edition == "interim" and not self.nearest_public:
            raise_mistakes([((), "an interim release has no 'nearest_public'.", "Add it.")])
        if self.without and self.nnal:
            raise_mistakes([(("without",), "the release declares nnal.", "Remove one of them.")])
        return self


@dataclass(frozen=True, kw_only=True)
class _Release:
    """A release that is put together from its shape and what its layout has."""

    version: str
    shape: ReleaseShape
    defaults: CannDefaults
    downloads: Downloads
    mistakes: list[tuple[Steps, str, str]]

    def wrong(self, what: str, fix: str, *path: Key) -> None:
        self.mistakes.append(((self.version, *path), what, fix))

    def missing(self, key: str, *path: Key) -> None:
        what = f"there is no {key!r}, and cann_layouts has none for its layout."
        self.wrong(what, "Add it to one of them.", *path)

    def files(
        self, part: PartShape | None, pattern: str, *path: Key, chip: str = ""
    ) -> dict[str, File]:
        """Machine to the file that ``part`` at ``path`` declares, or that ``pattern`` names."""
        shape, release = self.shape, self.version.removesuffix(_COMMUNITY)
        folder = shape.download or self.defaults.download.format(release=release)
        origin = shape.origin or self.defaults.origin
        if part:
            pattern, origin = part.file or pattern, part.origin or origin
            folder = part.download or folder
            for key, text in (("file", pattern), ("origin", origin)):
                if not text:
                    self.missing(key, *path)
            if "{machine}" in pattern and (part.sha256 or part.zip):
                what = "one sha256 cannot be that of the files for two machines."
                fix = "Write the sha256 of each file under 'sha256' of the release."
                self.wrong(what, fix, *path, "sha256" if part.sha256 else "zip")
        facts = part or FileFacts()
        files = {}
        for machine in MACHINE_OF.values():
            name = pattern.format(release=release, chip=chip, machine=machine)
            sha256, variants = self.hashes(name)
            of_zip, variants_of_zip = self.hashes(zip_name(name))
            has_zip = bool(of_zip or variants_of_zip)
            update = {
                "sha256": facts.sha256 or sha256,
                "zip": facts.zip or (Zip.model_construct(sha256=of_zip) if has_zip else None),
            }
            file = made_file(name, origin, folder, self.downloads, facts.model_copy(update=update))
            if not file.eula and shape.layout is Layout.CANN and "://" not in folder:
                # On none of the mirrors, it may be in the vendor's repository for apt.
                file = replace(file, eula=self.downloads.eula)
            archive = file.zip and replace(file.zip, variants=variants_of_zip)
            files[machine] = replace(file, variants=variants, zip=archive)
        return files

    def hashes(self, name: str) -> tuple[str, tuple[Published, ...]]:
        """The one sha256 of the file ``name``, or else those of the files of this name."""
        known = self.shape.sha256.get(name, "")
        return (known, ()) if isinstance(known, str) else ("", known)

    def kernels(self) -> dict[str, dict[str, File]]:
        """Chip to its kernels, by machine: those under ``chips`` and those under ``kernels``."""
        shape, names = self.shape, self.defaults.kernels
        kernels = {}
        for chip in dict.fromkeys((*shape.chips, *shape.kernels)):
            pattern = names.get(chip, names.get(DEFAULT, ""))
            if pattern or chip in shape.kernels:
                kernels[chip] = self.files(
                    shape.kernels.get(chip), pattern, "kernels", chip, chip=chip
                )
            else:
                what = f"no file is declared for the kernels of chip {chip!r}."
                fix = "Declare it under 'kernels', or name it in cann_layouts."
                self.wrong(what, fix, "chips", shape.chips.index(chip))
        return kernels

    def made(self) -> CannRelease:
        version, shape, defaults = self.version, self.shape, self.defaults
        if not shape.toolkit and not defaults.toolkit:
            self.missing("toolkit")
        if not shape.kernels and not shape.chips:
            self.missing("kernels")
        toolkit, kernels = self.files(shape.toolkit, defaults.toolkit, "toolkit"), self.kernels()
        nnal: dict[str, File] = {}
        if shape.nnal or (defaults.nnal and not shape.without):
            nnal = self.files(shape.nnal, defaults.nnal, "nnal")
        packages = {
            machine: CannPackages(
                toolkit=toolkit[machine],
                kernels={chip: files[machine] for chip, files in kernels.items()},
                nnal=nnal.get(machine),
            )
            for machine in MACHINE_OF.values()
        }
        names = [file.name for each in packages.values() for file in each.files]
        known = {*names, *map(zip_name, names)}
        for name in shape.sha256.keys() - known:
            hint = did_you_mean(name, known)
            self.wrong(f"CANN {version} has no file {name!r}.", hint, "sha256", name)
        for chip in shape.image.keys() - kernels.keys():
            hint = chip_hint(chip, kernels)
            self.wrong(f"the release has no kernels for chip {chip!r}.", hint, "image", chip)
        return CannRelease(
            version=version,
            layout=shape.layout,
            emulated=shape.installer == "emulated",
            interim=shape.edition == "interim",
            nearest_public=shape.nearest_public,
            packages=packages,
            images=shape.image,
            requirements=shape.requirements or defaults.requirements,
        )


def releases(shapes: Mapping[str, ReleaseShape], info: ValidationInfo) -> dict[str, CannRelease]:
    """The releases by their version, with what their layouts have, which were read before."""
    if not {"downloads", "cann_layouts"} <= info.data.keys():
        return {}  # one of them is wrong
    mistakes: list[tuple[Steps, str, str]] = []
    layouts, no_layout = info.data["cann_layouts"], CannDefaults()
    made = {
        version: _Release(
            version=version,
            shape=shape,
            defaults=layouts.get(shape.layout, no_layout),
            downloads=info.data["downloads"],
            mistakes=mistakes,
        ).made()
        for version, shape in shapes.items()
    }
    raise_mistakes(mistakes)
    return made
