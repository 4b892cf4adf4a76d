# SPDX-License-Identifier: Apache-2.0
"""What plans said. It is kept until a file, the code, or a local image that they name changes.

A plan without an engine is kept too, until one answers.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from cannery.cli.common import read
from cannery.common import console
from cannery.common.cache import Inputs
from cannery.common.errors import CanneryError, EngineError
from cannery.engine.images import Images, local_images
from cannery.engine.known_bases import Notes
from cannery.fetch.store import Store, store_folder
from cannery.matrix.project import Project
from cannery.options.build import BuildOptions, PlanOptions, SelectionOptions
from cannery.options.fetch import TransferOptions
from cannery.options.given import Given
from cannery.verify.check_files import folder_of_checks

_ENTRY = "plans"

_MOST = 20
"""How many plans are kept, the newest ones."""


class _Said(TypedDict):
    """What a plan said, the images that it asked the engine for, and a hash of the answer.

    The hash is empty if no engine answered.
    """

    asked: list[str]
    answer: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What was said to ``question``, which is a hash, while the files were as in ``inputs``."""

    project: Project
    inputs: Inputs
    question: str

    def recalled(self) -> str | None:
        """What the plan says; None if that has to be found out."""
        said = self._known().get(self.question)
        if said is None:
            return None
        images: Images | None = None
        problem = ""
        try:
            images = local_images(said["asked"])
        except EngineError as error:
            problem = str(error)
        if _digest(images) != said["answer"]:
            return None
        if problem:
            console.say(problem, "warning")
        return said["text"]

    def keep(self, asked: Sequence[str], images: Images | None, text: str) -> None:
        """Remember that the plan says ``text`` where the engine has ``images`` of ``asked``.

        ``images`` is None if no engine answered.
        """
        known = self._known()
        known.pop(self.question, None)
        newest = [*known.items()][1 - _MOST :]
        said = _Said(asked=[*asked], answer=_digest(images), text=text)
        kept = json.dumps({**dict(newest), self.question: said}, ensure_ascii=False)
        self.project.cache.keep(_ENTRY, self.inputs, kept)

    def _known(self) -> dict[str, _Said]:
        text = self.project.cache.get(_ENTRY, self.inputs)
        found: dict[str, _Said] = json.loads(text) if text is not None else {}
        return found


def memory_of(given: Given, project: Project, plan_options: PlanOptions) -> Memory | None:
    """The memory of the plan that the user asked for; None if it also depends on other things."""
    chosen = read(SelectionOptions, given, project)
    if chosen.resume or plan_options.compare_with:
        return None
    options = read(BuildOptions, given, project)
    transfer = read(TransferOptions, given, project)
    files = _files(options.artifacts) + ([options.ca] if options.ca else [])
    try:
        store = _store(project, transfer)
    except CanneryError:
        # What is wrong with the matrix is said before what is wrong with the settings.
        return None
    inputs = project.inputs(
        *(project.images, project.templates, project.build_context),
        *(folder_of_checks(project), project.reports, *store.looked_at, *files),
        Notes(state=project.state).path,
    )
    here = (os.uname().machine, _device(options), console.width())
    question = repr((chosen, options, plan_options, transfer, here))
    return Memory(
        project=project, inputs=inputs, question=hashlib.sha256(question.encode()).hexdigest()
    )


def _store(project: Project, transfer: TransferOptions) -> Store:
    """The store of fetched files.

    Raises:
        MatrixError, FileError: cannery.toml is wrong, or cannot be read.
    """

    def folder() -> str:
        return str(project.settings().cache or "")

    # Reading the settings takes longer than knowing what they said.
    named = project.cache.computed("store", project.inputs(), folder)
    return Store(store_folder(transfer.cache, Path(named) if named else None, os.environ))


def _files(folder: Path) -> list[Path]:
    """What is in ``folder``, but not below its folders, which nothing looks at."""
    with suppress(OSError), os.scandir(folder) as entries:
        return [Path(each.path) for each in sorted(entries, key=_name) if not each.is_dir()]
    return []


def _name(entry: os.DirEntry[str]) -> str:
    return entry.name


def _device(options: BuildOptions) -> str:
    """The NPUs of this machine, if images are checked on them."""
    if options.simulate:
        return ""
    # Imported here, because a simulated image needs none.
    from cannery.deploy.run_spec import npu_device

    return repr(npu_device())


def _digest(images: Images | None) -> str:
    """A hash of what a plan can depend on; empty if no engine answered."""
    if images is None:
        return ""
    known = [
        (name, each.id, each.architecture, sorted(each.labels.items()))
        for name, each in images.items()
    ]
    return hashlib.sha256(repr(known).encode(errors="surrogateescape")).hexdigest()
