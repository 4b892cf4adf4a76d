# SPDX-License-Identifier: Apache-2.0
"""Scores the report of ``--log`` as a user would: is the cause right, and does the remedy help?

``python -m tests.tools.answers tests/cases/answers-2026-11-27.jsonl`` prints a table by project,
``--list`` each case. A line of a set has the log with its public source and date, the right answer
in words, and regular expressions that a right cause (``cause``) and a remedy that helps
(``remedy``) contain. What no expression can tell, a person has judged: ``verdict`` and ``judged``,
the date. A verdict holds for the report whose headline it quotes (``said``) and for no other.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from ascend_doctor.log_report import examine_logs
from tests.score import HONEST, root_of, share

VERDICTS = ("right", "partly", "wrong", "silent", "unjudged")


def read_set(path: Path) -> list[dict[str, Any]]:
    """The cases of a set."""
    lines = path.read_bytes().decode("utf-8", "surrogateescape").split("\n")
    return [json.loads(line) for line in lines if line]


def report_of(case: dict[str, Any]) -> dict[str, Any]:
    """What the doctor says of the log of ``case``: the root, or else the first note."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / f"{case['name']}.log"
        log.write_bytes(case["log"].encode("utf-8", "surrogateescape"))
        document = examine_logs([str(log)])
    notes = [each for each in document["findings"] if each["role"] == "note"]
    return root_of(document) or next(iter(notes), {})


def verdict_of(case: dict[str, Any]) -> str:
    """right, partly, wrong, silent, or unjudged where a person has to look at a new report."""
    found = report_of(case)
    if case.get("verdict") and case["said"] == found.get("what", ""):
        return str(case["verdict"])
    if "cause" not in case:
        return "unjudged"
    if not found:
        return "silent"
    names = " ".join(found.get("names", {}).values())
    cause = _has(case["cause"], f"{found['what']} {found['why']} {names}")
    remedy = _has(case["remedy"], found["mend"])
    if cause and remedy:
        return "right"
    if cause or (remedy and found["id"] in HONEST):
        return "partly"
    return "silent" if found["id"] in HONEST or found["id"] == "other-rank" else "wrong"


def _has(expression: str, text: str) -> bool:
    return bool(re.search(expression, text, re.IGNORECASE))


def table(cases: list[dict[str, Any]], verdicts: list[str]) -> str:
    """The counts by project, and of all."""
    rows: dict[str, Counter[str]] = {}
    for case, verdict in zip(cases, verdicts, strict=True):
        rows.setdefault(case["project"], Counter())[verdict] += 1
    rows = dict(sorted(rows.items(), key=lambda row: (-sum(row[1].values()), row[0].lower())))
    rows["all"] = Counter(verdicts)
    width = max(map(len, rows))
    lines = [
        f"{'project':{width}}{'cases':>7}{'right':>7}{'partly':>8}{'wrong':>7}{'silent':>8}{'unjudged':>10}"
    ]
    for name, counts in rows.items():
        cells = (sum(counts.values()), *(counts[verdict] for verdict in VERDICTS))
        lines.append("{:{}}{:>7}{:>7}{:>8}{:>7}{:>8}{:>10}".format(name, width, *cells))
    known = rows["all"]
    both = known["right"] + known["partly"]
    right, partly = share(known["right"], len(cases)), share(both, len(cases))
    return "\n".join([*lines, f"right {right}, right or partly {partly}"])


def main() -> None:
    """Print the table of a set."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("set", type=Path)
    parser.add_argument("--list", action="store_true", help="each case that is not right, too")
    options = parser.parse_args()
    cases = read_set(options.set)
    verdicts = [verdict_of(case) for case in cases]
    print(table(cases, verdicts))
    if options.list:
        for case, verdict in zip(cases, verdicts, strict=True):
            if verdict != "right":
                said = report_of(case).get("what", "nothing")
                print(f"{verdict:7} {case['name']}: {case['answer']}; said: {said}")


if __name__ == "__main__":
    main()
