# SPDX-License-Identifier: Apache-2.0
"""Writes plain data as YAML that every parser reads in the same way, in the given order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import yaml

_PLAIN = re.compile(r"[A-Za-z./][A-Za-z0-9_./:@-]*[A-Za-z0-9_/]", re.ASCII)
_ELSE = {"null", "true", "false", "yes", "no", "on", "off", ".inf", ".nan"}
"""Words that some YAML parsers do not read as text."""


_LONGEST_KEY = 128
"""A longer one needs a mark before it: parsers look only 1,024 bytes ahead for its colon."""


class _Dumper(yaml.SafeDumper):
    """Writes in double quotes what some parsers do not read as text."""


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    plain = _PLAIN.fullmatch(value) and value.lower() not in _ELSE
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if plain else '"')


_Dumper.add_representer(str, _text)


def dump(documents: Iterable[Any]) -> str:
    """The ``documents``, mappings or lists, separated by ``---``.

    PyYAML writes the single values, each once; with the lines, it takes twenty times as long.
    """
    return "---\n".join("".join(f"{line}\n" for line in _lines(each)) for each in documents)


def _lines(value: Any) -> list[str]:
    """``value`` in block style."""
    found: list[str] = []
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            key, [first, *rest] = _scalar(str(str), name), _lines(inner)
            if len(key) > _LONGEST_KEY:
                found += [f"? {key}", f": {first}"]
            elif _is_block(inner):
                found += [f"{key}:", f"  {first}"]
            else:
                found.append(f"{key}: {first}")
            found += (f"  {line}" for line in rest)
    elif _is_block(value):
        for inner in value:
            first, *rest = _lines(inner)
            found += [f"- {first}", *(f"  {line}" for line in rest)]
    elif isinstance(value, Mapping | list):
        found.append("[]" if isinstance(value, list) else "{}")
    else:
        found.append(_scalar(str(type(value)), value))
    return found


def _is_block(value: Any) -> bool:
    """Whether ``value`` is a mapping or a list with something in it."""
    return isinstance(value, Mapping | list) and bool(value)


@lru_cache(maxsize=4096)
def _scalar(_kind: str, value: Any) -> str:
    """A single value. The kind is part of what is remembered, because True is equal to 1."""
    text: str = yaml.dump(value, Dumper=_Dumper, allow_unicode=True, width=float("inf"))
    return text.removesuffix("...\n").rstrip("\n")


def comment(*lines: str) -> str:
    """The ``lines`` as a comment."""
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)
