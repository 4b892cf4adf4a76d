# SPDX-License-Identifier: Apache-2.0
"""``build.py build``: plan, build, check, name."""

from __future__ import annotations

from cannery.cli.common import read
from cannery.matrix.project import Project
from cannery.options.build import PlanOptions
from cannery.options.given import Given


def run(given: Given, project: Project) -> int:
    """Build every selected target; a target that fails does not keep the others from it.

    Raises:
        CanneryError: whatever stops one or more targets; see docs/exit-codes.md.
    """
    plan_options = read(PlanOptions, given, project)
    memory = None
    if plan_options.plan:
        # Imported here and below, because a plan that is known is shown without the rest.
        from cannery.cli.planned import memory_of

        memory = memory_of(given, project, plan_options)
    if memory and (text := memory.recalled()) is not None:
        print(text)
        return 0
    from cannery.cli.building import carry_out

    return carry_out(given, project, plan_options, memory)
