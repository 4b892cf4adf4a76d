# SPDX-License-Identifier: Apache-2.0
"""Judges the versions in an image by the rules for targets. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from packaging.version import InvalidVersion, Version

from cannery.common.bases import Base, Distribution, File, PackageManager, Python, PythonSource
from cannery.common.errors import Span
from cannery.common.model import EXTRAS, MACHINE_OF, CannPackages, CannRelease, Target
from cannery.common.specifiers import normal_name
from cannery.common.wheels import TorchIndex, VendorWheel
from cannery.compat.facts import Compat, Wheels
from cannery.compat.finding import Finding, Verdict
from cannery.compat.nearest import nearest
from cannery.compat.rules import judge
from cannery.verify.audit.facts import Cann, ImageConfig, ImageFacts
from cannery.verify.audit.report import NOT_ASCEND, Result, Standing, broken

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


def judge_versions(
    facts: ImageFacts,
    config: ImageConfig,
    compat: Compat,
    known: Mapping[str, CannRelease],
) -> Iterator[Result]:
    """One result for each component that the rules say something about."""
    if not {"torch-npu", "mindspore"} & facts.versions.keys() and not facts.cann:
        text = "There is neither CANN nor torch_npu nor MindSpore in the image."
        if facts.by_shell:
            text = "There is no Python and no CANN in the image."
        yield Result(check=NOT_ASCEND, standing=Standing.NOT_OURS, text=text)
        return
    yield from _installed_twice(facts)
    # Any release, for findings that do not depend on it.
    release = str(compat.pairings[0].cann) if compat.pairings else "9.1.0"
    target = _as_target(facts, config, facts.cann or Cann(toolkit=release), compat, known)
    # An image may have a wheel that no index has.
    findings = [
        finding
        for finding in judge(target, compat)
        if not (finding.rows and isinstance(finding.rows[0], Wheels))
        or finding.verdict is Verdict.ALLOWED
    ]
    if facts.cann:
        findings = [finding for finding in findings if _is_about(finding, facts)]
    else:
        text = "There is no CANN toolkit in the image. It may be meant to be mounted."
        yield Result(check="compat/toolkit", standing=Standing.NOT_OURS, text=text)
        findings = [
            finding
            for finding in findings
            if finding.component in _INDEPENDENT and finding.verdict is Verdict.FORBIDDEN
        ]
    yield from _results(findings, target, compat)
    if facts.cann and not facts.cann.operators:
        text = f"{facts.cann.folder} has no operator kernels; the NPU cannot compute without."
        yield Result(check="compat/kernels", standing=Standing.UNKNOWN, text=text)


_FRAMEWORKS = ("torch", "torch-npu", "mindspore")


def _installed_twice(facts: ImageFacts) -> Iterator[Result]:
    for name, places in facts.distributions.items():
        by_folder: dict[str, list[str]] = {}
        for version, folder in places:
            by_folder.setdefault(folder, []).append(version)
        mixed = {folder: versions for folder, versions in by_folder.items() if versions[1:]}
        for folder, versions in mixed.items():
            files = name.replace("-", "_")
            text = f"{name} is installed twice, as {' and '.join(versions)}, both in {folder}: a "
            text += "wheel was unpacked over another, or an older one's metadata was left."
            fix = f"rm -r {folder}/{files} {folder}/{files}-*.dist-info; then pip install "
            fix += f"--force-reinstall --no-deps {name}==VERSION"
            standing = Standing.BROKEN if name in _FRAMEWORKS else Standing.NOTE
            yield Result(check=f"compat/{name}", standing=standing, text=text, fix=fix)
        versions = [*dict.fromkeys(version for version, _ in places)]
        if name in _FRAMEWORKS and not mixed and versions[1:]:
            text = f"{name} is installed twice, as {' and '.join(versions)}; the first on sys.path "
            yield broken(f"compat/{name}", f"{text}is loaded.", "Remove one of them.")
    file = facts.torch_file.partition("+")[0]
    metadata = facts.versions.get("torch", "").partition("+")[0]
    if file and metadata and file != metadata:
        text = f"The files of torch are those of {file}, and its metadata says {metadata}."
        yield broken("compat/torch", text, "Install torch again, with pip's --force-reinstall.")


def _is_about(finding: Finding, facts: ImageFacts) -> bool:
    """Whether ``finding`` is about what an image shows, and not about how matrix.yaml has it."""
    if finding.component in ("base", "driver") or finding.place[-1:] == ("file",):
        return False
    if finding.component == "kernels" and facts.cann and not facts.cann.operators:
        return False
    # A requirement that is missing in matrix.yaml; in an image, that the package is not there.
    is_missing = finding.key == "requirements" and finding.verdict is Verdict.FORBIDDEN
    return not (is_missing and normal_name(finding.component) not in facts.versions)


def _results(findings: Iterable[Finding], target: Target, compat: Compat) -> Iterator[Result]:
    known = ""
    for finding in findings:
        text, fix, standing = finding.text, finding.fix, _STANDINGS[finding.verdict]
        if fix.startswith("Write "):
            fix = "Install " + fix.removeprefix("Write ")
        if finding.verdict is Verdict.ALLOWED:
            fix = ""
        if finding.against:
            text += f" Against it: {finding.against[0].cited}."
        if finding.pairs and standing in (Standing.BROKEN, Standing.UNKNOWN) and not known:
            known = "; or ".join(map(str, nearest(target, compat)))
            fix = f"{fix} Nearest known: {known}.".strip() if known else fix.strip()
        yield Result(
            check=f"compat/{finding.component}",
            standing=standing,
            text=text,
            fix=fix,
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
"""The rules for bases are about matrix.yaml's, and their findings are left out."""


