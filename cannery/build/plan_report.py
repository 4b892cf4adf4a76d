# SPDX-License-Identifier: Apache-2.0
"""A plan as text for people and as JSON for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from cannery.build.plan import Change, Plan, Step, missing
from cannery.common.columns import columns, fold
from cannery.common.printable import json_text
from cannery.fetch.needed_files import Missing


def to_text(plan: Plan, *, verbose: bool = False, width: int = 0) -> str:
    """A line for each target, totals, the effect of a change, and the files that are missing.

    ``verbose`` lists the targets of each shared layer, and the layers that a change leaves alone.
    Lines are folded at ``width`` characters; 0 folds none.
    """
    files = Missing(step.missing for step in plan.steps)
    rows = [(str(step.action), step.id, _reason(step, files)) for step in plan.steps]
    lines = columns(rows)
    counts = Counter(str(step.action) for step in plan.steps)
    lines += ["", ", ".join(f"{counts[name]} to {name}" for name in ("build", "verify", "skip"))]
    if plan.shard:
        lines.append(f"shard {plan.shard}; in other shards: {', '.join(plan.elsewhere) or 'none'}")
    lines += _shared(plan, verbose=verbose)
    if plan.change:
        lines += ["", *_change(plan.change, verbose=verbose)]
    if legend := files.legend("missing files:"):
        lines += ["", *legend]
    return "\n".join(fold(lines, width))


def _reason(step: Step, files: Missing) -> str:
    """The reason for the action, with the numbers of missing files in place of their names."""
    without = step.missing and step.why == missing(step.missing)
    why = files.needs(step.missing) if without else step.why
    return f"{why}; {step.published}" if step.published else why


def _shared(plan: Plan, *, verbose: bool) -> list[str]:
    shared = plan.shared
    if not shared:
        return []
    head = f"layers built once for several targets: {len(shared)}"
    if not verbose:
        return [f"{head} (--verbose lists them)"]
    return ["", head, *(f"  {each.layer.name}: {', '.join(each.targets)}" for each in shared)]


def _change(change: Change, *, verbose: bool) -> list[str]:
    lines = [f"a change of {change.component} rebuilds:"]
    lines += [
        f"  {name}: {', '.join(layers)}; unchanged layers: {len(change.stays[name])}"
        for name, layers in change.anew.items()
    ]
    if others := [name for name in change.stays if name not in change.anew]:
        lines.append(f"and nothing of: {', '.join(others)}")
    if verbose:
        lines.append("unchanged layers:")
        lines += [f"  {name}: {', '.join(layers)}" for name, layers in change.stays.items()]
    note = "Packages that its new version depends on are known only after 'build.py lock'."
    return [*lines, note]


def to_json(plan: Plan, needs: Mapping[str, Any]) -> str:
    """The plan for programs, with the files that real builds need; docs/reference.md has fields."""
    found: dict[str, Any] = {
        "targets": [
            {
                "id": step.id,
                "action": str(step.action),
                "why": step.why,
                "key": step.key,
                "image": step.image,
                "missing": dict(step.missing),
                "registry": step.published,
                "layers": {layer.name: layer.identity for layer in step.layers},
            }
            for step in plan.steps
        ],
        "shared": [
            {
                "layer": each.layer.name,
                "identity": each.layer.identity,
                "targets": [*each.targets],
            }
            for each in plan.shared
        ],
        "shard": plan.shard,
        "elsewhere": [*plan.elsewhere],
        "needs": dict(needs),
    }
    if plan.change:
        found["change"] = {
            "component": plan.change.component,
            "anew": {name: [*layers] for name, layers in plan.change.anew.items()},
            "stays": {name: [*layers] for name, layers in plan.change.stays.items()},
        }
    return json_text(found)
