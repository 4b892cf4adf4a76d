# SPDX-License-Identifier: Apache-2.0
"""What clusters call a chip, and how many cards of it a host has.

Source: Ascend/mind-cluster@HEAD (2026-08-21), docs/en/scheduling: references/appendix.md (names of
resources), api/k8s.md and developer_guide/…/01_preparing_for_installation.md (labels of nodes),
component/ascend-for-volcano/common/util/constants.go (ring-controller.atlas), api/volcano.md,
huawei.com/schedule_policy (the Atlas 800T A2 has 8 cards, the 200T A2 Box16 and an A3 have 16).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cannery.errors import Problem, UsageError


@dataclass(frozen=True, kw_only=True)
class Chip:
    """``resource`` is what the device plugin counts; ``ring`` goes into ring-controller.atlas.

    ``hosts`` has the hosts there are, the usual one first: its cards, and the value of the node
    label accelerator-type, which is empty where the sources name none.
    """

    resource: str
    ring: str
    hosts: Mapping[int, str]

    @property
    def cards(self) -> int:
        """How many cards the largest host has."""
        return max(self.hosts)

    def accelerator(self, cards: int) -> str:
        """The accelerator-type of the first host that has ``cards`` cards."""
        return next(label for most, label in self.hosts.items() if cards <= most)


CHIPS: Mapping[str, Chip] = {
    "910": Chip(resource="huawei.com/Ascend910", ring="ascend-910", hosts={8: "module"}),
    "910b": Chip(
        resource="huawei.com/Ascend910",
        ring="ascend-910b",
        hosts={8: "module-910b-8", 16: "module-910b-16"},
    ),
    # The samples for A3 have 910B's ring-controller.atlas. A node of a SuperPoD has a label of its
    # own: module-a3-16-super-pod or module-a3-8-super-pod.
    "a3": Chip(resource="huawei.com/Ascend910", ring="ascend-910b", hosts={16: "module-a3-16"}),
    # No source says how many there are at most; no host was seen with a card above davinci15.
    "310p": Chip(resource="huawei.com/Ascend310P", ring="ascend-310P", hosts={16: ""}),
}


def chip_named(name: str) -> Chip:
    """What is known of the chip ``name`` of a target.

    Raises:
        UsageError: nothing is.
    """
    if name not in CHIPS:
        known = ", ".join(CHIPS)
        what = f"it is not known how a host hands out cards of chip {name}."
        raise UsageError(Problem(what=what, fix=f"Known: {known} (cannery/deploy/chips.py)."))
    return CHIPS[name]
