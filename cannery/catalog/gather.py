# SPDX-License-Identifier: Apache-2.0
"""Reads what the catalogue is made from. Everything is in the checkout: no engine, no network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from cannery.catalog.entries import Entry, Known, entries
from cannery.compat import OWN_FACTS, judge, load_compat
from cannery.image.layers import Layer, layers_of
from cannery.image.render import Renderer
from cannery.matrix.project import Project
from cannery.model import Target
from cannery.publish.policy import load
from cannery.publish.records import read_records


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """Every target's entry, and the layers of each target by its id."""

    entries: tuple[Entry, ...]
    parts: Mapping[str, tuple[Layer, ...]]


def gather(project: Project) -> Catalogue:
    """Everything that the files of ``project`` say of its targets.

    Raises:
        MatrixError: matrix.yaml, compat.yaml, publish.yaml or a lock is wrong.
        FileError: one of them, or a record, cannot be read.
    """
    matrix = project.matrix()
    compat = load_compat(project.root / OWN_FACTS.name)
    renderer = Renderer(project)
    files = {target.id: _files(project, renderer, target) for target in matrix.targets.values()}
    parts = {name: layers_of(target, files[name]) for name, target in matrix.targets.items()}
    known = Known(
        publishing=load(project.root / "publish.yaml", matrix),
        records=read_records(project.root / "releases"),
        parts=parts,
        findings={name: judge(target, compat) for name, target in matrix.targets.items()},
        locked={name: _locked(each["target.json"]) for name, each in files.items()},
    )
    return Catalogue(entries=entries(matrix, known), parts=parts)


def _files(project: Project, renderer: Renderer, target: Target) -> dict[str, str]:
    folder = project.images / target.id
    return {str(path.relative_to(folder)): text for path, text in renderer.render(target).items()}


def _locked(record: str) -> dict[str, str]:
    """Package to version, of all Python packages that a target would be built with."""
    found = json.loads(record)
    return {**found["wheels"], **found["vendor_wheels"]}
