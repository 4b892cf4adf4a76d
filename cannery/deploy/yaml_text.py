# SPDX-License-Identifier: Apache-2.0
"""Writes plain data as YAML that every parser reads in the same way, in the given order."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import yaml

_PLAIN = re.compile(r"[A-Za-z./][A-Za-z0-9_./:@-]*[A-Za-z0-9_/]", re.ASCII)
_ELSE = {"null", "true", "false", "yes", "no", "on", "off", ".inf", ".nan"}
"""Words that some YAML parsers do not read as text."""


class _Dumper(yaml.CSafeDumper):
    """Writes in double quotes what some parsers do not read as text."""

    def ignore_aliases(self, _data: Any) -> bool:
        """Let nothing be written as a reference to what is equal."""
        return True


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    plain = _PLAIN.fullmatch(value) and value.lower() not in _ELSE
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if plain else '"')


_Dumper.add_representer(str, _text)


def dump(documents: Iterable[Any]) -> str:
    """The ``documents``, mappings or lists, separated by ``---``."""
    return yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=-1)


def comment(*lines: str) -> str:
    """The ``lines`` as a comment."""
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)
