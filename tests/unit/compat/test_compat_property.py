# SPDX-License-Identifier: Apache-2.0
"""Random combinations: what compat.yaml forbids or does not know never passes, all else does.

The oracle reads the YAML by itself, with none of the code under test but the order of CANN.
"""

from __future__ import annotations

from typing import Any, TypeVar

import pytest
import yaml
from packaging.version import Version

from cannery.common.cann_version import CannVersion
from cannery.common.model import Target
from cannery.compat import Refusal, judge, refusals_of
from tests.unit.compat_targets import COMPAT, cann, changed, python
from tests.unit.matrices import OWN_FACTS

RAW: dict[str, Any] = yaml.load(OWN_FACTS.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
PAIRS = [row for row in RAW["torch_npu"] if "torch_npu" in row]


def minors(text: str) -> set[int]:
    first, _, last = text.replace("3.", "").partition("-")
    return set(range(int(first), int(last or first) + 1))


T = TypeVar("T")


def refused(target: Target) -> list[Refusal]:
    return refusals_of(target, judge(target, COMPAT), COMPAT)


@pytest.mark.parametrize("row", [row for row in PAIRS if "pythons" in row], ids=str)
def test_every_row_passes_with_each_of_its_pythons(row: dict[str, str]) -> None:
    known = {
        chip
        for each in RAW["cann"]
        if CannVersion.parse(each["cann"]) == CannVersion.parse(row["cann"])
        for chip in each["chips"]
    }
    for minor in minors(row["pythons"]):
        chip = min(known) if known else "910b"
        target = changed(
            torch=row["torch"],
            torch_npu=str(Version(row["torch_npu"])),
            cann=cann(row["cann"], chip=chip),
            chip=chip,
            with_nnal=False,
            python=python(f"3.{minor}.9"),
            apex=None,
            deepspeed="",
        )
        # Kernels of some old releases are nowhere to be seen: that alone may be unknown.
        found = [each.finding.text for each in refused(target)]
        assert not [each for each in found if known or "kernels" not in each]
