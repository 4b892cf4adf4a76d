# SPDX-License-Identifier: Apache-2.0
"""CANN out of an image of the vendor's: whether it is what a target needs, and how it is built.

The Dockerfile of such a target makes the layers of CANN with ``vendor/take-cann``, which also reads
what an image contains.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from cannery.common.bases import CannSource
from cannery.common.errors import ArtifactError, Problem
from cannery.common.model import Target
from cannery.common.outside import parse_json
from cannery.common.references import digest_in
from cannery.fetch.apt import is_in_apt
from cannery.fetch.needs import cann_files

FOLDER = Path(__file__).parent / "vendor"
"""The build context with the program that takes CANN out of an image."""

PROGRAM = "take-cann"
"""The program, and the name of its build context."""

FACTS_STAGE = "facts"
"""The stage that writes ``FACTS``."""

FACTS = "facts.json"
"""The file that says what an image contains."""

LABEL = "io.cannery.cann-image"
"""The label with the reference of the image that CANN was taken from."""

_NO_WHEELS = (
    "CANN cannot be taken from a package index: the vendor's wheels have only a part of the"
    " toolkit, in another layout, and NNAL was not among them in April 2026."
)
_OTHER_SOURCE = "Choose another --source. docs/cann.md says what is known about the wheels."
_OTHER = "Name an image with the right contents in cannery.toml, or another --source."


def image_labels(target: Target) -> dict[str, str]:
    """The label of an image of ``target`` that says where its CANN is from."""
    return {LABEL: target.vendor_image} if target.vendor_image else {}


def vendor_files() -> dict[str, str]:
    """Name to text of the files of ``FOLDER``, as the content key has them."""
    return {f"vendor/{PROGRAM}": (FOLDER / PROGRAM).read_text(encoding="utf-8")}


def image_of(
    target: Target, order: Iterable[CannSource], folder: Path, *, servers: bool = False
) -> str:
    """The image from which CANN is taken if the sources are tried in this ``order``; or empty.

    A source before it is used instead if it has all of CANN's files: ``folder`` if they are in
    it, a server if matrix.yaml has their addresses or if there are ``servers``.

    Raises:
        ArtifactError: the image is the only source, and there is none or it has no digest; or
            only the package index is left.
    """
    order, files = [*order], cann_files(target).values()
    reference = target.cann.images.get(target.chip, "")
    for source in order:
        if source is CannSource.FOLDER and all((folder / file.name).is_file() for file in files):
            return ""
        if source is CannSource.APT and all(is_in_apt(file) for file in files):
            return ""
        if source is CannSource.DOWNLOAD and (servers or all(f.is_downloadable for f in files)):
            return ""
        if source is CannSource.IMAGE and (digest_in(reference) or order == [source]):
            if digest_in(reference):
                return reference
            version, chip = target.cann.version, target.chip
            what = f"{target.id}: no image with CANN {version} for chip {chip} is known."
            if reference:
                what = f"{target.id}: {reference} has no digest, so its contents may change."
                what += f" 'docker buildx imagetools inspect {reference}' shows its digest."
            place = f'    [images."{version}"]\n    {chip} = "NAME@sha256:DIGEST"'
            raise ArtifactError(Problem(what=what, fix=f"Add to cannery.toml:\n{place}"))
        if source is CannSource.INDEX and source is order[-1]:
            raise ArtifactError(Problem(what=f"{target.id}: {_NO_WHEELS}", fix=_OTHER_SOURCE))
    return ""


@dataclass(frozen=True, kw_only=True)
class VendorFacts:
    """The contents of an image of the vendor's.

    ``releases`` maps components to the versions of CANN in it, ``arches`` are as in
    ``aarch64`` and ``operators`` as in ``ascend910b``. ``stand_ins`` are the marks of simulated
    packages, ``driver`` the paths of the host's driver, and ``record`` says whether the installer's
    record is there, by which other software finds CANN.
    """

    releases: Mapping[str, Sequence[str]]
    arches: Sequence[str]
    operators: Sequence[str]
    stand_ins: Sequence[str]
    driver: Sequence[str]
    record: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """The facts in ``text``, which ``take-cann facts`` has printed.

        Raises:
            ValueError, TypeError: it is something else.
        """
        return cls(**parse_json(text))


def check_facts(target: Target, reference: str, facts: VendorFacts, *, simulated: bool) -> None:
    """Raise ArtifactError unless the image ``reference`` has what ``target`` needs.

    ``simulated`` says that the image of the target is to be a simulated one.
    """
    problems = [
        Problem(what=f"{reference} {what}.", fix=fix)
        for what, fix in _problems(target, facts, simulated=simulated)
    ]
    if problems:
        what = f"{target.id}: CANN cannot be taken from this image."
        raise ArtifactError([*problems, Problem(what=what, fix=_OTHER)])


def _problems(target: Target, facts: VendorFacts, *, simulated: bool) -> Iterator[tuple[str, str]]:
    for component, release in wanted_releases(target).items():
        versions = facts.releases.get(component, ())
        if not versions:
            yield f"has no {component}, and {release} is needed", ""
        elif [version.lower() for version in versions] != [release.lower()]:
            yield f"has {component} {' and '.join(versions)}, and {release} is needed", ""
    if target.machine not in facts.arches:
        listed = " and ".join(facts.arches) or "no known architecture"
        yield f"has programs for {listed}, and {target.machine} is needed", ""
    if target.operators not in facts.operators:
        listed = ", ".join(facts.operators) or "no chip"
        yield f"has operators for {listed}, and chip {target.chip} needs {target.operators}", ""
    if not facts.record:
        yield "lacks the installer's record /etc/Ascend/ascend_cann_install.info", ""
    if facts.stand_ins and not simulated:
        yield "holds simulated packages", "Add --simulate, or name the vendor's image."
    if simulated and not facts.stand_ins:
        yield "holds the vendor's CANN, which cannot use a simulated NPU", "Leave out --simulate."


def wanted_releases(target: Target) -> dict[str, str]:
    """Component to the version of CANN that ``target`` needs of it."""
    releases = {"toolkit": target.cann.version, "kernels": target.kernels.version}
    return releases | ({"nnal": target.nnal.version} if "nnal" in target.artifacts else {})


def left_out(facts: VendorFacts) -> str:
    """A sentence about what is in the image and is not taken; empty if there is nothing."""
    if not facts.driver:
        return ""
    paths = ", ".join(f"/{path}" for path in facts.driver)
    return f"left out, because containers get the host's driver: {paths}"


def vendor_contexts(reference: str) -> dict[str, str]:
    """The build contexts from which a Dockerfile takes CANN out of the image ``reference``."""
    return {PROGRAM: str(FOLDER), "vendor": f"docker-image://{reference}"}
