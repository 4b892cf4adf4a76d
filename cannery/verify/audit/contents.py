# SPDX-License-Identifier: Apache-2.0
"""Checks of an image's contents and versions, and of the parts that it inherited. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version

from cannery.common.model import MACHINE_OF, CannRelease, chip_named
from cannery.common.specifiers import normal_name, parse_requirement
from cannery.compat.facts import Compat
from cannery.image.environment import CONSTRAINT_VARIABLES
from cannery.verify.audit.facts import Cann, ImageConfig, ImageFacts, Origin
from cannery.verify.audit.report import Result, Standing, broken, passed
from cannery.verify.audit.versions import judge_versions

_NEEDED = ("ASCEND_HOME_PATH", "ASCEND_OPP_PATH", "LD_LIBRARY_PATH", "PYTHONPATH")
"""The variables without which torch_npu or CANN's compiler does not start."""

_TAG_CHIP = re.compile(
    r"(?:(?<=[-_.:/])|^)(910b[1-4]?|910c|910_93|910a?|a[235]|310[bp]|950)(?=[-_.]|$)", re.IGNORECASE
)
_FOR_A2 = re.compile(r"(?:^|/)ascend/vllm-ascend:v\d[^-]*(?:-openeuler)?$", re.IGNORECASE)
"""vllm-ascend's own tags name each chip but A2's (its docs/source/installation.md, 182b75e)."""


def judge_image(
    facts: ImageFacts,
    config: ImageConfig,
    compat: Compat,
    known: Mapping[str, CannRelease],
    chip: str = "",
) -> tuple[Result, ...]:
    """The results of all checks that need no more than the facts.

    ``known`` are the releases of matrix.yaml, ``chip`` is the one that the image must be for.
    """
    return (
        *judge_inherited(facts, config),
        *judge_versions(facts, config, compat, known),
        *_system(facts, config),
        *_triton(facts),
        *(_cann(facts, facts.cann, config, compat, chip) if facts.cann else ()),
    )


def _system(facts: ImageFacts, config: ImageConfig) -> Iterator[Result]:
    machine = MACHINE_OF.get(config.architecture, config.architecture)
    arches = facts.cann.arches if facts.cann else ()
    if arches and machine not in arches:
        yield broken(
            "cann/architecture",
            f"The image is for {machine}, and its CANN for {' and '.join(arches)}.",
            f"Install the packages of CANN for {machine}.",
        )
    if facts.driver:
        named = ", ".join(facts.driver[:3]) + (" ..." if len(facts.driver) > 3 else "")
        yield broken(
            "driver/baked-in",
            f"The image has files of a host's driver: {named}. They must be of the same "
            "version as the driver of the host, which mounts its own.",
            "Remove them from the image; mount the host's driver.",
        )
    else:
        yield passed("driver/baked-in", "The image has no files of a host's driver.")
    if facts.other_pythons and not {"torch-npu", "mindspore"} & facts.versions.keys():
        path, packages = next(iter(facts.other_pythons.items()))
        yield broken(
            "environment/python",
            f"python3 is {facts.interpreter}, and {' and '.join(packages)} belong to {path}.",
            f"Put its folder first: ENV PATH={path.rpartition('/')[0]}:$PATH",
        )


def _triton(facts: ImageFacts) -> Iterator[Result]:
    if not {"triton", "triton-ascend"} <= facts.versions.keys():
        return
    foreign = facts.triton.get("triton", 0)
    if foreign:
        yield broken(
            "packages/triton",
            f"triton {facts.versions['triton']} was installed over triton-ascend "
            f"{facts.versions['triton-ascend']}: {foreign} files of the module triton are not "
            "triton-ascend's.",
            "Remove triton, and install triton-ascend again, as the last package.",
            sources=("vllm-ascend#7359, #7497, #7790, #8239", "triton-ascend#306, #395"),
        )
    elif facts.triton:
        yield passed("packages/triton", "The files of the module triton are triton-ascend's.")


def _cann(
    facts: ImageFacts, cann: Cann, config: ImageConfig, compat: Compat, chip: str
) -> Iterator[Result]:
    yield _cann_environment(facts, cann)
    yield from _parts(cann)
    yield from _files(cann)
    if cann.operators:
        yield _kernels(cann, config, chip)
    if facts.python and not facts.by_shell:
        yield _python_packages(facts, compat)
    for name, attempt in facts.cann_programs.items():
        program = "atc, CANN's compiler of models," if name == "atc" else f"CANN's module {name}"
        if attempt.code == 0:
            yield passed(f"cann/{name}", f"{program} starts.")
            continue
        module = re.search(r"No module named '([\w.]+)'", attempt.output)
        yield broken(
            f"cann/{name}",
            f"{program} does not start: {attempt.last_line}",
            f"Install the Python package with the module {module[1]}." if module else "",
            sources=("cann-container-image#70",),
        )


