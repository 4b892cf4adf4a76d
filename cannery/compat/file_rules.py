# SPDX-License-Identifier: Apache-2.0
"""Whether CANN's packages are those that a target needs, by their file names."""

from __future__ import annotations

import re
from collections.abc import Mapping

from cannery.common.cann import CannRelease
from cannery.common.cann_version import CannVersion
from cannery.common.sources import File
from cannery.compat.file_names import file_name, file_row, judged_as
from cannery.compat.finding import Finding, Place, Subject, Verdict

_MACHINE = r"(?:-(?P<machine>\w+))?"
_FORMS = tuple(
    re.compile(form + _MACHINE, re.IGNORECASE)
    for form in (
        r"Ascend-cann-(?P<component>toolkit|nnal)_(?P<version>[^_]+)_linux",
        r"Ascend-cann-(?P<component>kernels)-(?P<chip>[^_]+)_(?P<version>[^_]+)_linux",
        r"Atlas-(?P<chip>A3)-cann-(?P<component>kernels)_(?P<version>[^_]+)_linux",
        r"Ascend-cann-(?P<chip>[^_-]+)-(?P<component>ops)_(?P<version>[^_]+)_linux",
    )
)
"""Huawei's names of files, without what follows the last '.'; compat.yaml has what to propose."""


def judge_file(subject: Subject, component: str, release: CannRelease, file: File) -> list[Finding]:
    """Refuse a file whose own name says that it is not ``component`` of ``release``."""
    wrong = _wrong(subject, component, release, file.name)
    target = subject.target
    expected = file_name(subject.compat, component, release, target.chip, target.platform)
    if not wrong and expected and file.name != expected and file.name.lower() == expected.lower():
        wrong = "Huawei writes other letters of it in capitals"
    if not wrong:
        return []
    row = file_row(subject.compat, component, judged_as(release), target.chip)
    parts: Place = ("kernels", target.chip) if component == "kernels" else (component,)
    package = f"the {component} package of CANN {release.version}"
    fix = f"Huawei's name for it is {expected}." if expected else "Correct the file name."
    return [
        Finding(
            component=component,
            verdict=Verdict.FORBIDDEN,
            text=f"{file.name} cannot be {package}: {wrong}.",
            key="cann",
            place=("cann", release.version, *parts, "file"),
            rows=(row,) if row else (),
            fix=fix,
        )
    ]


def _wrong(subject: Subject, component: str, release: CannRelease, name: str) -> str:
    stem, _, suffix = name.rpartition(".")
    if suffix != "run":
        return "it is not a .run file, which is what the image runs"
    match = next((match for form in _FORMS if (match := form.fullmatch(stem))), None)
    return _wrong_name(subject, component, release, match.groupdict()) if match else ""


def _wrong_name(
    subject: Subject, component: str, release: CannRelease, named: Mapping[str, str | None]
) -> str:
    """What the parts of a vendor's file name say against the target."""
    target = subject.target
    kind = (named["component"] or "").lower().replace("ops", "kernels")
    if kind != component:
        return f"it is a {kind} package"
    if (chip := (named.get("chip") or "").lower()) and chip != target.chip.lower():
        return f"it is for chip {chip}, and the target's chip is {target.chip}"
    if not _same_version(named["version"] or "", release.version):
        return f"it is of CANN {named['version']}"
    if (named["machine"] or target.machine) != target.machine:
        return f"it is for {named['machine']}, and the target's machine is {target.machine}"
    return ""


def _same_version(first: str, second: str) -> bool:
    try:
        return CannVersion.parse(first) == CannVersion.parse(second)
    except ValueError:
        return first == second
