# SPDX-License-Identifier: Apache-2.0
"""What is known of the verification of a target: from the repository's results and its release."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from cannery.deploy.run_spec import DeviceKind
from cannery.publish.records import Record, Tested
from cannery.report.verified import Verified

_DEVICES = [str(kind) for kind in DeviceKind]


class Basis(StrEnum):
    """The image that a result is about; the later ones say more about the repository."""

    OLDER = "older"
    """An image of an earlier state of the repository."""
    PUBLISHED = "published"
    """The newest release."""
    CURRENT = "current"
    """An image of the state that is checked out."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of the checks on one kind of device.

    ``simulated`` says whether simulated packages were in the image.
    """

    tested: Tested
    simulated: bool
    basis: Basis

    @property
    def rank(self) -> tuple[bool, int, int, str]:
        """Sorts results by how much they say: failures last, else by device, image and date."""
        device = _DEVICES.index(self.tested.device)
        basis = [*Basis].index(self.basis)
        return self.tested.failed > 0, device, basis, self.tested.date


def results_of(
    release: Record | None, verified: Iterable[Verified], key_of: Callable[[bool], str]
) -> tuple[Result, ...]:
    """Every known result of a target.

    ``key_of`` returns the content key that the checked out files give the target's image; it is
    called with whether the image is simulated.
    """
    found = [
        Result(
            tested=each.tested,
            simulated=each.simulated,
            basis=Basis.CURRENT if each.key == key_of(each.simulated) else Basis.OLDER,
        )
        for each in verified
    ]
    if release:
        found += [
            Result(tested=each, simulated=release.simulated, basis=Basis.PUBLISHED)
            for each in release.verified
            if each.device in _DEVICES and (each.passed or each.failed)
        ]
    return tuple(found)


def verdicts(results: Iterable[Result]) -> tuple[Result, ...]:
    """The result that says most about images with the vendor's packages, and about simulated ones.

    A failure says more than any pass.
    """
    found: dict[bool, Result] = {}
    for each in sorted(results, key=lambda each: each.rank):
        found[each.simulated] = each
    return tuple(found[simulated] for simulated in sorted(found))


_WHERE = {"none": "no device", "simulated": "simulated device", "npu": "NPU"}


def phrase(result: Result) -> str:
    """As in ``verified (simulated device) 2026-11-21, older state``."""
    tested = result.tested
    outcome = "failed" if tested.failed else "verified"
    basis = {
        Basis.CURRENT: "",
        Basis.OLDER: ", older state",
        Basis.PUBLISHED: ", published image",
    }[result.basis]
    return f"{outcome} ({_WHERE[tested.device]}) {tested.date}{basis}"
