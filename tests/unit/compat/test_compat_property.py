# SPDX-License-Identifier: Apache-2.0
"""Random combinations: what compat.yaml forbids or does not know never passes, all else does.

The oracle reads the YAML by itself, with none of the code under test but the order of CANN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from cannery.common.cann_version import CannRange, CannVersion
from cannery.common.model import Target
from cannery.compat import Refusal, judge, refusals_of
from tests.unit.compat_targets import APEX, COMPAT, PLUGIN, cann, changed, python
from tests.unit.examples import times
from tests.unit.matrices import OWN_FACTS

RAW: dict[str, Any] = yaml.load(OWN_FACTS.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
PAIRS = [row for row in RAW["torch_npu"] if "torch_npu" in row]
TORCH_NPU = sorted({str(Version(row["torch_npu"])) for row in PAIRS})
TORCH = sorted({row["torch"] for row in PAIRS})
CANN = sorted({row["cann"] for row in PAIRS} | {row["cann"] for row in RAW["cann"]})
CHIPS = ["310p", "910", "910b", "950", "a3"]
PYTHONS = [f"3.{minor}.9" for minor in range(6, 16)]
DEEPSPEED = ["", "0.5.9", "0.6.0", "0.6.1", "0.9.2", "0.9.3", "0.10.0", "0.10.1", "0.15.0"]
MAKERS = {name for name, each in RAW["sources"].items() if each["kind"] == "maker"}


def minors(text: str) -> set[int]:
    first, _, last = text.replace("3.", "").partition("-")
    return set(range(int(first), int(last or first) + 1))


def knows_pair(target: Target) -> bool:
    release = CannVersion.parse(target.cann.version)
    return any(
        row["torch"] == target.torch
        and str(Version(row["torch_npu"])) == target.torch_npu
        and CannVersion.parse(row["cann"]) == release
        for row in PAIRS
    )


def knows_compatible(target: Target) -> bool:
    """Whether the makers pair it with another CANN that they say is compatible with this one."""
    release = CannVersion.parse(target.cann.version)
    return not release.is_preview and any(
        row["torch"] == target.torch
        and str(Version(row["torch_npu"])) == target.torch_npu
        and MAKERS & {*([row["source"]] if isinstance(row["source"], str) else row["source"])}
        and release in known
        and CannVersion.parse(row["cann"]) in known
        for row in PAIRS
        for known in (CannRange.parse(each["cann"]) for each in RAW["compatible"])
    )


def knows_python(target: Target) -> bool:
    """Only asked for a torch_npu that is known."""
    rows = [
        row
        for row in PAIRS
        if str(Version(row["torch_npu"])) == target.torch_npu and "pythons" in row
    ] or [row for row in RAW["torch_npu"] if row["torch"] == target.torch and "pythons" in row]
    minor = int(target.python.minor.partition(".")[2])
    return any(
        minor in minors(row.get(key, "3.99"))
        for row in rows
        for key in ("pythons", "wheels_pythons")
    )


def knows_cann(target: Target) -> bool:
    rows = [
        row
        for row in RAW["cann"]
        if CannVersion.parse(row["cann"]) == CannVersion.parse(target.cann.version)
    ]
    with_nnal = any(row.get("nnal") == "true" for row in rows)
    return any(target.chip in row["chips"] for row in rows) and (with_nnal or not target.with_nnal)


def fits(row: dict[str, str], target: Target) -> bool:
    """Whether the conditions of a row of deepspeed hold."""
    minor = int(target.python.minor.partition(".")[2])
    return target.torch in SpecifierSet(row.get("torch", "")) and (
        "pythons" not in row or minor in minors(row["pythons"])
    )


def accepts_deepspeed(target: Target) -> bool:
    if not target.deepspeed:
        return True
    rows = [row for row in RAW["deepspeed"] if target.deepspeed in SpecifierSet(row["version"])]
    needs = any("plugin" in row for row in rows)
    fitting = [row for row in rows if fits(row, target)]
    refused = any("refused" in row for row in fitting)
    has_plugin = target.deepspeed_plugin is not None
    return needs == has_plugin and not refused and bool(fitting)


def accepts_numpy(target: Target) -> bool:
    """``requirements`` of the targets here either keep numpy below 2 or ask for 2."""
    if "numpy<2" in target.cann.requirements:
        return True
    release = CannVersion.parse(target.cann.version)
    for row in RAW["packages"]:
        if row["package"] == "numpy" and "bound" in row:
            on_cann = release in CannRange.parse(row["cann"]) if "cann" in row else True
            on_torch = target.torch in SpecifierSet(row["torch"]) if "torch" in row else True
            if on_cann and on_torch:
                return False
    return True


def accepts_apex(target: Target) -> bool:
    minor = int(target.python.minor.partition(".")[2])
    return target.apex is None or any(
        minor in minors(row["pythons"]) and target.torch in SpecifierSet(row["torch"])
        for row in RAW["apex"]
    )


def expected(target: Target) -> bool:
    return (
        Version(target.torch).release == Version(target.torch_npu).release
        and (knows_pair(target) or knows_compatible(target))
        and knows_python(target)
        and knows_cann(target)
        and accepts_deepspeed(target)
        and accepts_numpy(target)
        and accepts_apex(target)
    )


T = TypeVar("T")


def chips_of(version: str) -> list[str]:
    release = CannVersion.parse(version)
    rows = [row for row in RAW["cann"] if CannVersion.parse(row["cann"]) == release]
    return [chip for row in rows for chip in row["chips"]] or ["910b"]


@st.composite
def targets(draw: st.DrawFn) -> Target:
    """Mostly what one row of compat.yaml has, and now and then anything else in its place."""

    def mostly(usual: Sequence[T], other: Sequence[T]) -> T:
        return draw(st.sampled_from(other if draw(st.integers(0, 11)) == 0 else usual))

    row = draw(st.sampled_from(PAIRS))
    torch = mostly([row["torch"]], TORCH)
    torch_npu = mostly([row["torch_npu"]], TORCH_NPU)
    version = mostly([row["cann"]], CANN)
    chip = mostly(chips_of(version), CHIPS)
    usual = [f"3.{minor}.9" for minor in sorted(minors(row.get("pythons", "3.8-3.10")))]
    numpy = mostly(["numpy<2"], ["numpy>=2"])
    deepspeed = mostly(["", "0.15.0"], DEEPSPEED)
    has_plugin = deepspeed in ("0.6.0", "0.9.2") and draw(st.booleans())
    return changed(
        torch=torch,
        torch_npu=str(Version(torch_npu)),
        cann=replace(cann(version, chip=chip), requirements=(numpy,)),
        chip=chip,
        with_nnal=mostly([False], [True]),
        python=python(mostly(usual, PYTHONS)),
        deepspeed=deepspeed,
        deepspeed_plugin=PLUGIN if has_plugin else None,
        apex=mostly([None], [None, APEX]),
    )


def test_the_samples_are_of_both_kinds() -> None:
    found: list[bool] = []

    @given(targets())
    @settings(max_examples=100, deadline=None, database=None, derandomize=True)
    def sample(target: Target) -> None:
        found.append(expected(target))

    sample()
    assert 10 < sum(found) < len(found) - 10


def refused(target: Target) -> list[Refusal]:
    return refusals_of(target, judge(target, COMPAT), COMPAT)


@pytest.mark.slow
@given(targets())
@times(4)
def test_only_what_is_known_and_not_forbidden_passes(target: Target) -> None:
    found = [each.finding.text for each in refused(target)]
    assert (not found) == expected(target), found


@given(targets(), st.text(min_size=1, max_size=5))
def test_a_reason_never_makes_anything_worse(target: Target, reason: str) -> None:
    with_reason = refused(replace(target, unverified=reason))
    assert len(with_reason) <= len(refused(target))


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
