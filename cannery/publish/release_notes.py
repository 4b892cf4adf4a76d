# SPDX-License-Identifier: Apache-2.0
"""The release notes of a target's newest published image, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from cannery.common.columns import escaped, size_text, table
from cannery.common.model import Target
from cannery.compat import Finding, Verdict
from cannery.registry.records import Changes, Record

_DRIVER = "driver"
_LARGEST = 5
"""How many layers are listed."""

_ISSUES = {
    Verdict.UNKNOWN: "unverified",
    Verdict.DISPUTED: "sources disagree",
    Verdict.ENDING: "will end",
    Verdict.NOT_JUDGED: "not judged",
    Verdict.FORBIDDEN: "known not to work",
}


def release_notes(target: Target, findings: Sequence[Finding], records: Sequence[Record]) -> str:
    """The notes of the newest of ``records``, which are those of ``target``, oldest first.

    ``findings`` are what compat.yaml says of the target today. Without a record the notes say that
    the target is not published, and what it has.
    """
    newest = records[-1] if records else None
    components = newest.components if newest else target.components
    blocks = [
        [f"# {target.id}", "", f"{escaped(target.summary)}."],
        _published(newest) if newest else ["Not published yet."],
        ["## Components", "", *table(("component", "version"), components.items())],
        _driver(findings),
    ]
    if newest:
        blocks += [_changes(newest.changes), _checks(newest), _sizes(newest)]
    blocks += [_issues(target, findings, newest), _earlier(records[:-1])]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _published(record: Record) -> list[str]:
    name = f"{record.registry}/{record.repository}"
    lines = [
        f"    docker pull {name}:{record.tag}",
        "",
        f"Pushed {record.pushed}, digest `{record.digest}`"
        + (f", from commit {record.commit}." if record.commit else "."),
    ]
    if record.tags:
        tags = ", ".join(f"`{tag}`" for tag in record.tags)
        lines.append(f"Tags that moved to it: {tags}.")
    lines.append("It is signed." if record.signed else "It is not signed.")
    return lines


def _driver(findings: Sequence[Finding]) -> list[str]:
    said = [each for each in findings if each.component == _DRIVER]
    lines = [f"- {escaped(each.text)}{_cited(each)}" for each in said]
    return ["## Driver of the host", "", *lines] if lines else []


def _cited(finding: Finding) -> str:
    return f" ({escaped(finding.rows[0].cited)})" if finding.rows else ""


def _changes(changes: Changes) -> list[str]:
    if not changes.since:
        return ["## Changes", "", "This is the first image of the target."]
    rows = [
        *((name, before, after) for name, (before, after) in changes.changed.items()),
        *((name, "", version) for name, version in changes.added.items()),
        *((name, version, "") for name, version in changes.removed.items()),
    ]
    heads = ("package", "before", "after")
    said = table(heads, rows) if rows else ["No package has changed."]
    return [f"## Changes since {changes.since}", "", *said]


def _checks(record: Record) -> list[str]:
    rows = [
        (each.device, each.hardware, str(each.passed), str(each.failed), str(each.not_run))
        for each in record.verified
    ]
    heads = ("device", "hardware", "passed", "failed", "not run")
    return ["## Checks", "", *(table(heads, rows) if rows else ["No check has run on it."])]


def _sizes(record: Record) -> list[str]:
    lines = []
    for platform, image in record.platforms.items():
        largest = sorted(image.layers, key=lambda layer: -layer.size)[:_LARGEST]
        listed = ", ".join(f"{layer.name} {size_text(layer.size)}" for layer in largest)
        lines.append(f"- {platform}: {size_text(image.size)} to pull; largest layers: {listed}")
    return ["## Size", "", *lines]


def _issues(target: Target, findings: Sequence[Finding], record: Record | None) -> list[str]:
    lines = []
    if record and record.simulated:
        lines.append("- This image is simulated: it has stand-ins for CANN and the driver.")
    if record and not any(each.device == "npu" for each in record.verified):
        lines.append("- No check has run on an NPU.")
    if target.unverified:
        lines.append(f"- Unverified: {escaped(target.unverified)}")
    lines += [
        f"- {each.component} ({_ISSUES[each.verdict]}): {escaped(each.text)}"
        for each in findings
        if each.verdict in _ISSUES
    ]
    return ["## Known issues", "", *(lines or ["None."])]


def _earlier(records: Sequence[Record]) -> list[str]:
    if not records:
        return []
    rows = [(each.pushed, f"`{each.tag}`", f"`{each.digest}`") for each in reversed(records)]
    return ["## Earlier images", "", *table(("pushed", "tag", "digest"), rows)]
