# SPDX-License-Identifier: Apache-2.0
"""No message cites a row of compat.yaml that says something else.

Combinations are drawn from all values that rows name, with some that none names. What each cited
row says is compared with the combination here, by the row alone. CANNERY_COMBINATIONS is how many
are drawn; 10,000 take about four minutes.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from cannery.common.cann_version import CannVersion
from cannery.common.model import CHIPS, EXTRAS, Target
from cannery.common.specifiers import overlap
from cannery.compat import Finding, Verdict, facts, judge
from cannery.compat.requested import requested
from tests.policy.conftest import TARGETS
from tests.unit.compat_targets import APEX, COMPAT, cann, changed, python

COUNT = int(os.environ.get("CANNERY_COMBINATIONS", "400"))
PAIRS = [row for row in COMPAT.pairings if row.torch_npu]
CANNS = sorted({row.cann for row in COMPAT.releases} | {row.cann for row in PAIRS})
BASES = [*{each.base.name: each.base for each in TARGETS.values()}.values()]
APPLICATIONS = [*{a.name: a for each in TARGETS.values() if (a := each.application)}.values()]
DEEPSPEEDS = [
    "0.6.0",
    "0.9.2",
    "0.10.0",
    "0.14.3",
    "0.15.0",
    "0.16.9",
    "0.18.4",
    "0.19.8",
    "0.30.0",
]
EXTRA = {
    "torchvision": ["0.20.1", "0.24.0", "0.25.0", "0.27.0"],
    "torchaudio": ["2.9.0", "2.10.0", "2.11.0"],
    "msprobe": ["26.1.0", "26.2.0"],
    "ray": ["2.40.0", "2.48.0", "2.53.0"],
    "triton_ascend": ["3.2.0", "3.2.1", "3.2.2", "3.6.0"],
}
REQUIREMENTS = [
    *("numpy<2", "numpy>=2", "numpy==1.24.0", "protobuf>=4", "protobuf==3.20.3", "accelerate<0.30"),
    *("triton", "triton==3.5.0", "transformers==4.28.1", "transformers==5.3.0", "flash-attn"),
    *("bitsandbytes", "opencv-python", "vllm==0.18.0", "vllm-ascend==0.18.0", "ascend-cann-nnrt"),
    *("vllm-ascend==0.23.0", "sglang==0.5.23", "sglang==0.5.10.post1", "torch==2.9.0"),
    *("mindspore==2.9.0", "mindspore==2.7.1", "xformers", "llamafactory==0.9.0"),
    *("nvidia-cublas-cu12", "cupy-cuda12x", "apex", "triton-ascend==3.2.2"),
]


def drawn(chance: random.Random) -> Target:
    """A combination: half of the time a pair that a row has, changed in some of its parts."""
    row, other = chance.choice(PAIRS), chance.choice(PAIRS)
    torch, torch_npu = row.torch, row.torch_npu
    if chance.random() < 0.2:
        torch, torch_npu = other.torch, chance.choice([other.torch_npu, row.torch_npu])
    version = row.cann if chance.random() < 0.6 else chance.choice(CANNS)
    public = "8.0.RC3" if version.is_interim else ""
    minor = chance.choice(row.pythons or ("3.10",))
    if chance.random() < 0.3:
        minor = f"3.{chance.randrange(7, 16)}"
    chip = chance.choice(["910b"] * 4 + [*CHIPS])
    extras = {name: chance.choice(found) for name, found in EXTRA.items() if chance.random() < 0.15}
    return changed(
        base=chance.choice(BASES),
        platform=chance.choice(["linux/arm64"] * 5 + ["linux/amd64"]),
        python=python(f"{minor}.9"),
        cann=cann(str(version), chip=chip, nearest_public=public),
        chip=chip,
        torch=torch,
        torch_npu=torch_npu,
        apex=APEX if chance.random() < 0.2 else None,
        deepspeed=chance.choice(DEEPSPEEDS) if chance.random() < 0.4 else "",
        extras={name: extras[name] for name in EXTRAS if name in extras},
        requirements=tuple(chance.sample(REQUIREMENTS, chance.choice([0, 0, 1, 2]))),
        application=chance.choice([None, None, None, *APPLICATIONS]),
        without_compiler=chance.random() < 0.1,
        hccl_test=chance.random() < 0.1,
    )


def released(target: Target) -> set[CannVersion]:
    """The releases that the target's CANN is looked up as."""
    own = target.cann
    return {CannVersion.parse(each) for each in (own.version, own.nearest_public) if each}


def holds(wanted: SpecifierSet | None, version: str) -> bool:
    return wanted is None or (bool(version) and wanted.contains(version, prereleases=True))


def pairing(row: facts.Pairing, found: Finding, target: Target) -> bool:
    """A pair: of the torch or torch_npu that it is about, and for this CANN where that is said."""
    minor = target.python.minor
    about = target.torch_npu in (row.torch_npu, "") or row.torch == target.torch
    if found.component == "python":
        said = [minor in names for _, names in row.statements()]
        if found.verdict is Verdict.FORBIDDEN:
            return about and bool(said) and not all(said)
        return about and any(said)
    if found.component in ("triton-ascend", "vllm-ascend"):
        return row.torch_npu == target.torch_npu and row.cann in released(target)
    if found.verdict in (Verdict.ALLOWED, Verdict.DISPUTED):
        here = row.cann in released(target) or "are compatible with" in found.text
        return about and here and row.torch == target.torch
    return row.torch_npu == target.torch_npu and row.torch == str(
        Version(row.torch_npu).base_version
    )


