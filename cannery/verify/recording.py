# SPDX-License-Identifier: Apache-2.0
"""Stores the results of checks in the repository; README and catalogue show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from cannery.common import console
from cannery.common.errors import UsageError
from cannery.common.files import LEFTOVER, read_text, write_files
from cannery.common.model import Target
from cannery.image.build_context import read_context
from cannery.image.content_key import KeyInputs, context_files
from cannery.image.simulator_spec import recipe
from cannery.matrix.project import Project
from cannery.verify.verification import Verification, results
from cannery.verify.verified import Verified, path_of, read_verified, to_text, updated


def record(project: Project, target: str, result: Verification, *, key: str) -> None:
    """Write ``result`` to the file of ``target``; ``key`` is the one that ``Verified`` describes.

    Raises:
        MatrixError: the existing file is invalid.
        FileError: the file cannot be read or written.
    """
    run = [
        Verified(simulated=result.simulated, key=key, tested=each)
        for each in results(result.to_json())
    ]
    path = path_of(project.root, target)
    with project.editing():
        before = read_verified(project.root, [target])[target]
        write_files({path: to_text(updated(before, run))})
    console.say(f"{target}: the results are in {path.relative_to(project.root)}; commit this file")


def state_keys(project: Project) -> Callable[[Target, bool], str]:
    """A function of a target and of whether its image is simulated: the content key.

    The key is that of ``state_inputs``, and empty if there are no simulated packages for the
    target's chip.

    Raises:
        FileError: a file cannot be read, also by the function.
    """
    return partial(_state_key, project, read_context(project))


def _state_key(
    project: Project, context: Mapping[str, str], target: Target, simulated: bool
) -> str:
    try:
        simulator = recipe(target) if simulated else ""
    except UsageError:
        return ""
    return state_inputs(project, context, target, simulator).key


def state_inputs(
    project: Project, context: Mapping[str, str], target: Target, simulator: str
) -> KeyInputs:
    """The inputs of an image of ``target`` by the current files of the checkout.

    They are the same on every machine. The key in an image's label can differ from theirs, because
    that one also depends on the base image of the machine. ``context`` has the files of the shared
    build context, and ``simulator`` identifies the simulated packages.

    Raises:
        FileError: a file cannot be read.
    """
    folder = project.images / target.id
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    own = {
        str(path.relative_to(folder)): read_text(path)
        for path in paths
        if not path.name.endswith(LEFTOVER)
    }
    files = context_files(own, context)
    return KeyInputs.committed(target, files, simulator=simulator)
