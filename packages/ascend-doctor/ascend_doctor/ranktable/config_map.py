# SPDX-License-Identifier: Apache-2.0
"""Reads the rank table in a ConfigMap, as ``kubectl get configmap … -o yaml`` or json prints it.

Of YAML it knows the forms in which programs write a text: a block, or quotes. A rank table is JSON,
so it does not matter where lines are broken.
"""

from __future__ import annotations

import json
import re

from ascend_doctor.problems import Problem, RankTableError
from ascend_doctor.untrusted import parse_json

HCCL_JSON = "hccl.json"
"""The key of the ConfigMap rings-config-JOB that has the rank table."""

_KEY = re.compile(r"( +)([\"']?)hccl\.json\2 *: *(.*)")
_BLOCK = re.compile(r"[|>][-+0-9]*( *#.*)?")


def table_in(text: str, name: str) -> str:
    """The text of the rank table in the ConfigMap ``text``, from the file ``name``."""
    found = _in_json(text) if text.lstrip().startswith("{") else _in_yaml(text.splitlines())
    if not isinstance(found, str):
        fix = "Write it with: kubectl get configmap rings-config-JOB -o json"
        raise RankTableError(Problem(f"{name} has no {HCCL_JSON} below data.", fix))
    return found


def _in_json(text: str) -> object:
    try:
        found = parse_json(text)
        return found["data"][HCCL_JSON]
    except (ValueError, KeyError, TypeError):
        return None


def _in_yaml(lines: list[str]) -> str | None:
    at = next((number for number, line in enumerate(lines) if line.rstrip() == "data:"), None)
    if at is None:
        return None
    inside = [*lines[at + 1 :], "end"]
    # Comments and empty lines say nothing about where it ends.
    last = next(n for n, line in enumerate(inside) if line.strip() and line[0] not in " #")
    inside = inside[:last]
    depth = min((len(each) - len(each.lstrip()) for each in inside if each.strip()), default=0)
    for number, line in enumerate(inside):
        match = _KEY.fullmatch(line.rstrip())
        if match and len(match[1]) == depth:
            return _value(match[3], inside[number + 1 :], depth)
    return None


def _value(first: str, rest: list[str], depth: int) -> str | None:
    """The text that begins with ``first`` behind its key, and goes on in deeper lines."""
    deeper = []
    for line in rest:
        if line.strip() and len(line) - len(line.lstrip()) <= depth:
            break
        deeper.append(line.strip())
    if _BLOCK.fullmatch(first):
        return "\n".join(deeper)
    words = "\n".join([first, *deeper]).rstrip()
    if len(words) > 1 and words[0] == words[-1] == "'":
        return words[1:-1].replace("''", "'")
    if len(words) > 1 and words[0] == words[-1] == '"':
        # A backslash at the end of a line joins it with the next one, and one before a space
        # keeps that.
        joined = words.replace("\\\n", "").replace("\\ ", " ").replace("\n", " ")
        try:
            return str(json.loads(joined))
        except ValueError:
            return None
    return None
