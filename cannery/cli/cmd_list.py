# SPDX-License-Identifier: Apache-2.0
"""``build.py list``: what there is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from cannery.cli.common import read, selected
from cannery.matrix.project import Project
from cannery.model import Target
from cannery.options.given import Given
from cannery.options.matrix import ListOptions

_COLUMNS = ("python", "toolkit", "torch", "torch_npu", "apex", "deepspeed")


def run(given: Given, project: Project) -> int:
    """Print the selected targets in the format that was asked for."""
    options = read(ListOptions, given, project)
    formats: dict[str, Callable[[list[Target], Path], str]] = {
        "table": _table,
        "json": _json,
        "names": lambda targets, _: "\n".join(target.id for target in targets),
    }
    print(formats[options.format](selected(options, project), project.artifacts))
    return 0


def _table(targets: list[Target], artifacts: Path) -> str:
    rows: list[tuple[str, ...]] = [("target", *_COLUMNS, "chip", "application")]
    for target in targets:
        versions = [target.components.get(name, "-") for name in _COLUMNS]
        application = (
            f"{target.application.component} {target.application.version}"
            if target.application
            else "-"
        )
        rows.append((target.id, *versions, target.chip, application))
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        lines.append("  ".join(cells).rstrip())
    notes = [f"{target.id}: {note}" for target in targets for note in _notes(target, artifacts)]
    return "\n".join([*lines, *([""] if notes else []), *notes])


def _json(targets: list[Target], artifacts: Path) -> str:
    found = [
        {
            "id": target.id,
            "summary": target.summary,
            "platform": target.platform,
            "chip": target.chip,
            "components": target.components,
            "unverified": target.unverified,
            "missing": _missing(target, artifacts),
        }
        for target in targets
    ]
    return json.dumps(found, indent=2, ensure_ascii=False)


def _missing(target: Target, artifacts: Path) -> dict[str, str]:
    """Name to origin of what is not in ``artifacts`` and has no stand-in."""
    return {
        file.name: file.origin
        for file in target.real_artifacts.values()
        if not (artifacts / file.name).is_file()
    }


def _notes(target: Target, artifacts: Path) -> list[str]:
    """What a user should know before building ``target``, even on the simulated device."""
    found = []
    if target.unverified:
        found.append(f"not known to work: {target.unverified}")
    if missing := _missing(target, artifacts):
        files = "; ".join(f"{name} ({origin})" for name, origin in missing.items())
        found.append(f"cannot be built, with --simulate either, without {files}")
    return found
