# SPDX-License-Identifier: Apache-2.0
"""Whether the versions in an image are known to work together, by the rules for targets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from cannery.common.cann import CannRelease, Layout
from cannery.common.model import Target
from cannery.common.specifiers import normal_name
from cannery.compat.facts import Compat
from cannery.compat.finding import Finding, Verdict
from cannery.compat.nearest import nearest
from cannery.compat.rules import judge
from cannery.verify.audit.as_target import as_target
from cannery.verify.audit.cann import Cann
from cannery.verify.audit.config import ImageConfig
from cannery.verify.audit.found import Found
from cannery.verify.audit.result import NOT_ASCEND, Result, Standing

_STANDINGS = {
    Verdict.ALLOWED: Standing.PASSED,
    Verdict.ENDING: Standing.NOTE,
    Verdict.DISPUTED: Standing.NOTE,
    Verdict.UNKNOWN: Standing.UNKNOWN,
    Verdict.FORBIDDEN: Standing.BROKEN,
}
_INDEPENDENT = ("torch_npu", "triton")
"""The components that are judged even where there is no CANN."""

_FRAMEWORKS = ("torch-npu", "mindspore")


def judge_versions(
    found: Found,
    config: ImageConfig,
    compat: Compat,
    known: Mapping[str, CannRelease],
) -> Iterator[Result]:
    """One result for each component that the rules say something about."""
    if not any(name in found.versions for name in _FRAMEWORKS) and not found.cann:
        yield _nothing_ascend(found)
        return
    yield from _twice(found)
    if found.cann:
        target = as_target(found, config, found.cann, compat, known)
        findings = [each for each in judge(target, compat) if _is_about(each, found)]
        yield from _results(findings, target, compat)
        if not found.cann.operators:
            text = f"{found.cann.folder} has no operator kernels; the NPU cannot compute without."
            yield Result(check="compat/kernels", standing=Standing.UNKNOWN, text=text)
        return
    text = "There is no CANN toolkit in the image. It may be meant to be mounted."
    yield Result(check="compat/toolkit", standing=Standing.NOT_OURS, text=text)
    stand_in = _some_cann(compat)
    target = as_target(found, config, stand_in, compat, known)
    findings = [
        each
        for each in judge(target, compat)
        if each.component in _INDEPENDENT and each.verdict is Verdict.FORBIDDEN
    ]
    yield from _results(findings, target, compat)


def _some_cann(compat: Compat) -> Cann:
    """Any release, for findings that do not depend on it."""
    version = str(compat.pairings[0].cann) if compat.pairings else "9.1.0"
    return Cann(
        folder="",
        homes=(),
        layout=Layout.CANN,
        toolkit=version,
        kernels="",
        nnal="",
        arches=(),
        operators=(),
        set_env=(),
        stand_ins=(),
    )


def _nothing_ascend(found: Found) -> Result:
    text = "There is neither CANN nor torch_npu nor MindSpore in the image."
    if found.by_shell:
        text = "There is no Python and no CANN in the image."
    return Result(check=NOT_ASCEND, standing=Standing.NOT_OURS, text=text)


def _twice(found: Found) -> Iterator[Result]:
    for name in ("torch", "torch-npu", "mindspore"):
        if len({*found.twice.get(name, ())}) > 1:
            versions = " and ".join(found.twice[name])
            yield Result(
                check=f"compat/{name}",
                standing=Standing.BROKEN,
                text=f"{name} is installed twice, as {versions}; the first on sys.path is loaded.",
                fix="Remove one of them.",
            )
    own = found.torch_file.partition("+")[0]
    told = found.versions.get("torch", "").partition("+")[0]
    if own and told and own != told:
        text = f"The files of torch are those of {own}, and its metadata says {told}."
        yield Result(
            check="compat/torch",
            standing=Standing.BROKEN,
            text=text,
            fix="Install torch again, with pip's --force-reinstall.",
        )


def _is_about(finding: Finding, found: Found) -> bool:
    """Whether ``finding`` is about what an image shows, and not about how matrix.yaml has it."""
    if finding.component in ("base", "driver") or finding.place[-1:] == ("file",):
        return False
    if finding.component == "kernels" and found.cann and not found.cann.operators:
        return False
    # A requirement that is missing in matrix.yaml; in an image, that the package is not there.
    is_missing = finding.key == "requirements" and finding.verdict is Verdict.FORBIDDEN
    return not (is_missing and normal_name(finding.component) not in found.versions)


def _results(findings: Iterable[Finding], target: Target, compat: Compat) -> Iterator[Result]:
    known = ""
    for each in findings:
        result = _result(each)
        if each.pairs and result.standing in (Standing.BROKEN, Standing.UNKNOWN) and not known:
            known = "; or ".join(map(str, nearest(target, compat)))
            more = f" Nearest known: {known}." if known else ""
            result = replace(result, fix=(result.fix + more).strip())
        yield result


def _result(finding: Finding) -> Result:
    fix = finding.fix
    if fix.startswith("Write "):
        fix = "Install " + fix.removeprefix("Write ")
    text = finding.text
    if finding.against:
        text += f" Against it: {finding.against[0].cited}."
    return Result(
        check=f"compat/{finding.component}",
        standing=_STANDINGS[finding.verdict],
        text=text,
        fix="" if finding.verdict is Verdict.ALLOWED else fix,
        sources=tuple(row.cited for row in finding.rows[:2]),
    )
