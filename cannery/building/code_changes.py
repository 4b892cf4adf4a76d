# SPDX-License-Identifier: Apache-2.0
"""Which files that build or check images differ between two commits, beside inputs of content keys.

Comments, docstrings and formatting are no difference. A file is looked at if ``build`` imports it
and ``render`` does not, because what ``render`` makes is in images/, of which keys are computed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

import yaml

CHECKS = "tests/image/"

_PACKAGE = "cannery/"
_BUILD = "cannery/cli/cmd_build.py"
_RENDER = "cannery/cli/cmd_render.py"
_WORKFLOW = ".github/workflows/ci.yml"
_OTHERS = ("build.py", "requirements.txt", _WORKFLOW)

Texts = Mapping[str, str]
"""The texts of a commit's files by their paths."""


def is_code(path: str) -> bool:
    """Whether ``code_that_differs`` or ``checks_that_differ`` may look at ``path``."""
    return path.startswith(_PACKAGE) or path in _OTHERS or _is_check(path)


def code_that_differs(before: Texts, after: Texts, changed: Iterable[str]) -> list[str]:
    """Those of the ``changed`` files that build images, if more than comments differs."""
    paths = [path for path in changed if path.startswith(_PACKAGE) or path in _OTHERS]
    if not paths:
        return []
    code = {*_OTHERS, *_programs(before), *_programs(after)}
    return [path for path in paths if path in code and _differs(path, before, after)]


def checks_that_differ(
    before: Texts, after: Texts, changed: Iterable[str]
) -> list[tuple[str, str]]:
    """Those of the ``changed`` files that check images, each with the component that it checks.

    The component is empty for what all checks use.
    """
    return [
        (path, _component(path, before.keys() | after.keys()))
        for path in changed
        if _is_check(path) and _differs(path, before, after)
    ]


def _is_check(path: str) -> bool:
    return path.startswith(CHECKS) and path.endswith(".py")


def _component(path: str, paths: Iterable[str]) -> str:
    folder, inner, _ = path.removeprefix(CHECKS).partition("/")
    start = f"{CHECKS}{folder}/test_"
    return folder if inner and any(file.startswith(start) for file in paths) else ""


def _programs(texts: Texts) -> set[str]:
    """The files with which images are built, and which render does not use."""
    return _used(texts, _BUILD) - _used(texts, _RENDER)


def _used(texts: Texts, start: str) -> set[str]:
    """The file ``start`` and those of the package that it uses in the end."""
    files = [path for path in texts if path.startswith(_PACKAGE) and not path.endswith(".py")]
    used: set[str] = set()
    waiting = {start} & texts.keys()
    while waiting:
        path = waiting.pop()
        used.add(path)
        if path.endswith(".py"):
            waiting |= {*_named(path, texts, files)} - used
    return used


def _named(path: str, texts: Texts, files: Iterable[str]) -> Iterator[str]:
    """The modules that a module imports or names, and those of ``files`` below it that it names."""
    names, strings = _words(texts[path])
    for name in names | strings:
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            place = "/".join(parts[:count])
            yield from {f"{place}.py", f"{place}/__init__.py"} & texts.keys()
    folder = path.rpartition("/")[0] + "/"
    yield from (
        file for file in files if file.startswith(folder) and file.rpartition("/")[2] in strings
    )


@cache
def _words(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The names that the module ``text`` imports, and its strings without spaces."""
    names: set[str] = set()
    strings: set[str] = set()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return frozenset(), frozenset()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            strings |= {node.value} - {""} if len(node.value.split()) == 1 else set()
    return frozenset(names), frozenset(strings)


def _differs(path: str, before: Texts, after: Texts) -> bool:
    if path not in before or path not in after:
        return True
    return _meaning(path, before[path]) != _meaning(path, after[path])


def _meaning(path: str, text: str) -> str:
    """What counts of ``text``: no comments, and no formatting that is easily told from the rest."""
    if path == _WORKFLOW:
        return _job(text)
    if path.endswith(".py") or text.startswith(("#!/usr/bin/python3", "#!/usr/bin/env python3")):
        return _syntax(text)
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("#"))


def _job(text: str) -> str:
    """The job of the workflow ``text`` that builds images."""
    try:
        return yaml.safe_dump(yaml.safe_load(text)["jobs"]["build"])
    except (yaml.YAMLError, LookupError, TypeError):
        return text


@cache
def _syntax(text: str) -> str:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return text
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [part for part in node.body if not _is_text(part)]
    return ast.dump(tree)


def _is_text(statement: ast.stmt) -> bool:
    """Whether it is a string that nothing uses, as a docstring is."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)
