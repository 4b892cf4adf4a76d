# SPDX-License-Identifier: Apache-2.0
"""``build.py diff``: compare two images, records or commits."""

from __future__ import annotations

from cannery.cli.common import read
from cannery.common import console
from cannery.common.errors import CanneryError, kind_of
from cannery.matrix.project import Project
from cannery.options.diff import DiffOptions
from cannery.options.given import Given
from cannery.publish.commit_contents import commit_contents
from cannery.publish.difference import Contents, difference
from cannery.publish.difference_text import difference_json, difference_text
from cannery.publish.image_contents import read_contents


def run(given: Given, project: Project) -> int:
    """Print the differences in the format that was asked for.

    Raises:
        CanneryError: with the problems of both sides, such as an image that does not exist.
    """
    options = read(DiffOptions, given, project)
    found: list[Contents] = []
    errors: list[CanneryError] = []
    for name in dict.fromkeys((options.before, options.after)):
        try:
            found.append(_contents(project, name, options.target))
        except CanneryError as error:
            errors.append(error)
    if errors:
        problems = [problem for error in errors for problem in error.problems]
        raise kind_of(errors)([*dict.fromkeys(problems)])
    compared = difference(found[0], found[-1])
    if options.format == "json":
        print(difference_json(compared))
    else:
        print(difference_text(compared, console.width()))
    return 0


def _contents(project: Project, name: str, target: str) -> Contents:
    if target:
        return commit_contents(project, name, target)
    return read_contents(project, name)
