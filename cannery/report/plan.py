# SPDX-License-Identifier: Apache-2.0
"""A plan as text for people and as JSON for programs."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from cannery.plan.plan import Change, Plan


def to_text(plan: Plan) -> str:
    """A line a target, then what is shared and what a change would do."""
    lines = []
    width = max((len(step.id) for step in plan.steps), default=0)
    for step in plan.steps:
        published = f"; {step.published}" if step.published else ""
        lines.append(f"{step.action:<6}  {step.id:<{width}}  {step.why}{published}")
    counts = Counter(str(step.action) for step in plan.steps)
    total = ", ".join(f"{counts[name]} to {name}" for name in ("build", "verify", "skip"))
    lines += ["", total]
    if plan.shard:
        lines.append(f"shard {plan.shard}; in other shards: {', '.join(plan.elsewhere) or 'none'}")
    if plan.shared:
        lines += ["", "made once for several targets:"]
        lines += [f"  {each.layer.name}: {', '.join(each.targets)}" for each in plan.shared]
    if plan.change:
        lines += ["", *_change(plan.change)]
    return "\n".join(lines)


def _change(change: Change) -> list[str]:
    lines = [f"a change of {change.component} makes anew:"]
    lines += [f"  {name}: {', '.join(layers)}" for name, layers in change.anew.items()]
    lines.append("and leaves as they are:")
    for name, layers in change.stays.items():
        said = ", ".join(layers) if name in change.anew else "everything"
        lines.append(f"  {name}: {said or 'nothing'}")
    note = "What else its packages ask for is known only when it is locked again."
    return [*lines, note]


def to_json(plan: Plan) -> str:
    """The plan for programs; docs/many-machines.md has an example."""
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
    }
    if plan.change:
        found["change"] = {
            "component": plan.change.component,
            "anew": {name: [*layers] for name, layers in plan.change.anew.items()},
            "stays": {name: [*layers] for name, layers in plan.change.stays.items()},
        }
    return json.dumps(found, indent=2, ensure_ascii=False)
