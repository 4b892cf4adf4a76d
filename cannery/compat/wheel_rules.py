# SPDX-License-Identifier: Apache-2.0
"""Rules for the wheels that package indexes have, by the tags that compat.yaml records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cannery.common.model import EXTRAS, TRITON_ASCEND
from cannery.compat.facts import Compat, Wheels
from cannery.compat.finding import Finding, Subject, Verdict
from cannery.compat.requested import Requested

TORCH_NPU = "torch-npu"


def recorded(compat: Compat, package: str, version: str, machine: str) -> Wheels | None:
    """The row about the wheels of ``version`` for ``machine``; None where no tags are recorded."""
    rows = compat.by_wheel.get((package, version), ())
    return next((row for row in rows if row.machine in ("", machine)), None)


def judge_index_wheels(subject: Subject) -> Iterator[Finding]:
    """One finding for each package of an index that has no wheel of its version for the image.

    Only one version that is named is judged; of a range, a lock takes one that has a wheel. An
    index of a company may have what the others do not have at all, and that is unknown.
    """
    target = subject.target
    if target.torch_npu and not target.torch_npu_wheel:
        yield from _judge(subject, TORCH_NPU, target.torch_npu, None)
    files = {EXTRAS[name] for name in target.vendor_wheels if name in EXTRAS}
    for package in subject.compat.packages_with_wheels - files - {TORCH_NPU}:
        for asked in subject.asked.get(package, ()):
            if package == EXTRAS[TRITON_ASCEND] and asked.key == "requirements":
                continue  # it is refused there, and its own key tells of its wheel
            for bound in asked.requirement.specifier:
                if bound.operator == "==":
                    yield from _judge(subject, package, bound.version, asked)


def _judge(
    subject: Subject, package: str, version: str, asked: Requested | None
) -> Iterator[Finding]:
    """``asked`` is None for the target's torch_npu."""
    target = subject.target
    row = recorded(subject.compat, package, version, target.machine)
    if row is None:
        return
    name, component, key = f"{package} {version}", package, asked.key if asked else "torch_npu"
    if asked is None:
        name, component = f"torch_npu {version}", "torch_npu"
    minor, glibc = target.python.minor, _numbers(target.base.glibc)
    pairs = asked is None
    more: dict[str, Any] = {"rows": (row,), "place": asked.place if asked else ()}
    if not row.pythons:
        text, fix = f"package indexes have no wheel of {name}.", "Take another version."
        if key in (*EXTRAS, "torch_npu"):
            fix = f"Take another version, or declare its wheel under {key}_wheels."
        yield Finding(component, Verdict.UNKNOWN, text, key, fix=fix, pairs=pairs, **more)
        return
    if minor not in row.pythons:
        pythons = ", ".join(row.pythons)
        text = f"{name} has no wheel for Python {minor} in package indexes, only for {pythons}."
        fix = "Take one of these Pythons, or another version."
        about = (component, key) if asked else ("python", "python")
        yield Finding(about[0], Verdict.FORBIDDEN, text, about[1], fix=fix, pairs=pairs, **more)
    # An image without glibc is below no bound.
    if glibc and glibc < row.glibc:
        text = f"the wheels of {name} in package indexes are for glibc {_text(row.glibc)} or newer."
        fix = _newer_base(subject, row)
        yield Finding(component, Verdict.FORBIDDEN, text, key, fix=fix, **more)


def _newer_base(subject: Subject, row: Wheels) -> str:
    base = subject.target.base
    newer = [
        (each.distribution != base.distribution.name, _numbers(each.glibc), each)
        for each in subject.compat.suites
        if _numbers(each.glibc) >= row.glibc
    ]
    nearest = min(newer, key=lambda suite: suite[:2])[2] if newer else None
    such = f", such as {nearest.distribution} {nearest.suite}" if nearest else ""
    return (
        f"Take a base with glibc {_text(row.glibc)} or newer{such}; "
        f"base {base.name} has {base.glibc}."
    )


def _numbers(glibc: str) -> tuple[int, ...]:
    return tuple(map(int, glibc.split("."))) if glibc else ()


def _text(glibc: tuple[int, ...]) -> str:
    return ".".join(map(str, glibc))
