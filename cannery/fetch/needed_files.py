# SPDX-License-Identifier: Apache-2.0
"""The files in no registry that a target needs, and those of them that a folder lacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from cannery.common.model import Target
from cannery.common.sources import File

CANN = ("toolkit", "kernels", "nnal")
"""The components that are parts of a CANN release."""


def cann_files(target: Target) -> dict[str, File]:
    """Component to file, for those of CANN's packages that ``target`` has."""
    return {name: file for name, file in target.artifacts.items() if name in CANN}


def artifacts_of(target: Target) -> dict[str, File]:
    """The artifacts of ``target``, without CANN's if a build takes CANN from an image."""
    left_out = CANN if target.vendor_image else ()
    return {name: file for name, file in target.artifacts.items() if name not in left_out}


def needed_files(target: Target, *, simulate: bool, with_cann: bool = False) -> dict[str, File]:
    """Component to vendor file, for all files that a build needs, less simulated ones.

    ``with_cann`` says that those of CANN are not simulated although the device is.
    """
    artifacts = artifacts_of(target)
    if not simulate:
        return artifacts
    real = {*target.real_artifacts, *(CANN if with_cann else ())}
    return {name: file for name, file in artifacts.items() if name in real}


def files_of_build(target: Target, *, simulate: bool, with_cann: bool = False) -> dict[str, File]:
    """Component to file, for all files of the ``artifacts`` context, also simulated ones.

    A simulated file has no published sha256.
    """
    needed = needed_files(target, simulate=simulate, with_cann=with_cann)
    return {
        name: file if name in needed else replace(file, sha256="")
        for name, file in artifacts_of(target).items()
    }


def needed_origins(target: Target, *, simulate: bool, with_cann: bool = False) -> dict[str, str]:
    """Name to origin of the ``needed_files``; the origin says so if the file can be fetched."""
    needed = needed_files(target, simulate=simulate, with_cann=with_cann).values()
    return {
        file.name: file.origin + ("; can be fetched" if file.is_downloadable else "")
        for file in needed
    }


def missing_files(
    target: Target, folder: Path, *, simulate: bool, with_cann: bool = False
) -> dict[str, str]:
    """Those of the ``needed_origins`` whose files ``folder`` does not have."""
    needed = needed_origins(target, simulate=simulate, with_cann=with_cann)
    return {name: origin for name, origin in needed.items() if not (folder / name).is_file()}


class Missing:
    """Numbers the files that several targets lack, from 1, in the order of the targets.

    ``files`` maps, for each target, the name of a file to where people get it.
    """

    def __init__(self, files: Iterable[Mapping[str, str]]) -> None:
        self._origins: dict[str, str] = {}
        for each in files:
            self._origins |= each
        self._numbers = {name: number for number, name in enumerate(self._origins, 1)}

    def needs(self, names: Iterable[str]) -> str:
        """As in ``needs files 1, 3``; the numbers are those of the legend."""
        numbers = [str(self._numbers[name]) for name in names]
        return f"needs file{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"

    def legend(self, heading: str) -> list[str]:
        """``heading`` and a line for each file; empty if no file is missing."""
        if not self._numbers:
            return []
        width = len(str(len(self._numbers)))
        return [
            heading,
            *(
                f"  {number:>{width}}  {name} ({self._origins[name]})"
                for name, number in self._numbers.items()
            ),
        ]
