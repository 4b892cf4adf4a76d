# SPDX-License-Identifier: Apache-2.0
"""The names of chips in clusters, and the numbers of cards that hosts have.

Source: Ascend/mind-cluster@HEAD (2026-08-21), docs/en/scheduling: references/appendix.md (names of
resources), api/k8s.md and developer_guide/…/01_preparing_for_installation.md (labels of nodes),
component/ascend-for-volcano/common/util/constants.go (ring-controller.atlas), api/volcano.md,
huawei.com/schedule_policy (the Atlas 800T A2 has 8 cards, the 200T A2 Box16 and an A3 have 16).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cannery.common.errors import Problem, UsageError


@dataclass(frozen=True, kw_only=True)
class Chip:
    """``resource`` is the name that the device plugin uses, ``ring`` is for ring-controller.atlas.

    ``hosts`` maps the number of cards of each kind of host, the usual one first, to the value of
    the node label accelerator-type, which is empty if the sources have none.
    """

    resource: str
    ring: str
    hosts: Mapping[int, str]

    @property
    def cards(self) -> int:
        """The number of cards of the largest host."""
        return max(self.hosts)

    def accelerator(self, cards: int) -> str:
        """The accelerator-type of the first host with at least ``cards`` cards."""
        return next(label for most, label in self.hosts.items() if cards <= most)


CHIPS: Mapping[str, Chip] = {
    "910": Chip(resource="huawei.com/Ascend910", ring="ascend-910", hosts={8: "module"}),
    "910b": Chip(
        resource="huawei.com/Ascend910",
        ring="ascend-910b",
        hosts={8: "module-910b-8", 16: "module-910b-16"},
    ),
    # The samples for A3 have 910B's ring-controller.atlas. A node of a SuperPoD has another label:
    # module-a3-16-super-pod or module-a3-8-super-pod.
    "a3": Chip(resource="huawei.com/Ascend910", ring="ascend-910b", hosts={16: "module-a3-16"}),
    # No source has a maximum; no host is known with a card above davinci15.
    "310p": Chip(resource="huawei.com/Ascend310P", ring="ascend-310P", hosts={16: ""}),
    # Atlas 850 servers, and Atlas 350 cards; a node of an Atlas 950 SuperPoD has another label:
    # 950-SuperPod-Atlas-8.
    "950": Chip(
        resource="huawei.com/npu",
        ring="ascend-npu",
        hosts={8: "850-Atlas-8p-8", 16: "350-Atlas-16"},
    ),
}


def chip_named(name: str) -> Chip:
    """The chip that a target calls ``name``."""
    if name not in CHIPS:
        known = ", ".join(CHIPS)
        what = f"the cards of chip {name} are unknown; cannery/deploy/chips.py has {known}."
        raise UsageError(Problem(what=what, fix="Add the chip to that file."))
    return CHIPS[name]
