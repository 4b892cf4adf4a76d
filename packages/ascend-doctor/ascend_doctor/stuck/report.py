# SPDX-License-Identifier: Apache-2.0
"""The report of ``ascend-doctor stuck`` as text and as JSON."""

from __future__ import annotations

import json
from typing import Any, Sequence

from ascend_doctor.plain_text import printable
from ascend_doctor.problems import counted

from .dumps import SCHEMA
from .judge import Group, Verdict, judge_process, labels
from .model import Missing, Process

_MOST_FRAMES = 25


def to_text(groups: Sequence[Group], verdict: Verdict, missing: Sequence[Missing]) -> str:
    """The verdict, then each group with its stack."""
    lines = [f"{verdict.state}: {verdict.what}", f"  {verdict.advice}"]
    for group in groups:
        lines += ["", *_group(group)]
    for each in missing:
        name = f"process {each.pid}" if each.rank is None else f"rank {each.rank}, {each.pid}"
        lines += ["", f"not sampled: {name}: {each.why}"]
    return printable("\n".join(lines)) + "\n"


def _group(group: Group) -> list[str]:
    standing = group.standing
    lines = [f"{group.label}: {standing.state}: {standing.about}"]
    moved = [each for each in group.processes if each.moved]
    if moved:
        lines[0] += "; moved between two samples"
    elif all(each.moved is False for each in group.processes):
        lines[0] += "; stands still"
    kernel = [each for each in group.processes if each.in_kernel]
    if kernel:
        who = "" if len(kernel) == len(group.processes) else f" ({labels(kernel)})"
        lines.append(f"    waits in the kernel{who}, for a driver or a drive: it cannot be stopped")
    for frame in standing.frames[:_MOST_FRAMES]:
        mark = ">" if frame is standing.frame else " "
        lines.append(f"  {mark} {frame}")
    more = len(standing.frames) - _MOST_FRAMES
    lines += [f"    and {counted(more, 'call')} further out"] if more > 0 else []
    lines += ["    no Python frames"] if not standing.frames else []
    return lines


def to_json(groups: Sequence[Group], verdict: Verdict, missing: Sequence[Missing]) -> str:
    """A document that ``--dump`` reads again, as for the nodes of a run together."""
    processes = [each for group in groups for each in group.processes]
    document = {
        "schema": SCHEMA,
        "verdict": {"state": verdict.state, "what": verdict.what, "advice": verdict.advice},
        "groups": [
            {
                "ranks": [each.rank for each in group.processes],
                "pids": [each.pid for each in group.processes],
                "state": group.standing.state,
                "about": group.standing.about,
                "decided_by": str(group.standing.frame or ""),
                "source": group.standing.rule.source if group.standing.rule else "",
            }
            for group in groups
        ],
        "processes": [_process(each) for each in processes],
        "missing": [{"pid": each.pid, "rank": each.rank, "why": each.why} for each in missing],
    }
    return json.dumps(document, indent=2) + "\n"


def _process(process: Process) -> dict[str, Any]:
    return {
        "pid": process.pid,
        "rank": process.rank,
        "state": judge_process(process).state,
        "moved": process.moved,
        "in_kernel": process.in_kernel,
        "threads": [
            {
                "name": each.name,
                "main": each is process.main,
                "frames": [
                    {"function": frame.function, "file": frame.file, "line": frame.line}
                    for frame in each.frames
                ],
            }
            for each in process.threads
        ],
    }
