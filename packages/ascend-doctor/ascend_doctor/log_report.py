# SPDX-License-Identifier: Apache-2.0
"""What logs say, as findings: the root, what follows from it, and notes."""

from __future__ import annotations

import json
from typing import Any

from .causes import Cause, codes_of
from .events import Event, unexplained
from .evidence import evidence, facts
from .judge import judge_logs
from .language import texts, word
from .log_files import log_paths
from .owners import Values
from .packed import STDIN
from .reasons import reasoned

SHOWN = 300
LONGEST = 2000
_LONGEST = 120
_LONGEST_PATH = 40
_COMPONENTS = ("toolkit", "kernels", "nnal", "torch", "torch_npu", "torchvision", "triton")
_WHEELS = ("numpy", "triton-ascend", "transformers", "accelerate")


def examine_logs(paths: list[str], target: str = "") -> dict[str, Any]:
    """The document about the logs ``paths``: ``logs`` and ``findings``, the root first.

    ``target`` is the target.json of the image in which the run was, where there is one.
    """
    files, left_out = log_paths(paths)
    outcome = judge_logs(files)
    versions = _versions(target)
    findings = []
    for role, events in (
        ("root", [outcome.root] if outcome.root else []),
        ("follows", outcome.follows),
        ("note", outcome.notes),
    ):
        for event in events:
            count = outcome.counts.get(event.cause.id, 1)
            if role == "root":
                findings.append(_root_finding(event, count, files, versions))
            else:
                findings.append(_finding(event, role, files, count))
    logs: dict[str, Any] = {"paths": files, "size": outcome.size, "failed": outcome.failed}
    logs["left_out"] = left_out
    if outcome.suspect and not outcome.failed:
        last = outcome.suspect
        logs["suspect"] = {"file": files[last.file], "line": last.number, "text": last.text[:SHOWN]}
    return {"logs": logs, "findings": findings}


def _root_finding(event: Event, count: int, files: list[str], versions: str) -> dict[str, Any]:
    """The finding of the root, with what the log says around it."""
    said = evidence(event, files[event.file])
    event = event if said.proves(event.cause.needs) else unexplained(event)
    found = _finding(event, "root", files, count)
    found["message"] = [line[:LONGEST] for line in said.message]
    found["frames"] = [
        f"{each.path}:{each.line} in {each.function}" for each in said.own_frames[-2:]
    ]
    found["advice"] = said.advice[:LONGEST]
    known = facts(said.whole)
    found.update(reasoned(event, said, found, files, known))
    here = [versions] if event.cause.versions and versions else []
    here += [f"{name} {value}" for name, value in known.items()]
    return {**found, "here": ", ".join(here)} if here else found


def cause_document(cause: Cause, values: Values | None = None) -> dict[str, Any]:
    """A cause as a document, with the values of a line in its text where it has a place."""
    own = cause._asdict()
    own.update(texts("causes", cause.id))
    values = values or {}
    short = {key: value[:_LONGEST].rstrip(". ") for key, value in values.items() if key != "source"}
    what = filled(own["named"], {**values, **short}) or own["what"]
    why = (filled(own["why"], values) if cause.id == "code" else "") or own["why"]
    return {
        "id": cause.id,
        "severity": "note" if cause.kind in ("note", "question") else "error",
        "what": what,
        "why": why.replace(" {source}.", ""),
        "mend": filled(own["mend_named"], values) or own["mend"],
        "sure": cause.sure,
        "sources": list(cause.sources),
    }


def filled(text: str, values: Values) -> str:
    """``text`` with ``values`` in its places; empty if there are none for one of them."""
    try:
        return text.format_map(values) if values else ""
    except KeyError:
        # The line names less than the text does.
        return ""


def _finding(event: Event, role: str, files: list[str], count: int) -> dict[str, Any]:
    document = cause_document(event.cause, event.values)
    codes = [code for code in codes_of(event.text) if code in event.cause.codes]
    if codes and not any(code in document["what"] for code in codes):
        document["what"] = f"{document['what'].rstrip('.。')} ({', '.join(codes)})."
    return {
        **document,
        "severity": "error" if role == "root" else "note",
        "role": role,
        "values": dict(event.values),
        "by": event.by,
        "file": files[event.file],
        "line": event.number,
        "text": event.text[:SHOWN],
        "rank": event.rank if event.rank >= 0 else None,
        "device": event.device if event.device >= 0 else None,
        "count": count,
    }


def _versions(path: str) -> str:
    """The versions of the image whose target.json is ``path``; empty if it cannot be read."""
    if not path:
        return ""
    try:
        with open(path, encoding="utf-8") as file:
            target = json.load(file)
        parts = {**target["components"]}
        parts.update({name: target.get("wheels", {}).get(name, "") for name in _WHEELS})
        names = [name for name in (*_COMPONENTS, *_WHEELS) if parts.get(name)]
        said = ", ".join(f"{name} {parts[name]}" for name in names)
        return f"{said}; chip {target['chip']}"
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ""


def where(finding: dict[str, Any]) -> str:
    """The place of a finding, for people."""
    path = word("standard input") if finding["file"] == STDIN else shortened(finding["file"])
    rank = "" if finding["rank"] is None else f"rank {finding['rank']}, "
    more = "" if finding["count"] == 1 else f", {finding['count']} {word('times')}"
    return f"{rank}{path}:{finding['line']}{more}"


def shortened(path: str) -> str:
    """The end of a long path, so that there is room for what the log says; --json has all of it."""
    if len(path) <= _LONGEST_PATH:
        return path
    end = path[-_LONGEST_PATH:]
    return "…" + end[max(0, end.find("/")) :]