def package(row: facts.Package, found: Finding, target: Target) -> bool:
    """A package: of this name, on conditions that hold, and against it only what it refuses."""
    when = row
    conditions = (
        not when.chips or target.chip in when.chips,
        not when.machine or when.machine == target.machine,
        holds(when.torch, target.torch),
        when.cann is None or any(each in when.cann for each in released(target)),
        not when.without_compiler or target.without_compiler,
    )
    asked = [each.requirement.specifier for each in requested(target).get(found.component, ())]
    if found.verdict is Verdict.FORBIDDEN:
        right = (
            row.refused in found.text if row.refused else f"{row.bound or row.pin}" in found.text
        )
    elif found.verdict is Verdict.UNKNOWN:
        right = row.required or not all(overlap(each, row.pin or row.bound) for each in asked)
    else:
        wanted = row.pin or row.seen or row.bound
        right = wanted is not None and all(overlap(each, wanted) for each in asked)
    return all(conditions) and right


def deepspeed(row: facts.DeepSpeed, found: Finding, target: Target) -> bool:
    fits = holds(row.torch, target.torch) and target.python.minor in (
        row.pythons or (target.python.minor,)
    )
    named = row.version.contains(target.deepspeed, prereleases=True)
    if found.verdict in (Verdict.ALLOWED, Verdict.DISPUTED):
        return named and fits and not row.refused
    if found.verdict is Verdict.UNKNOWN:
        return named and not (fits and not row.refused)
    return named


def beside(row: facts.ApplicationRow, found: Finding, target: Target) -> bool:
    fits = (
        holds(row.torch, target.torch),
        row.cann is None or any(each in row.cann for each in released(target)),
        not row.pythons or target.python.minor in row.pythons,
    )
    return all(fits) if found.verdict is Verdict.ALLOWED else row.cann is None or not all(fits)


def on_toolkit(row: facts.OnToolkit, found: Finding, target: Target) -> bool:
    return found.component == row.component and not released(target) & {*row.toolkits}


def release(row: facts.Release, found: Finding, target: Target) -> bool:
    has = row.nnal if found.component == "nnal" else target.chip in row.chips
    return row.cann in released(target) and has


def lifetime(row: facts.Lifetime, _: Finding, target: Target) -> bool:
    own = {target.base.suite, target.python.minor, target.torch, *map(str, released(target))}
    return row.version in own


def known_bad(row: facts.KnownBad, found: Finding, target: Target) -> bool:
    return row.why in found.text and holds(row.torch, target.torch)


SAYS: dict[type, Callable[[Any, Finding, Target], bool]] = {
    facts.Pairing: pairing,
    facts.Package: package,
    facts.DeepSpeed: deepspeed,
    facts.ApplicationRow: beside,
    facts.OnToolkit: on_toolkit,
    facts.Release: release,
    facts.Lifetime: lifetime,
    facts.KnownBad: known_bad,
    facts.Compatible: lambda row, _, target: any(each in row.cann for each in released(target)),
    facts.Driver: lambda row, _, target: row.cann in released(target),
    facts.CxxAbi: lambda row, _, target: holds(row.torch, target.torch),
    facts.Apex: lambda row, _, target: (
        target.python.minor in row.pythons and holds(row.torch, target.torch)
    ),
    facts.Wheels: lambda row, found, target: (
        row.machine in ("", target.machine)
        and any(version in found.text or version == target.torch_npu for version in row.versions)
        and (found.verdict is not Verdict.ALLOWED or target.python.minor in row.pythons)
    ),
    facts.MindSpore: lambda row, _, target: row.cann in released(target),
    facts.Ending: lambda row, found, target: (
        row.what in found.text and any(each in row.cann for each in released(target))
    ),
    facts.Suite: lambda row, _, target: row.suite == target.base.suite,
    facts.LayoutRow: lambda row, _, target: any(each in row.cann for each in released(target)),
    facts.FileName: lambda row, found, _: row.component == found.component,
    facts.Rejected: lambda row, _, target: row.torch_npu == target.torch_npu,
}
"""Kind of row to whether it says what a finding about a target rests on."""


def test_every_cited_row_supports_its_message() -> None:
    chance = random.Random(37)
    wrong, cited = [], Counter[str]()
    for _ in range(COUNT):
        target = drawn(chance)
        for found in judge(target, COMPAT):
            for row in found.rows:
                cited[type(row).__name__] += 1
                if not SAYS[type(row)](row, found, target):
                    wrong.append((found.verdict, found.text, row.cited, row.says))
    assert wrong == []
    kinds = ("Pairing", "Package", "DeepSpeed", "Release", "Driver", "ApplicationRow", "Compatible")
    assert all(cited[kind] for kind in kinds), cited


def test_every_refusal_has_a_reason_and_advice() -> None:
    chance = random.Random(38)
    for _ in range(COUNT):
        target = drawn(chance)
        for found in judge(target, COMPAT):
            if found.verdict in (Verdict.FORBIDDEN, Verdict.UNKNOWN):
                assert found.text.endswith("."), found.text
                assert found.fix or found.pairs or found.rows, found.text
