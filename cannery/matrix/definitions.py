# SPDX-License-Identifier: Apache-2.0
"""Reads what targets of matrix.yaml may name: bases, interpreters, CANN releases, applications."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar
from urllib.parse import quote

from cannery.common.bases import Base, File, Python, PythonSource, Source
from cannery.common.errors import did_you_mean
from cannery.common.model import EXTRAS, MACHINE_OF, Application, CannRelease, Layout
from cannery.common.wheels import BuiltWheel, TorchIndex, VendorWheel
from cannery.common.yaml_reader import Section
from cannery.matrix.cann_definitions import read_cann_defaults, read_release
from cannery.matrix.distributions import load_distributions, read_base, wrong_package
from cannery.matrix.file_definitions import Downloads, read_downloads, read_file
from cannery.matrix.wheels import (
    read_environment,
    read_pairs,
    read_requirements,
    read_torch_index,
    read_vendor_wheel,
    read_wheel,
)

_MACHINE = "{machine}"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_COMPONENT = re.compile(r"[a-z][a-z0-9_]*")
_OURS = {
    *("os", "base", "python", "driver", "guard", "toolkit", "kernels", "nnal", "torch"),
    *("torch_npu", "apex", "deepspeed", "deepspeed_plugin"),
    *EXTRAS,
}
"""Components of every image, whose names no application can have."""

_PACKAGE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_PATH = re.compile(r"[A-Za-z0-9._/+@-]+")
_PATTERN = re.compile(r"(?!/)[A-Za-z0-9._/+*?\[\]-]+")


@dataclass(kw_only=True)
class Definitions:
    """What the targets of the file may name."""

    build_base: Base | None = None
    downloads: Downloads = field(default_factory=Downloads)
    bases: dict[str, Base] = field(default_factory=dict)
    pythons: dict[str, Python] = field(default_factory=dict)
    python_bases: dict[str, str] = field(default_factory=dict)
    cann: dict[str, CannRelease] = field(default_factory=dict)
    apex: dict[str, VendorWheel] = field(default_factory=dict)
    plugins: dict[str, VendorWheel] = field(default_factory=dict)
    torch_wheels: dict[str, VendorWheel] = field(default_factory=dict)
    torch_npu_wheels: dict[str, VendorWheel] = field(default_factory=dict)
    triton_ascend_wheels: dict[str, VendorWheel] = field(default_factory=dict)
    deepspeed_wheels: dict[str, VendorWheel | BuiltWheel] = field(default_factory=dict)
    torch_indexes: dict[str, TorchIndex] = field(default_factory=dict)
    applications: dict[str, Application] = field(default_factory=dict)
    leave_out: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _faulty: set[int] = field(default_factory=set)

    def read(self, section: Section, parse: Callable[[], T]) -> T:
        """What ``parse`` makes of ``section``; a mistake in it is remembered."""
        made = parse()
        if section.is_faulty:
            self.add_faulty(made)
        return made

    def add_faulty(self, definition: object) -> None:
        """Remember that there was a mistake in ``definition``."""
        self._faulty.add(id(definition))

    def pythons_for(self, base: Base, python: Python) -> str:
        """Which interpreters ``base`` can have in place of ``python``, as advice."""
        own = [name for name, each in self.python_bases.items() if each == base.name]
        same = [
            each.name
            for each in self.pythons.values()
            if each.minor == python.minor and each.name not in self.python_bases
        ]
        if same or own:
            return f"It can have {' or '.join((*same, *own))}."
        return f"Declare an archive of Python {python.minor} with 'source: standalone'."

    def is_faulty(self, definition: object) -> bool:
        """Whether there was a mistake in ``definition``, so that nothing else is known of it."""
        return id(definition) in self._faulty


T = TypeVar("T")


def read_definitions(top: Section) -> Definitions:
    """Everything that the targets of ``top`` may name; mistakes become problems."""
    definitions = Definitions()
    read = definitions.read
    bases = dict(_named(top, "bases", required=False))
    for name, each in bases.items():
        definitions.bases[name] = read(each, partial(read_base, name, each))
    definitions.build_base = top.choose("build_base", definitions.bases, "base")
    definitions.downloads = read_downloads(top)
    for name, each in _named(top, "pythons", required=False):
        definitions.pythons[name] = read(each, partial(_python, name, each, definitions))
    _read_cann(top, definitions)
    for key, wheels in (
        ("apex", definitions.apex),
        ("deepspeed_plugins", definitions.plugins),
        ("torch_wheels", definitions.torch_wheels),
        ("torch_npu_wheels", definitions.torch_npu_wheels),
        ("triton_ascend_wheels", definitions.triton_ascend_wheels),
    ):
        for name, each in _named(top, key, required=False):
            wheels[name] = read(each, partial(read_vendor_wheel, name, each))
    for name, each in _named(top, "deepspeed_wheels", required=False):
        wheel = partial(read_wheel, "deepspeed", name, each, sdist_version=name)
        definitions.deepspeed_wheels[name] = read(each, wheel)
    for name, each in _named(top, "applications", required=False):
        made = partial(_application, name, each, definitions.downloads)
        definitions.applications[name] = read(each, made)
    for name, each in _named(top, "torch_indexes", required=False):
        index = definitions.read(each, partial(read_torch_index, name, each))
        definitions.torch_indexes[name] = index
    if section := top.section("leave_out", required=False):
        must_be = _must_be(_PATTERN, "a pattern of paths; write it as */numpy/tests")
        definitions.leave_out = {name: section.texts(name, must_be) for name in section.names()}
    _check_packages(bases, definitions)
    return definitions


def _check_packages(bases: Mapping[str, Section], definitions: Definitions) -> None:
    """Refuse names of packages that a base has for something that nothing asks for."""
    wanted = {each for app in definitions.applications.values() for each in app.packages}
    for name, section in bases.items():
        if not (packages := section.section("packages", required=False)):
            continue
        known = {*load_distributions()[definitions.bases[name].distribution.name].packages, *wanted}
        for each in packages.names():
            if each not in known:
                packages.wrong(each, f"nothing asks for {each!r}.", did_you_mean(each, known))


def _named(top: Section, key: str, *, required: bool = True) -> Iterable[tuple[str, Section]]:
    """The sections of the mapping under ``key``, by their names."""
    section = top.section(key, required=required)
    return section.sections() if section else ()


def _python(name: str, section: Section, definitions: Definitions) -> Python:
    version = section.text("version")
    if version and not re.fullmatch(r"3\.[0-9]+\.[0-9]+", version):
        section.wrong("version", f"{version!r} has no patch level.", "Write it as in 3.9.2.")
    kinds = {str(kind): kind for kind in PythonSource}
    # The name of the time when every base was Debian.
    kinds["debian"] = PythonSource.BASE
    source = section.choose("source", kinds, "kind of source")
    archives: dict[str, File] = {}
    if source is PythonSource.STANDALONE:
        archives = _archives(section, definitions.downloads)
    elif source is None:
        # Which of the two keys belongs here is not known.
        section.take("archive", required=False)
        section.take("base", required=False)
    elif base := section.choose("base", definitions.bases, "base"):
        definitions.python_bases[name] = base.name
    section.done()
    return Python(name=name, version=version, source=source or PythonSource.BASE, archives=archives)


def _archives(section: Section, downloads: Downloads) -> dict[str, File]:
    """Machine to the archive under ``archive``; ``{machine}`` in its name stands for each."""
    inner = section.section("archive")
    if inner is None:
        return {}
    below = inner.section("hashes", required=False)
    hashes = _hashes(below) if below else {}
    file = read_file(inner, downloads)
    if _MACHINE in file.name and file.sha256:
        what = "one sha256 cannot be that of the archives for two machines."
        inner.wrong("sha256", what, "Write hashes: {aarch64: ..., x86_64: ...}.")
    elif below and _MACHINE not in file.name:
        inner.wrong("hashes", f"{file.name!r} is one file.", "Write {machine} into its name.")
    return {machine: _archive(file, machine, hashes) for machine in MACHINE_OF.values()}


def _hashes(section: Section) -> dict[str, str]:
    """Machine to sha256."""
    found = section.all_texts()
    for machine, text in found.items():
        if machine not in MACHINE_OF.values():
            hint = did_you_mean(machine, MACHINE_OF.values())
            section.wrong(machine, f"there is no machine {machine!r}.", hint)
        elif text and not _SHA256.fullmatch(text):
            section.wrong(machine, "a sha256 has 64 digits, 0 to 9 and a to f.")
    return found


def _archive(file: File, machine: str, hashes: Mapping[str, str]) -> File:
    if _MACHINE not in file.name:
        return file
    place = quote(_MACHINE)
    return replace(
        file,
        name=file.name.replace(_MACHINE, machine),
        sha256=hashes.get(machine, ""),
        addresses=tuple(
            replace(each, url=each.url.replace(place, machine)) for each in file.addresses
        ),
    )


def _read_cann(top: Section, definitions: Definitions) -> None:
    downloads, defaults = definitions.downloads, {}
    if section := top.section("cann_layouts", required=False):
        for layout in Layout:
            if inner := section.section(str(layout), required=False):
                parse = partial(read_cann_defaults, inner, downloads)
                defaults[layout] = definitions.read(inner, parse)
        section.done()
    for name, each in _named(top, "cann", required=False):
        parse_release = partial(read_release, name, each, downloads, defaults)
        release = definitions.cann[name] = definitions.read(each, parse_release)
        if release.layout in defaults and definitions.is_faulty(defaults[release.layout]):
            definitions.add_faulty(release)


def _application(name: str, section: Section, downloads: Downloads) -> Application:
    component = section.text("component")
    _check_component(section, "component", component)
    version = section.text("version")
    application = Application(
        name=name,
        component=component,
        version=version,
        title=section.text("title", required=False),
        requirements=read_requirements(section),
        overrides=read_requirements(section, "overrides"),
        sdists=section.texts(
            "sdists", _must_be(_PACKAGE, "the name of a package; write it as my-package")
        ),
        wheels=_wheels(section, component, version),
        packages=section.texts("packages", wrong_package),
        environment=read_environment(section),
        ports=section.texts("ports", _wrong_port),
        volumes=read_pairs(section, "volumes", _PATH, _PATH),
        sources=_sources(section, downloads),
    )
    section.done()
    return application


def _wheels(
    section: Section, application: str, version: str
) -> dict[str, VendorWheel | BuiltWheel]:
    inner = section.section("wheels", required=False)
    found: dict[str, VendorWheel | BuiltWheel] = {}
    for name, each in inner.sections() if inner else ():
        assert inner
        _check_component(inner, name, name)
        # The other packages of an application have versions of their own.
        own = version if name == application else ""
        found[name] = read_wheel(name, version, each, sdist_version=own)
    return found


def _check_component(section: Section, key: str, name: str) -> None:
    if name and not _COMPONENT.fullmatch(name):
        section.wrong(key, f"{name!r} cannot be a component.", "Use a-z, 0-9 and '_'.")
    elif name in _OURS:
        section.wrong(key, f"{name!r} is the name of another component.", "Choose another name.")


def _must_be(form: re.Pattern[str], noun: str) -> Callable[[str], str]:
    return lambda text: "" if form.fullmatch(text) else f"{text!r} is not {noun}."


def _wrong_port(text: str) -> str:
    fits = re.fullmatch(r"[0-9]{1,5}", text) and 0 < int(text) < 1 << 16
    return "" if fits else f"{text!r} is not a port."


def _sources(section: Section, downloads: Downloads) -> tuple[Source, ...]:
    found: dict[str, Source] = {}
    for each in section.mappings("sources"):
        source = _source(each, downloads)
        if source.folder in found:
            each.wrong("folder", f"{source.folder!r} is also the folder of another source.")
        found[source.folder] = source
    return tuple(found.values())


def _source(section: Section, downloads: Downloads) -> Source:
    folder = section.text("folder")
    _check_component(section, "folder", folder)
    return Source(folder=folder, file=read_file(section, downloads))
