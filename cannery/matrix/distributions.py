# SPDX-License-Identifier: Apache-2.0
"""The distributions that bases can be of, by the file beside this module."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, RootModel, StrictBool, model_validator

from cannery.common.bases import (
    EVERY_IMAGE,
    LIBRARIES,
    MPI,
    PYTHON,
    Base,
    Distribution,
    PackageManager,
)
from cannery.common.models import Model, Unique, matching, raise_mistakes, read_yaml

DISTRIBUTIONS = Path(__file__).with_name("distributions.yaml")

PackageName = Annotated[
    str, matching(r"[A-Za-z0-9][A-Za-z0-9.+_-]+", "{text!r} is not the name of a package.")
]
Packages = dict[str, Unique[PackageName]]
"""What a layer asks for to the names of its packages."""


def _with_minor(text: str) -> str:
    if text.count("{minor}") != 1:
        raise ValueError(f"{text!r} must contain {{minor}} once.")
    return text


class _Distribution(Model):
    package_manager: PackageManager
    packages: Packages
    site_packages: Annotated[str, AfterValidator(_with_minor)]
    native_python: StrictBool = False

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        names = (*EVERY_IMAGE, LIBRARIES, MPI, PYTHON)
        missing = (name for name in names if name not in self.packages)
        raise_mistakes(
            (("packages",), f"there is no entry {name!r}.", "Add it.") for name in missing
        )
        return self


@cache
def load_distributions(path: Path = DISTRIBUTIONS) -> Mapping[str, Distribution]:
    """Name to distribution."""
    shapes = read_yaml(RootModel[dict[str, _Distribution]], path).root
    return {name: Distribution(name=name, **dict(shape)) for name, shape in shapes.items()}


def entry_elsewhere(name: str, base: Base, others: Iterable[Base]) -> str:
    """The entry under which another of the known distributions has the package ``name``.

    It is "" where ``name`` is an entry or a package of ``base``, or where that has no such entry.
    """
    packages = base.distribution.packages
    if name in packages or name in base.distribution.packages_for(*packages):
        return ""
    known = [*load_distributions().values(), *(other.distribution for other in others)]
    entries = (entry for each in known for entry, names in each.packages.items() if name in names)
    return next((entry for entry in entries if entry in packages), "")
