# SPDX-License-Identifier: Apache-2.0
"""Whether the versions in an image are known to work together, by the rules for targets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from packaging.version import InvalidVersion, Version

from cannery.common.bases import Base, Distribution, File, PackageManager, Python, PythonSource
from cannery.common.errors import Span
from cannery.common.model import EXTRAS, MACHINE_OF, CannPackages, CannRelease, Layout, Target
from cannery.common.specifiers import normal_name
from cannery.common.wheels import TorchIndex, VendorWheel
from cannery.compat.facts import Compat
from cannery.compat.finding import Finding, Verdict
from cannery.compat.nearest import nearest
from cannery.compat.rules import judge
from cannery.verify.audit.found import Cann, ImageConfig, ImageFacts
from cannery.verify.audit.result import NOT_ASCEND, Result, Standing, broken

_STANDINGS = {
    Verdict.ALLOWED: Standing.PASSED,
    Verdict.ENDING: Standing.NOTE,
    Verdict.DISPUTED: Standing.NOTE,
    Verdict.NOT_JUDGED: Standing.NOTE,
    Verdict.UNKNOWN: Standing.UNKNOWN,
    Verdict.FORBIDDEN: Standing.BROKEN,
}
_INDEPENDENT = ("torch_npu", "triton")
"""The components that are judged even where there is no CANN."""

_FRAMEWORKS = ("torch-npu", "mindspore")


def judge_versions(
    found: ImageFacts,
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
        target = _as_target(found, config, found.cann, compat, known)
        findings = [each for each in judge(target, compat) if _is_about(each, found)]
        yield from _results(findings, target, compat)
        if not found.cann.operators:
            text = f"{found.cann.folder} has no operator kernels; the NPU cannot compute without."
            yield Result(check="compat/kernels", standing=Standing.UNKNOWN, text=text)
        return
    text = "There is no CANN toolkit in the image. It may be meant to be mounted."
    yield Result(check="compat/toolkit", standing=Standing.NOT_OURS, text=text)
    stand_in = _some_cann(compat)
    target = _as_target(found, config, stand_in, compat, known)
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


def _nothing_ascend(found: ImageFacts) -> Result:
    text = "There is neither CANN nor torch_npu nor MindSpore in the image."
    if found.by_shell:
        text = "There is no Python and no CANN in the image."
    return Result(check=NOT_ASCEND, standing=Standing.NOT_OURS, text=text)


def _twice(found: ImageFacts) -> Iterator[Result]:
    for name in ("torch", "torch-npu", "mindspore"):
        if len({*found.twice.get(name, ())}) > 1:
            versions = " and ".join(found.twice[name])
            yield broken(
                f"compat/{name}",
                f"{name} is installed twice, as {versions}; the first on sys.path is loaded.",
                "Remove one of them.",
            )
    own = found.torch_file.partition("+")[0]
    told = found.versions.get("torch", "").partition("+")[0]
    if own and told and own != told:
        text = f"The files of torch are those of {own}, and its metadata says {told}."
        yield broken("compat/torch", text, "Install torch again, with pip's --force-reinstall.")


def _is_about(finding: Finding, found: ImageFacts) -> bool:
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


_FILE = File(name="installed.run", origin="")
_ARCHIVE = File(name="installed.tar.gz", origin="")
_SYSTEM = Distribution(
    name="",
    package_manager=PackageManager.APT,
    packages={},
    site_packages="",
    native_python=False,
)
"""The rules for bases are about matrix.yaml's, and what they say is left out."""

_INDEX = TorchIndex(name="image", url="", local="")
"""Where the torch of an image is from cannot be seen."""

_FULL = 3


