# SPDX-License-Identifier: Apache-2.0
"""Reads bases of matrix.yaml, and the distributions that they can be of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from cannery.common.bases import (
    EVERY_IMAGE,
    LIBRARIES,
    MPI,
    PYTHON,
    Base,
    Distribution,
    PackageManager,
)
from cannery.common.references import read_reference
from cannery.common.yaml_reader import Section, read_yaml

DISTRIBUTIONS = Path(__file__).with_name("distributions.yaml")
_USUAL = "debian"
"""The distribution of a base that names none."""

_GLIBC = re.compile(r"[0-9]+\.[0-9]+")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]+")


@cache
def load_distributions(path: Path = DISTRIBUTIONS) -> Mapping[str, Distribution]:
    """Name to distribution.

    Raises:
        FileError: the file cannot be read.
        MatrixError: it is wrong, with every problem found.
    """
    return read_yaml(path, path.name, _distributions)


def _distributions(top: Section) -> dict[str, Distribution]:
    return {name: _distribution(name, section) for name, section in top.sections()}


def _distribution(name: str, section: Section) -> Distribution:
    managers = {str(each): each for each in PackageManager}
    site_packages = section.text("site_packages")
    if site_packages and site_packages.count("{minor}") != 1:
        section.wrong("site_packages", f"{site_packages!r} must contain {{minor}} once.")
    found = Distribution(
        name=name,
        package_manager=section.choose("package_manager", managers, "package manager")
        or PackageManager.APT,
        packages=_packages(section),
        site_packages=site_packages,
        native_python=section.flag("native_python"),
    )
    for wanted in (*EVERY_IMAGE, LIBRARIES, MPI, PYTHON):
        if wanted not in found.packages:
            section.wrong("packages", f"there is no entry {wanted!r}.", "Add it.")
    section.done()
    return found


def _packages(section: Section) -> dict[str, tuple[str, ...]]:
    inner = section.section("packages", required=False)
    if inner is None:
        return {}
    return {name: inner.texts(name, wrong_package) for name in inner.names()}


def wrong_package(text: str) -> str:
    """What is wrong with ``text`` as the name of a package of a distribution; "" if nothing is."""
    return "" if _NAME.fullmatch(text) else f"{text!r} is not the name of a package."


def read_base(name: str, section: Section) -> Base:
    """The base in ``section``; mistakes become problems."""
    image = section.text("image")
    reference = read_reference(image)
    if image and not (reference and reference.tag):
        fix = "Write it as name:tag@sha256:digest, or as name:tag while its digest is not known."
        section.wrong("image", f"{image!r} is not an image with a tag.", fix)
    glibc = section.text("glibc")
    if glibc and not _GLIBC.fullmatch(glibc):
        section.wrong("glibc", f"{glibc!r} is not a version of glibc.", "Write it as in 2.36.")
    known = load_distributions()
    chosen = section.choose("distribution", dict(known), "distribution", default=_USUAL)
    distribution = chosen or known[_USUAL]
    if own := _packages(section):
        distribution = replace(distribution, packages={**distribution.packages, **own})
    base = Base(
        name=name,
        image=image,
        suite=section.text("suite"),
        glibc=glibc,
        distribution=distribution,
    )
    section.done()
    return base


def entry_elsewhere(name: str, own: Base, others: Iterable[Base]) -> str:
    """The entry under which another of the known distributions has the package ``name``.

    It is "" where ``name`` is an entry or a package of ``own``, or where that has no such entry.
    """
    packages = own.distribution.packages
    if name in packages or name in own.distribution.packages_for(*packages):
        return ""
    known = [*load_distributions().values(), *(each.distribution for each in others)]
    entries = (entry for each in known for entry, names in each.packages.items() if name in names)
    return next((entry for entry in entries if entry in packages), "")