def _cann_environment(facts: ImageFacts, cann: Cann) -> Result:
    missing = [name for name in _NEEDED if "/Ascend" not in facts.environment.get(name, "")]
    missing = [name for name in missing if cann.folder not in facts.environment.get(name, "")]
    if not missing:
        text = "ENV has the variables of CANN, so commands without a login shell have them, too."
        return passed("environment/cann", text)
    fix = f"Set in the Dockerfile, with ENV, what {next(iter(cann.set_env), 'set_env.sh')} sets."
    if not facts.shell_files:
        return broken("environment/cann", f"Nothing sets {', '.join(missing)}.", fix)
    path, lines = next(iter(facts.shell_files.items()))
    return broken(
        "environment/shell-only",
        f"ENV lacks {', '.join(missing)}; only {path} sets them ({lines[0]!r}), which "
        "'docker exec', Kubernetes and platforms that start a command do not read.",
        fix,
        sources=("vllm-ascend#9141, #12059, #14955",),
    )


def _parts(cann: Cann) -> Iterator[Result]:
    others = {path: release for path, release in cann.parts.items() if release != cann.toolkit}
    others = {path: release for path, release in others.items() if release}
    if cann.toolkit and others:
        path, release = next(iter(others.items()))
        yield broken(
            "cann/parts",
            f"The toolkit says that it is {cann.toolkit}, and {path} that it is {release}.",
            "Install toolkit and kernels of one release into an empty folder.",
        )


def _files(cann: Cann) -> Iterator[Result]:
    """Of the files that the packages' own lists name, as 'dpkg -V' compares them."""
    lacking = [each for each in cann.lists if each.count]
    for each in lacking:
        named = ", ".join(each.missing[:3]) + (" ..." if each.count > 3 else "")
        text = f"{each.count:,} of {each.files:,} files in {each.path} are missing: {named}."
        if each.few:
            text += " The list may be wrong."
            yield Result(check="cann/files", standing=Standing.NOTE, text=text)
        else:
            yield broken("cann/files", text, "Install the package again: it was half installed.")
    for each in cann.lists:
        if each.changed:
            text = f"{', '.join(each.changed)} was edited after it was installed."
            yield Result(check="cann/files", standing=Standing.NOTE, text=text)
    if cann.lists and not lacking:
        count = sum(each.files for each in cann.lists)
        text = f"All {count:,} files that CANN's packages list are there."
        yield passed("cann/files", text)


def _kernels(cann: Cann, config: ImageConfig, chip: str) -> Result:
    tagged = [*dict.fromkeys(each.lower() for each in _TAG_CHIP.findall(config.reference))]
    if not tagged and _FOR_A2.search(config.reference):
        tagged = ["a2"]
    if chip:
        named, source = chip, "--chip"
    elif label := config.label("chip"):
        named, source = label, "its label io.cannery.chip"
    else:
        named, source = " and ".join(tagged), "its name"
    chips = ", ".join(cann.chips)
    if not named:
        text = f"The operator kernels are for chip {chips}. Nothing says which chip is meant."
        fix = "Name it with --chip."
        return Result(check="kernels/chip", standing=Standing.NOT_OURS, text=text, fix=fix)
    # People write A5 and 910C where CANN has kernels for 950 and A3.
    if {chip_named(each) for each in (tagged if source == "its name" else [named])} & {*cann.chips}:
        text = f"There are operator kernels for chip {named}, as {source} says."
        return passed("kernels/chip", text)
    return broken(
        "kernels/chip",
        f"The operator kernels are for chip {chips}, and {source} says {named}.",
        f"Install the kernels for {named}, or use the image on {chips} only.",
    )


_PARTS_NEED = {"dataflow": "jinja2"}
"""A package of CANN's own to what it alone imports (dataflow/tools/tpl of an installed 8.1.RC1)."""


def _python_packages(facts: ImageFacts, compat: Compat) -> Result:
    """Of the packages that CANN's own Python parts import."""
    names = [parse_requirement(text).name for text in compat.cann_python.requirements]
    names += [needed for part, needed in _PARTS_NEED.items() if part in facts.versions]
    missing = [name for name in names if normal_name(name) not in facts.versions]
    if not missing:
        text = "The Python packages that CANN's own programs use are installed."
        return passed("cann/python-packages", text)
    codes = {attempt.code for attempt in facts.cann_programs.values()}
    standing, seen = Standing.UNKNOWN, "and there is none of them here to try"
    if codes - {0}:
        standing, seen = Standing.BROKEN, "and not all of them start"
    elif codes:
        standing, seen = Standing.NOTE, "but they start"
    return Result(
        check="cann/python-packages",
        standing=standing,
        text=f"Python packages that CANN's own programs use are missing, {seen}: "
        f"{', '.join(missing)}.",
        fix=f"pip install {' '.join(missing)}",
        sources=(compat.cann_python.cited, "cann-container-image#70"),
    )


_COMPILED_FOR_EACH_OTHER = ("torch", "torch-npu", "mindspore")


