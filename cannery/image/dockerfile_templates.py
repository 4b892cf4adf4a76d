# SPDX-License-Identifier: Apache-2.0
"""Fills the templates of Dockerfiles, all in one Jinja environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2

from cannery.common.errors import MatrixError, Problem, Span
from cannery.matrix.project import Project


class Templates:
    """The templates of ``project``."""

    def __init__(self, project: Project) -> None:
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(project.templates),
            undefined=jinja2.StrictUndefined,
            keep_trailing_newline=True,
            autoescape=False,  # noqa: S701 - a Dockerfile is no HTML
            bytecode_cache=_bytecode_cache(project.state / "templates"),
            # One run renders all targets with the same templates.
            auto_reload=False,
        )

    def fill(self, template: str, target: str, values: Mapping[str, Any]) -> str:
        """The text of ``template`` with ``values``, for the target with the id ``target``.

        Raises:
            MatrixError: the template is invalid, or lacks a value.
        """
        try:
            return self._environment.get_template(template).render(values)
        except jinja2.TemplateSyntaxError as error:
            where = Span(file=error.filename or error.name or "?", line=error.lineno, column=1)
            raise MatrixError(Problem(what=f"{error.message}.", where=where)) from error
        except jinja2.TemplateError as error:
            path = f"cannery/image/templates/{template}"
            what = f"{path} cannot be rendered for {target}: {error}."
            raise MatrixError(Problem(what=what)) from error


def _bytecode_cache(folder: Path) -> jinja2.BytecodeCache | None:
    """A cache of compiled templates, because compiling them takes longest."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return jinja2.FileSystemBytecodeCache(str(folder)) if os.access(folder, os.W_OK) else None