def _as_target(
    facts: ImageFacts,
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
    packages = CannPackages(toolkit=_FILE, kernels={chip: _FILE}, nnal=_FILE)
    releases = {}
    for version in {cann.toolkit, cann.kernels, cann.nnal} - {""}:
        public = known[version].nearest_public if version in known else ""
        releases[version] = CannRelease(
            version=version,
            layout=cann.layout,
            interim=bool(public) and public != version,
            nearest_public=public or version,
            packages=dict.fromkeys(MACHINE_OF.values(), packages),
            requirements=(),
        )
    glibc = re.fullmatch(r"glibc ([0-9]+\.[0-9]+)", facts.libc, re.ASCII)
    libc = glibc[1] if glibc else ""
    base = Base(name="image", image="", suite="", glibc=libc, distribution=_SYSTEM)
    python = facts.python or "0.0.0"
    # A local part of torch_npu only where a row has one.
    torch_npu = facts.versions.get("torch-npu", "")
    if all(row.torch_npu != torch_npu for row in compat.pairings):
        torch_npu = _public(torch_npu)
    return Target(
        id=config.reference,
        summary="",
        platform=config.platform,
        base=base,
        build_base=base,
        python=Python(
            name=python,
            version=python,
            source=PythonSource.STANDALONE,
            archives=dict.fromkeys(MACHINE_OF.values(), _ARCHIVE),
        ),
        cann=releases[cann.toolkit],
        kernels_release=releases.get(cann.kernels),
        nnal_release=releases.get(cann.nnal),
        chip=chip,
        with_nnal=bool(cann.nnal),
        torch=_public(facts.versions.get("torch", "")),
        torch_index=TorchIndex(name="image", url="", local=""),
        torch_npu=torch_npu,
        apex=_wheel(facts, "apex"),
        deepspeed=_public(facts.versions.get("deepspeed", "")),
        deepspeed_plugin=_wheel(facts, "deepspeed-npu"),
        extras=dict(_installed(facts, EXTRAS)),
        requirements=tuple(_requirements(facts, compat)),
        span=Span(file=config.reference, line=1, column=1),
    )


def _wheel(facts: ImageFacts, package: str) -> VendorWheel | None:
    """A wheel that ``package`` may have been installed from; None if it is not installed."""
    if not (version := facts.versions.get(package)):
        return None
    file = f"{package.replace('-', '_')}-{version}-py3-none-any.whl"
    return VendorWheel(version=version, file=file, origin="")


def _public(text: str) -> str:
    """``text`` as sources write it; empty if it is no full version, as of a build from a commit."""
    try:
        version = Version(text)
    except InvalidVersion:
        return ""
    return version.public if len(version.release) >= 3 else ""


def _requirements(facts: ImageFacts, compat: Compat) -> Iterator[str]:
    """Each installed package that a row is about, as a requirement for its version.

    Without those that other fields of a target name.
    """
    named = {normal_name(row.package) for row in compat.packages}
    for row in compat.packages:
        for condition in (row.requirement, row.without):
            named |= {normal_name(condition.name)} if condition else set()
    named |= {"mindspore", "vllm-ascend"}
    others = sorted(named - {"apex", *EXTRAS.values()})
    return (f"{name}=={version}" for name, version in _installed(facts, {n: n for n in others}))


def _installed(facts: ImageFacts, packages: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Those of ``packages``, name to package, that are installed, with their versions."""
    for name, package in packages.items():
        with suppress(InvalidVersion):
            yield name, str(Version(facts.versions.get(package, "")))
