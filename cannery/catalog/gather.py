# SPDX-License-Identifier: Apache-2.0
"""Reads the files of the checkout that the catalogue is made from, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

from cannery.catalog.entries import Entry, Known, entries
from cannery.common.model import Target
from cannery.image.record import installed_versions
from cannery.image.render import Rendered, Renderer
from cannery.matrix.project import Project
from cannery.publish.policy import load
from cannery.registry.records import read_records
from cannery.verify.results import known_results


def gather(project: Project, key_of: Callable[[Target, bool], str]) -> tuple[Entry, ...]:
    """Everything that the files of ``project`` say about its targets.

    ``key_of`` returns the content key of a target by the files of the checkout; it is also called
    with whether the image is simulated.

    Raises:
        MatrixError: matrix.yaml, compat.yaml, publish.yaml, a lock or a file of results is wrong.
        FileError: one of them, or a record, cannot be read.
    """
    matrix = project.matrix()
    renderer = Renderer(project)
    rendered = renderer.render_all(matrix.targets.values())
    records = read_records(project.releases)
    known = Known(
        publishing=load(project.publish_file, matrix),
        records=records,
        results=known_results(project, matrix.targets.values(), records, key_of),
        layers={name: each.layers for name, each in rendered.items()},
        findings=matrix.findings,
        locked={name: _locked(each) for name, each in rendered.items()},
    )
    return entries(matrix, known)


def _locked(rendered: Rendered) -> dict[str, str]:
    """Package to version, of all Python packages that a target would be built with."""
    wheels = installed_versions(rendered.target, rendered.lock)
    vendor = {name: wheel.version for name, wheel in rendered.target.vendor_wheels.items()}
    return {**wheels, **vendor}