def judge_inherited(facts: ImageFacts, config: ImageConfig) -> Iterator[Result]:
    """The checks of the parts that an image of cannery's, or one made from it, must still have."""
    if config.origin is Origin.FOREIGN:
        return
    record = facts.own_record
    if not record:
        yield Result(
            check="inherited/record",
            standing=Standing.NOT_OURS,
            text=f"The labels name target {config.label('target')}, but its record is not in the "
            "image, so nothing can be compared with it.",
        )
        return
    yield from _frameworks(facts, record)
    yield _constraints(facts, record)
    yield _guard(facts, record)
    yield _environment(facts, record)
    minor = ".".join(str(record.get("components", {}).get("python", "")).split(".")[:2])
    if facts.python.startswith(f"{minor}."):
        yield passed("inherited/python", f"python3 is still the Python {minor} of the image.")
    else:
        yield broken(
            "inherited/python",
            f"python3 is {facts.interpreter} ({facts.python}), and the image's is Python {minor}.",
            "Put the folder of the other Python behind the image's in PATH.",
        )


def _frameworks(facts: ImageFacts, record: Mapping[str, Any]) -> Iterator[Result]:
    vendor = {normal_name(name): text for name, text in record.get("vendor_wheels", {}).items()}
    wheels = {**vendor, **record.get("wheels", {})}
    for name in _COMPILED_FOR_EACH_OTHER:
        before, now = str(wheels.get(name, "")), facts.versions.get(name, "")
        if not before:
            continue
        if _fits(f"{name}=={before}", now):
            text = f"{name} {before} is still the one of the image."
            yield passed(f"inherited/{name}", text)
            continue
        change = f"{name} {before} was removed"
        if now:
            change = f"{name} {now} has replaced {name} {before}"
        yield broken(
            f"inherited/{name}",
            f"{change}, which CANN and the other packages of the image were built for.",
            "Remove from the Dockerfile what replaces it, or build FROM another image.",
        )


def _fits(requirement: str, now: str) -> bool:
    """Whether the version ``now`` fits; ``==2.9.0`` admits 2.9.0+cpu, but not the reverse."""
    try:
        return Requirement(requirement).specifier.contains(Version(now), prereleases=True)
    except (InvalidRequirement, InvalidVersion):
        return False


def _constraints(facts: ImageFacts, record: Mapping[str, Any]) -> Result:
    changed = []
    pinned = [str(text) for text in record.get("held", ())]
    for text in pinned:
        with suppress(InvalidRequirement):
            now = facts.versions.get(normal_name(Requirement(text).name), "")
            if not _fits(text, now):
                changed.append(f"{text} is {now} now" if now else f"{text} is not installed")
    if not changed:
        text = f"All {len(pinned)} versions that the image holds are kept."
        return passed("inherited/constraints", text)
    return broken(
        "inherited/constraints",
        f"Versions that the image holds have changed: {'; '.join(changed)}.",
        "Install with PIP_CONSTRAINT set, as the image sets it.",
    )


def _guard(facts: ImageFacts, record: Mapping[str, Any]) -> Result:
    unset = [n for n, path in CONSTRAINT_VARIABLES.items() if facts.environment.get(n) != path]
    if unset:
        return Result(
            check="inherited/guard",
            standing=Standing.NOTE,
            text=f"{' and '.join(unset)} is not set any more, so a later pip install may replace "
            "torch.",
            fix="Leave out what unsets it at the end of the Dockerfile.",
        )
    lines = {line.partition("  # ")[0].strip() for line in facts.constraints.splitlines()}
    if removed := [line for line in record.get("held", ()) if line not in lines]:
        return broken(
            "inherited/guard",
            f"The file of constraints lacks {', '.join(removed)}.",
            "Restore it; unset PIP_CONSTRAINT for the one command that must go against it.",
        )
    return passed("inherited/guard", "pip and uv still read the constraints of the image.")


def _environment(facts: ImageFacts, record: Mapping[str, Any]) -> Result:
    wrong = []
    for name, value in dict(record.get("environment", {})).items():
        now = facts.environment.get(name)
        if name.endswith("PATH") and ":" in str(value):
            folders = (now or "").split(":")
            lacks = [folder for folder in str(value).split(":") if folder not in folders]
            wrong += [f"{name} lacks {', '.join(lacks[:3])}"] if lacks else []
        elif now != value:
            wrong.append(f"{name} is {now!r} and was {value!r}" if now else f"{name} is not set")
    if not wrong:
        return passed("inherited/environment", "The environment of CANN is unchanged.")
    more = f", and {len(wrong) - 3} more" if len(wrong) > 3 else ""
    return broken(
        "inherited/environment",
        f"The environment of CANN has changed: {'; '.join(wrong[:3])}{more}.",
        "Extend variables, as in ENV PATH=/opt/mine/bin:$PATH, and do not replace them.",
    )