def _as_target(
    found: ImageFacts,
    config: ImageConfig,
    cann: Cann,
    compat: Compat,
    known: Mapping[str, CannRelease],
) -> Target:
    """The contents of an image as a target.

    ``known`` are the releases of matrix.yaml, for the public release that an interim one is like.
    Files, which an image does not show any more, have names that no rule is about.
    """
    chip = cann.chips[0] if cann.chips else ""
    versions = {cann.toolkit, cann.kernels, cann.nnal} - {""}
    releases = {each: _release(each, cann.layout, chip, known) for each in versions}
    base = _base(found)
    return Target(
        id=config.reference,
        summary="",
        platform=config.platform,
        base=base,
        build_base=base,
        python=_python_of(found),
        cann=releases[cann.toolkit],
        kernels_release=releases.get(cann.kernels),
        nnal_release=releases.get(cann.nnal),
        chip=chip,
        with_nnal=bool(cann.nnal),
        torch=_public(found.versions.get("torch", "")),
        torch_index=_INDEX,
        torch_npu=_torch_npu_version(found, compat),
        apex=_wheel(found, "apex"),
        deepspeed=_public(found.versions.get("deepspeed", "")),
        deepspeed_plugin=_wheel(found, "deepspeed-npu"),
        extras=dict(_installed(found, EXTRAS)),
        requirements=tuple(_requirements(found, compat)),
        span=Span(file=config.reference, line=1, column=1),
    )


def _wheel(found: ImageFacts, package: str) -> VendorWheel | None:
    """A wheel that ``package`` may have been installed from; None if it is not installed."""
    if not (version := found.versions.get(package)):
        return None
    file = f"{package.replace('-', '_')}-{version}-py3-none-any.whl"
    return VendorWheel(version=version, file=file, origin="")


def _base(found: ImageFacts) -> Base:
    named = re.fullmatch(r"glibc ([0-9]+\.[0-9]+)", found.libc, re.ASCII)
    glibc = named[1] if named else ""
    return Base(name="image", image="", suite="", glibc=glibc, distribution=_SYSTEM)


def _release(
    version: str, layout: Layout, chip: str, known: Mapping[str, CannRelease]
) -> CannRelease:
    public = known[version].nearest_public if version in known else ""
    return CannRelease(
        version=version,
        layout=layout,
        interim=bool(public) and public != version,
        nearest_public=public or version,
        packages=dict.fromkeys(
            MACHINE_OF.values(), CannPackages(toolkit=_FILE, kernels={chip: _FILE}, nnal=_FILE)
        ),
        requirements=(),
    )


def _python_of(found: ImageFacts) -> Python:
    """The interpreter that ``python3`` starts, with an archive that no rule is about."""
    version = found.python or "0.0.0"
    archives = dict.fromkeys(MACHINE_OF.values(), _ARCHIVE)
    return Python(name=version, version=version, source=PythonSource.STANDALONE, archives=archives)


def _torch_npu_version(found: ImageFacts, compat: Compat) -> str:
    """The torch_npu of the image; without a local part, unless a row names it with that part."""
    text = found.versions.get("torch-npu", "")
    return text if any(row.torch_npu == text for row in compat.pairings) else _public(text)


def _public(text: str) -> str:
    """``text`` as sources write it; empty if it is no full version, as of a build from a commit."""
    try:
        version = Version(text)
    except InvalidVersion:
        return ""
    return version.public if len(version.release) >= _FULL else ""


def _requirements(found: ImageFacts, compat: Compat) -> Iterator[str]:
    """Each installed package that some row is about, as a requirement for its version.

    Without those for which a target has keys of their own, which its other fields name.
    """
    named = {normal_name(row.package) for row in compat.packages}
    for row in compat.packages:
        for condition in (row.requirement, row.without):
            named |= {normal_name(condition.name)} if condition else set()
    named |= {"mindspore", "vllm-ascend"}
    others = sorted(named - {"apex", *EXTRAS.values()})
    return (f"{name}=={version}" for name, version in _installed(found, {n: n for n in others}))


def _installed(found: ImageFacts, packages: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Those of ``packages``, name to package, that are installed, with their versions."""
    for name, package in packages.items():
        with suppress(InvalidVersion):
            yield name, str(Version(found.versions.get(package, "")))
