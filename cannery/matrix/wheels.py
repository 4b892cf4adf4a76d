# SPDX-License-Identifier: Apache-2.0
"""Reads the wheels that matrix.yaml declares, and keys that they share with other parts of it."""

from __future__ import annotations

import re

from packaging.requirements import InvalidRequirement

from cannery.common.specifiers import normal_name, parse_requirement
from cannery.common.wheels import BuiltWheel, TorchIndex, VendorWheel
from cannery.common.yaml_reader import Section
from cannery.matrix.file_definitions import check_file_name, is_url

_PINNED = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[A-Za-z0-9.!]+)")
_LOCAL = re.compile(r"[a-z0-9]+(\.[a-z0-9]+)*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORD = re.compile(r"[^\s\"'\\$]+")


def read_requirements(section: Section, key: str = "requirements") -> tuple[str, ...]:
    """The list of requirements under ``key``; those that cannot be locked become problems."""

    def wrong(text: str) -> str:
        try:
            place = parse_requirement(text).url
        except InvalidRequirement:
            return f"{text!r} is not a requirement. Write it as in numpy<2."
        return f"{text!r} names an address, and only versions can be locked." if place else ""

    # The others have been reported, and cannot be parsed later.
    return tuple(text for text in section.texts(key, wrong) if text and not wrong(text))


def read_wheel(
    component: str, version: str, section: Section, *, sdist_version: str
) -> VendorWheel | BuiltWheel:
    """The wheel of ``component``: a file of the version ``version``, or built from an sdist.

    The sdist must have the version ``sdist_version``, if that is not empty.
    """
    if "sdist" not in section:
        return read_vendor_wheel(version, section)
    return _built_wheel(component, sdist_version, section)


def read_vendor_wheel(version: str, section: Section) -> VendorWheel:
    """A wheel that is a file, whose name may have the fields of an interpreter."""
    wheel = VendorWheel(
        version=version,
        file=section.text("file"),
        origin=section.text("origin"),
        requirements=read_requirements(section),
    )
    try:
        wheel.file.format(tag="", abi="", machine="")
    except (KeyError, IndexError, ValueError, AttributeError, TypeError):
        section.wrong("file", "only {tag}, {abi} and {machine} can be filled in.")
    check_file_name(section, wheel.file)
    section.done()
    return wheel


def read_torch_index(name: str, section: Section) -> TorchIndex:
    """The index in ``section``; mistakes become problems."""
    url, local = section.text("url"), section.text("local")
    if url and not is_url(url):
        section.wrong("url", f"{url!r} is not a web address.", "Write it as https://HOST/PATH.")
    if local and not _LOCAL.fullmatch(local):
        section.wrong("local", f"{local!r} is not a local version.", "Write it as in cpu.")
    section.done()
    return TorchIndex(name=name, url=url, local=local)


def read_environment(section: Section) -> dict[str, str]:
    """The variables under ``environment``, which go into a Dockerfile."""
    return read_pairs(section, "environment", _VARIABLE, _WORD)


def read_pairs(
    section: Section, key: str, keys: re.Pattern[str], values: re.Pattern[str]
) -> dict[str, str]:
    """The names and texts under ``key``, which go into a generated file without quotes."""
    inner = section.section(key, required=False)
    if inner is None:
        return {}
    found = inner.all_texts()
    for name, text in found.items():
        for form, part in ((keys, name), (values, text)):
            if part and not form.fullmatch(part):
                inner.wrong(name, f"{part!r} cannot be in {key!r}: only {form.pattern} can.")
    return found


def _built_wheel(component: str, version: str, section: Section) -> BuiltWheel:
    package, found = _sdist(section)
    if package and package != normal_name(component.replace("_", "-")):
        what = f"the wheel of {component} cannot be built from the sdist of {package}."
        section.wrong("sdist", what, "A component has the name of its package.")
    elif found and version and found != version:
        what = f"the sdist is of version {found}, and {version} is declared."
        section.wrong("sdist", what, f"Write it as in {package}=={version}.")
    local = section.text("local", required=False)
    if local and not _LOCAL.fullmatch(local):
        what = f"{local!r} is not a local version."
        section.wrong("local", what, "Write it as in empty, for 0.7.3+empty.")
    wheel = BuiltWheel(
        package=package,
        version=found,
        local=local,
        requirements=read_requirements(section, "build_requirements"),
        environment=read_environment(section),
    )
    # 'in' would make them keys that a wheel from an sdist may have, in the JSON schema too.
    both = [key for key in ("file", "origin") if section.node_of(key) is not section.node]
    for key in both:
        what = f"{key!r} is of a wheel that is a file, and 'sdist' of one that is built."
        section.wrong(key, what, "Remove one of them.")
    if not both:
        section.done()
    return wheel


def _sdist(section: Section) -> tuple[str, str]:
    """The normalized name and the version under ``sdist``; empty if they are wrong."""
    text = section.text("sdist")
    if match := _PINNED.fullmatch(text):
        return normal_name(match["name"]), match["version"]
    if text:
        what = f"{text!r} is not one version of a package."
        section.wrong("sdist", what, "Write it as in vllm==0.7.3.")
    return "", ""
