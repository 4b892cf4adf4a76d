# SPDX-License-Identifier: Apache-2.0
"""Errors for text that is no YAML, each with its place."""

from __future__ import annotations

import yaml
from yaml.reader import ReaderError

from cannery.common.errors import MatrixError, Problem, Span


def place(name: str, before: str) -> Span:
    """The place in the file ``name`` that the text ``before`` ends at."""
    lines = before.split("\n")
    return Span(file=name, line=len(lines), column=len(lines[-1]) + 1)


def not_yaml(text: str, name: str, error: UnicodeEncodeError | yaml.YAMLError) -> MatrixError:
    """What ``text`` has that cannot be read at all, and where."""
    where: Span | None = None
    what = f"this is not YAML: {error}."
    fix = ""
    if isinstance(error, UnicodeEncodeError):
        # Text with lone surrogates, as git may hand it out, cannot be encoded as UTF-8.
        what, where = "this is not UTF-8 text.", place(name, text[: error.start])
    elif isinstance(error, ReaderError):
        what = f"the character U+{error.character:04X} cannot be in a YAML file."
        fix, where = "Remove it.", place(name, text.partition(chr(error.character))[0])
    elif isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        what = f"this is not YAML: {error.problem or error.context}."
        where = Span(file=name, line=mark.line + 1, column=mark.column + 1) if mark else None
    return MatrixError(Problem(what=what, fix=fix, where=where))
