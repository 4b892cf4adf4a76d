# SPDX-License-Identifier: Apache-2.0
"""Words that were replaced by the field's own terms do not come back."""

from __future__ import annotations

import re

import pytest

from tests.policy.test_policy_sources import ROOT, tracked

CODE = (".py", ".j2")
PROSE = (".md", ".yaml", ".yml")
HERE = "tests/policy/test_policy_words.py"

GONE: dict[str, tuple[str, tuple[str, ...]]] = {
    "class Part": (r"\bclass Parts?\b|\bparts_of\b", CODE),
    "names of options": (r"\b(class|import|:|->|,) (Wish|Wanted|Asked|Options|Needs)\b", CODE),
    "words of a carrier": (r"\b(?i:parcel|shipment|duties)s?\b|\b(Bundle|Arrived)\b[(:\]]", CODE),
    "sealing": (r"\bsealing\b", (*CODE, *PROSE)),
    "a package index called registry": (r"\bbuildx\.Registry\b|\bregistry_of\b", CODE),
    "the stage tools": (r"\bAS tools\b|\bTOOL_IMAGE\b|/opt/tools\b|\bwheels-tools\b", CODE),
    "three Moves": (r"\bclass Mover?\b", CODE),
    "functions of the same name": (r"\bdef (look|decide|divide|contents)\(|\bkin\b", CODE),
    "jobs.py": (r"\bplan\.jobs\b", CODE),
    "stack": (r"^ *stacks?:|\btarget\.stack\b|\bwheels-stack\b", (*CODE, *PROSE)),
}


@pytest.mark.parametrize("word", GONE)
def test_a_word_is_gone(word: str) -> None:
    pattern, suffixes = GONE[word]
    found = []
    for name in tracked(*suffixes):
        if name == HERE or name.startswith("images/"):
            continue
        lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
        found += [
            f"{name}:{n}: {line}" for n, line in enumerate(lines, 1) if re.search(pattern, line)
        ]
    assert not found


@pytest.mark.parametrize("word", GONE)
def test_the_pattern_finds_what_was_there(word: str) -> None:
    before = {
        "class Part": "class Part:",
        "names of options": "def run(wanted: Wanted) -> None:",
        "words of a carrier": "def seal(parcel: X) -> None:",
        "sealing": "from cannery.pipeline import sealing",
        "a package index called registry": "buildx.Registry",
        "the stage tools": "FROM x AS tools",
        "three Moves": "class Move:",
        "functions of the same name": "def look(references: Iterable[str]) -> Images:",
        "jobs.py": "from cannery.plan.jobs import Job",
        "stack": "    stack: swift-2.6.1\n",
    }
    assert re.search(GONE[word][0], before[word])
