# SPDX-License-Identifier: Apache-2.0
"""How often ``ascend-doctor --log`` is right: over the cases of log_cases, a table by group.

Right is a cause. A report that only names the first exception, code or error line is counted
apart, as "named", also where the answer of the case is not more; so is what it does not see.

``python tests/score.py`` prints the table, ``--list`` the cases that were not right as well. Of the
group ``closed`` only counts are told, here and in the tests: who works on the reader does not look
at its texts. test_precision.py has the floors.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

PACKAGE = Path(__file__).resolve().parent.parent
if str(PACKAGE) not in sys.path:
    sys.path.insert(0, str(PACKAGE))

from ascend_doctor.command import main as doctor  # noqa: E402
from tests.log_cases import GROUPS, Case, cases  # noqa: E402

CLOSED = "closed"
HONEST = {"exception", "code", "code-unknown", "inner", "error-line", "operator-failed"}
"""Roots that say that the cause is unknown."""
SPLIT = {
    "container-runtime": {"container-device"},
    "custom-operator": {"cann-torch-npu", "vllm-ascend-kernels"},
    "data-slow": {"aicpu-failed"},
    "device-implementation": {"operator-unsupported"},
    "graph-build": {"operator-compile", "operator-unsupported"},
    "file-owner": {"workdir-not-writable", "application-config", "model-files"},
    "header-missing": {"build-failed"},
    "link-library": {"build-failed"},
    "link-symbol": {"build-failed"},
    "npu-unknown": {"cuda-code", "torch-npu-missing", "application-config"},
    "host-library": {"cann-library"},
    "kubernetes-cards": {"container-device"},
    "kubernetes-unhealthy": {"kubernetes-cards", "container-device"},
    "mindspore-310p": {"wrong-chip"},
    "mooncake-direct": {"hccl-connect"},
    "operator-check": {"operator-arguments"},
    "event-timeout": {"code", "inner"},
    "card-processes": {"code", "driver-internal"},
    "acl-twice": {"code"},
    "operator-failed": {"inner"},
    "package-gone": {"package-range", "numpy-2", "python-package-missing"},
    "python-gone": {"package-range", "python-package-missing"},
    "peer-unreachable": {"rendezvous", "hccl-connect", "network"},
    "remote-card": {"packet-loss"},
    "symbol-missing": {"cann-torch-npu", "package-range"},
    "wrong-model-chip": {"wrong-chip"},
}
"""Causes that were parts of others: who labelled a case with the whole meant the part as well."""
NOTE_ONLY = {"preload-missing"}
"""Causes that do no harm: a note is all that they may raise."""

Document = dict[str, Any]


class Verdict(NamedTuple):
    """What the doctor made of a case."""

    case: Case
    outcome: str
    """right, wrong, named, silent or broken; for healthy logs quiet, alarm or broken."""
    said: str
    rank_right: bool | None


def in_process(log: Path) -> Document:
    """The document of ``--log LOG --json``, without a process of its own."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        doctor(["--log", str(log), "--json"])
    document: Document = json.loads(printed.getvalue())
    return document


def as_process(log: Path) -> Document:
    """The document of ``--log LOG --json``, as a user gets it."""
    command = [sys.executable, "-m", "ascend_doctor", "--log", str(log), "--json"]
    done = subprocess.run(command, cwd=PACKAGE, capture_output=True, text=True, check=False)
    document: Document = json.loads(done.stdout)
    return document


def root_of(document: Document) -> Document | None:
    """The finding that is named as the root; none if there is none."""
    for finding in document["findings"]:
        if role_of(finding) == "root":
            return dict(finding)
    return None


def role_of(finding: Document) -> str:
    """root, follows or note; from the severity where a reader gives no role."""
    by_severity = {"error": "root", "note": "note"}
    return str(finding.get("role") or by_severity.get(finding.get("severity", ""), "follows"))


