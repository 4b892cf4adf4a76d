# SPDX-License-Identifier: Apache-2.0
"""The sessions of noxfile.py, read and not run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.workflows.steps import ROOT

TEXT = (ROOT / "noxfile.py").read_text(encoding="utf-8")


def _sessions() -> Iterator[tuple[str, str]]:
    """Name and docstring of each function that nox takes for a session."""
    for node in ast.parse(TEXT).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        for decorator in node.decorator_list:
            called = decorator if isinstance(decorator, ast.Call) else None
            if ast.unparse(called.func if called else decorator) == "nox.session":
                named = {each.arg: each.value for each in called.keywords} if called else {}
                name = ast.literal_eval(named["name"]) if "name" in named else node.name
                yield name, ast.get_docstring(node) or ""


SESSIONS = dict(_sessions())
DEFAULT = re.findall(r'"([\w-]+)"', re.findall(r"nox.options.sessions = \[([^]]*)\]", TEXT)[0])
TAGS = {*re.findall(r'\["(\w+)"\]', re.findall(r"^FULL, WEEKLY = .*$", TEXT, re.MULTILINE)[0])}
