# SPDX-License-Identifier: Apache-2.0
"""The files in no registry that a target needs, and those of them that a folder lacks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from cannery.model import Target
from cannery.sources import File

CANN = ("toolkit", "kernels", "nnal")
"""The components that are parts of a CANN release."""


def needed_files(target: Target, *, simulate: bool, with_cann: bool = False) -> dict[str, File]:
    """Component to vendor file, for all files that a build needs, less simulated ones.

    ``with_cann`` says that those of CANN are not simulated although the device is.
    """
    if not simulate:
        return target.artifacts
    real = {*target.real_artifacts, *(CANN if with_cann else ())}
    return {name: file for name, file in target.artifacts.items() if name in real}


def files_of_build(target: Target, *, simulate: bool, with_cann: bool = False) -> dict[str, File]:
    """Component to file, for all files of the ``artifacts`` context, also simulated ones.

    A simulated file has no published sha256.
    """
    needed = needed_files(target, simulate=simulate, with_cann=with_cann)
    return {
        name: file if name in needed else replace(file, sha256="")
        for name, file in target.artifacts.items()
    }


def missing_files(
    target: Target, folder: Path, *, simulate: bool, with_cann: bool = False
) -> dict[str, str]:
    """Name to origin of the files that a build of ``target`` needs but ``folder`` does not have.

    The origin says so if the file can be fetched.
    """
    needed = needed_files(target, simulate=simulate, with_cann=with_cann).values()
    return {
        file.name: file.origin + ("; can be fetched" if file.is_downloadable else "")
        for file in needed
        if not (folder / file.name).is_file()
    }