def judge(case: Case, document: Document) -> Verdict:
    """Whether ``document`` gives the right answer of ``case``."""
    root = root_of(document)
    names = {finding["id"] for finding in document["findings"]}
    said = root["id"] if root else ""
    if case.kind == "healthy":
        loud = [each["id"] for each in document["findings"] if role_of(each) != "note"]
        return Verdict(case, "alarm" if loud else "quiet", ", ".join(loud), None)
    if case.causes <= NOTE_ONLY:
        outcome = "wrong" if root else "right" if case.causes & names else "silent"
        return Verdict(case, outcome, said, None)
    right = said in case.causes or SPLIT.get(said, set()) & case.causes
    if root is None or said in HONEST:
        outcome = "named" if root else "silent"
    else:
        outcome = "right" if right else "wrong"
    rank_right = None
    if case.first_rank is not None:
        rank_right = root is not None and root.get("rank") == case.first_rank
    return Verdict(case, outcome, said, rank_right)


def judge_all(run: Callable[[Path], Document] = in_process) -> list[Verdict]:
    """The verdicts on all cases. What is no document or raises is "broken"."""
    verdicts = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases():
            try:
                verdicts.append(judge(case, run(case.write(Path(folder)))))
            except Exception as error:  # noqa: BLE001 - any failure of the doctor is a verdict
                verdicts.append(Verdict(case, "broken", type(error).__name__, None))
    return verdicts


def tally(verdicts: list[Verdict], kind: str, *groups: str) -> Counter[str]:
    """How many verdicts there are of each outcome, in ``groups``, and of all ("cases")."""
    chosen = [v for v in verdicts if v.case.kind == kind and v.case.group in groups]
    counts = Counter(v.outcome for v in chosen)
    counts["cases"] = len(chosen)
    ranked = [v.rank_right for v in chosen if v.rank_right is not None]
    counts["rank right"], counts["ranked"] = sum(ranked), len(ranked)
    return counts


def share(part: int, whole: int) -> str:
    """A share in per cent; a dash if there is nothing to share."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def table(verdicts: list[Verdict]) -> str:
    """The counts by group; recall is right of all, precision right of those that got a cause."""
    head = (
        f"{'failures':10}{'cases':>6}{'right':>7}{'wrong':>7}{'named':>7}{'silent':>8}{'broken':>8}"
    )
    lines = [f"{head}{'recall':>9}{'precision':>11}{'first rank':>12}"]
    for group in GROUPS:
        n = tally(verdicts, "failure", group)
        named = n["right"] + n["wrong"]
        lines.append(
            f"{group:10}{n['cases']:>6}{n['right']:>7}{n['wrong']:>7}{n['named']:>7}"
            f"{n['silent']:>8}{n['broken']:>8}{share(n['right'], n['cases']):>9}"
            f"{share(n['right'], named):>11}"
            f"{str(n['rank right']) + ' of ' + str(n['ranked']):>12}"
        )
    lines += ["", f"{'healthy':10}{'cases':>6}{'quiet':>7}{'alarms':>7}{'broken':>8}"]
    for group in GROUPS:
        n = tally(verdicts, "healthy", group)
        lines.append(f"{group:10}{n['cases']:>6}{n['quiet']:>7}{n['alarm']:>7}{n['broken']:>8}")
    return "\n".join(lines)


def misses(verdicts: list[Verdict]) -> list[str]:
    """The cases outside of ``closed`` that were not right, or whose first rank was not."""
    lines = []
    for v in verdicts:
        if v.case.group == CLOSED:
            continue
        unknown = v.outcome == "named" and v.case.causes & HONEST
        if (v.outcome not in {"right", "quiet"} and not unknown) or v.rank_right is False:
            expected = ", ".join(sorted(v.case.causes)) or "nothing"
            rank = f", rank {v.case.first_rank} missed" if v.rank_right is False else ""
            lines.append(
                f"{v.outcome:7} {v.case.group}/{v.case.name}: expected {expected};"
                f" said {v.said or 'nothing'}{rank}"
            )
    return lines


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--list", action="store_true", help="the cases that were not right, too")
    parser.add_argument("--process", action="store_true", help="one process for each case")
    options = parser.parse_args()
    verdicts = judge_all(as_process if options.process else in_process)
    print(table(verdicts))
    if options.list:
        print("", *misses(verdicts), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
