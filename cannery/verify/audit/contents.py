# SPDX-License-Identifier: Apache-2.0
"""What is wrong with an image: with its contents, its versions, and what it inherited."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version

from cannery.common.model import MACHINE_OF, CannRelease
from cannery.common.specifiers import normal_name, parse_requirement
from cannery.compat.facts import Compat
from cannery.image.environment import CONSTRAINT_VARIABLES
from cannery.verify.audit.found import Cann, ImageConfig, ImageFacts, Origin
from cannery.verify.audit.result import Result, Standing, broken, passed
from cannery.verify.audit.versions import judge_versions

ENV_ONLY = "vllm-ascend#9141, #12059, #14955"
_NEEDED = ("ASCEND_HOME_PATH", "ASCEND_OPP_PATH", "LD_LIBRARY_PATH", "PYTHONPATH")
"""The variables without which torch_npu or CANN's compiler does not start."""

_TAG_CHIP = re.compile(r"(?:^|[-_.:/])(910b|a3|310p|910c|950|a5)(?:[-_.]|$)", re.IGNORECASE)


def judge_image(
    found: ImageFacts,
    config: ImageConfig,
    compat: Compat,
    known: Mapping[str, CannRelease],
    chip: str = "",
) -> tuple[Result, ...]:
    """The results of all checks that need no more than the facts.

    ``known`` are the releases of matrix.yaml, ``chip`` is the one that the image must be for.
    """
    return (
        *judge_inherited(found, config),
        *judge_versions(found, config, compat, known),
        *_judge_contents(found, config, compat, chip),
    )


def _judge_contents(
    found: ImageFacts, config: ImageConfig, compat: Compat, chip: str
) -> Iterator[Result]:
    """The checks of what is in the image; ``chip`` is the one that it must be for, if known."""
    yield from _architecture(found, config)
    yield from _driver(found)
    yield from _interpreters(found)
    yield from _triton(found)
    if found.cann:
        yield from _cann_environment(found, found.cann)
        yield from _kernels(found.cann, config, chip)
        yield from _python_needs(found, compat)
        yield from _programs(found)


def _architecture(found: ImageFacts, config: ImageConfig) -> Iterator[Result]:
    machine = MACHINE_OF.get(config.architecture, config.architecture)
    arches = found.cann.arches if found.cann else ()
    if arches and machine not in arches:
        yield broken(
            "cann/architecture",
            f"The image is for {machine}, and its CANN for {' and '.join(arches)}.",
            f"Install the packages of CANN for {machine}.",
        )


def _driver(found: ImageFacts) -> Iterator[Result]:
    if found.driver:
        named = ", ".join(found.driver[:3]) + (" ..." if len(found.driver) > 3 else "")
        yield broken(
            "driver/baked-in",
            f"The image has files of a host's driver: {named}. They must be of the same "
            "version as the driver of the host, which mounts its own.",
            "Remove them from the image; mount the host's driver.",
        )
    else:
        text = "The image has no files of a host's driver."
        yield passed("driver/baked-in", text)


def _interpreters(found: ImageFacts) -> Iterator[Result]:
    if found.pythons and not {"torch-npu", "mindspore"} & found.versions.keys():
        path, packages = next(iter(found.pythons.items()))
        yield broken(
            "environment/python",
            f"python3 is {found.interpreter}, and {' and '.join(packages)} belong to {path}.",
            f"Put its folder first: ENV PATH={path.rpartition('/')[0]}:$PATH",
        )


def _triton(found: ImageFacts) -> Iterator[Result]:
    if not {"triton", "triton-ascend"} <= found.versions.keys():
        return
    foreign = found.triton.get("triton", 0)
    if foreign:
        yield broken(
            "packages/triton",
            f"triton {found.versions['triton']} was installed over triton-ascend "
            f"{found.versions['triton-ascend']}: {foreign} files of the module triton are not "
            "triton-ascend's.",
            "Remove triton, and install triton-ascend again, as the last package.",
            sources=("vllm-ascend#7359, #7497, #7790, #8239", "triton-ascend#306, #395"),
        )
    elif found.triton:
        text = "The files of the module triton are those of triton-ascend."
        yield passed("packages/triton", text)


def _cann_environment(found: ImageFacts, cann: Cann) -> Iterator[Result]:
    missing = [name for name in _NEEDED if "/Ascend" not in found.environment.get(name, "")]
    missing = [name for name in missing if cann.folder not in found.environment.get(name, "")]
    if not missing:
        text = "ENV has the variables of CANN, so commands without a login shell have them, too."
        yield passed("environment/cann", text)
        return
    script = next(iter(cann.set_env), "set_env.sh")
    fix = f"Set in the Dockerfile, with ENV, what {script} sets."
    if not found.shell_files:
        yield broken("environment/cann", f"Nothing sets {', '.join(missing)}.", fix)
        return
    path, lines = next(iter(found.shell_files.items()))
    yield broken(
        "environment/shell-only",
        f"ENV lacks {', '.join(missing)}; only {path} sets them ({lines[0]!r}), which "
        "'docker exec', Kubernetes and platforms that start a command do not read.",
        fix,
        sources=(ENV_ONLY,),
    )


def expected_chip(config: ImageConfig) -> tuple[str, str]:
    """The chip that the image says it is for, and where it says so; empty if it does not."""
    if named := config.label("chip"):
        return named, "its label io.cannery.chip"
    match = _TAG_CHIP.search(config.reference)
    return (match[1].lower(), "its name") if match else ("", "")


def _kernels(cann: Cann, config: ImageConfig, chip: str) -> Iterator[Result]:
    named, by = (chip, "--chip") if chip else expected_chip(config)
    if not cann.operators:
        return
    chips = ", ".join(cann.chips)
    if not named:
        text = f"The operator kernels are for chip {chips}. Nothing says which chip is meant."
        fix = "Name it with --chip."
        yield Result(check="kernels/chip", standing=Standing.NOT_OURS, text=text, fix=fix)
    elif named not in cann.chips:
        yield broken(
            "kernels/chip",
            f"The operator kernels are for chip {chips}, and {by} says {named}.",
            f"Install the kernels for {named}, or use the image on {chips} only.",
        )
    else:
        text = f"There are operator kernels for chip {named}, as {by} says."
        yield passed("kernels/chip", text)


def _python_needs(found: ImageFacts, compat: Compat) -> Iterator[Result]:
    """The packages that CANN's own Python parts import."""
    if found.by_shell or not found.python:
        return
    needed = [parse_requirement(text) for text in compat.cann_python.requirements]
    missing = [each.name for each in needed if normal_name(each.name) not in found.versions]
    if missing:
        codes = {each.code for each in found.cann_programs.values()}
        standing = Standing.BROKEN if codes - {0} else Standing.NOTE if codes else Standing.UNKNOWN
        started = {
            Standing.BROKEN: "and not all of them start",
            Standing.NOTE: "but they start",
            Standing.UNKNOWN: "and there is none of them here to try",
        }
        yield Result(
            check="cann/python-packages",
            standing=standing,
            text=f"Python packages that CANN's own programs use are missing, {started[standing]}: "
            f"{', '.join(missing)}.",
            fix=f"pip install {' '.join(missing)}",
            sources=(compat.cann_python.cited, "cann-container-image#70"),
        )
    else:
        text = "The Python packages that CANN's own programs use are installed."
        yield passed("cann/python-packages", text)


def _programs(found: ImageFacts) -> Iterator[Result]:
    for name, each in found.cann_programs.items():
        what = "atc, CANN's compiler of models," if name == "atc" else f"CANN's module {name}"
        if each.code == 0:
            text = f"{what} starts."
            yield passed(f"cann/{name}", _capital(text))
            continue
        module = re.search(r"No module named '([\w.]+)'", each.said)
        fix = f"Install the Python package with the module {module[1]}." if module else ""
        yield broken(
            f"cann/{name}",
            _capital(f"{what} does not start: {each.last_line}"),
            fix,
            sources=("cann-container-image#70",),
        )


def _capital(text: str) -> str:
    return text if text.startswith("atc") else text[:1].upper() + text[1:]


_COMPILED_FOR_EACH_OTHER = ("torch", "torch-npu", "mindspore")
_INSTALL_AGAIN = "Remove from the Dockerfile what replaces it, or build FROM another image."


def judge_inherited(found: ImageFacts, config: ImageConfig) -> Iterator[Result]:
    """The checks of what an image of cannery's, or one made from it, must still have."""
    if config.origin is Origin.FOREIGN:
        return
    record = found.own_record
    if not record:
        yield Result(
            check="inherited/record",
            standing=Standing.NOT_OURS,
            text=f"The labels name target {config.label('target')}, but its record is not in the "
            "image, so nothing can be compared with it.",
        )
        return
    yield from _frameworks(found, record)
    yield from _constraints(found, record)
    yield from _guard(found, record)
    yield from _inherited_environment(found, record)
    yield _interpreter(found, record)


def _frameworks(found: ImageFacts, record: Mapping[str, Any]) -> Iterator[Result]:
    wheels = {str(name): str(version) for name, version in dict(record.get("wheels", {})).items()}
    for name in _COMPILED_FOR_EACH_OTHER:
        own = wheels.get(name, "")
        if not own:
            continue
        now = found.versions.get(name, "")
        if now.partition("+")[0] == own.partition("+")[0]:
            text = f"{name} {own} is still the one of the image."
            yield passed(f"inherited/{name}", text)
        else:
            what = f"{name} {now} has replaced {name} {own}" if now else f"{name} {own} was removed"
            yield broken(
                f"inherited/{name}",
                f"{what}, which CANN and the other packages of the image were built for.",
                _INSTALL_AGAIN,
            )


def _constraints(found: ImageFacts, record: Mapping[str, Any]) -> Iterator[Result]:
    changed = []
    held = [str(each) for each in record.get("held", ())]
    for text in held:
        try:
            wanted = Requirement(text)
        except InvalidRequirement:
            continue
        now = found.versions.get(normal_name(wanted.name), "")
        if not now:
            changed.append(f"{text} is not installed")
        elif not _fits(wanted, now):
            changed.append(f"{text} is {now} now")
    if changed:
        yield broken(
            "inherited/constraints",
            f"Versions that the image holds have changed: {'; '.join(changed)}.",
            "Install with PIP_CONSTRAINT set, as the image sets it.",
        )
    else:
        text = f"All {len(held)} versions that the image holds are kept."
        yield passed("inherited/constraints", text)


def _fits(wanted: Requirement, version: str) -> bool:
    try:
        return wanted.specifier.contains(Version(version), prereleases=True)
    except InvalidVersion:
        return False


def _guard(found: ImageFacts, record: Mapping[str, Any]) -> Iterator[Result]:
    lost = [n for n, path in CONSTRAINT_VARIABLES.items() if found.environment.get(n) != path]
    if lost:
        yield Result(
            check="inherited/guard",
            standing=Standing.NOTE,
            text=f"{' and '.join(lost)} is not set any more, so a later pip install may replace "
            "torch.",
            fix="Leave out what unsets it at the end of the Dockerfile.",
        )
        return
    lines = {line.partition("  # ")[0].strip() for line in found.constraints.splitlines()}
    if gone := [each for each in record.get("held", ()) if each not in lines]:
        yield broken(
            "inherited/guard",
            f"The file of constraints lacks {', '.join(gone)}.",
            "Restore it; unset PIP_CONSTRAINT for the one command that must go against it.",
        )
    else:
        text = "pip and uv still read the constraints of the image."
        yield passed("inherited/guard", text)


def _inherited_environment(found: ImageFacts, record: Mapping[str, Any]) -> Iterator[Result]:
    wrong = []
    for name, value in dict(record.get("environment", {})).items():
        now = found.environment.get(name)
        folders = str(value).split(":") if name.endswith("PATH") and ":" in str(value) else []
        if folders:
            gone = [each for each in folders if each not in (now or "").split(":")]
            wrong += [f"{name} lacks {', '.join(gone[:3])}"] if gone else []
        elif now != value:
            wrong.append(f"{name} is {now!r} and was {value!r}" if now else f"{name} is not set")
    if wrong:
        more = f", and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        yield broken(
            "inherited/environment",
            f"The environment of CANN has changed: {'; '.join(wrong[:3])}{more}.",
            "Extend variables, as in ENV PATH=/opt/mine/bin:$PATH, and do not replace them.",
        )
    else:
        text = "The environment of CANN is unchanged."
        yield passed("inherited/environment", text)


def _interpreter(found: ImageFacts, record: Mapping[str, Any]) -> Result:
    minor = ".".join(str(record.get("components", {}).get("python", "")).split(".")[:2])
    if found.python.startswith(f"{minor}."):
        text = f"python3 is still the Python {minor} of the image."
        return passed("inherited/python", text)
    return broken(
        "inherited/python",
        f"python3 is {found.interpreter} ({found.python}), and the image's is Python {minor}.",
        "Put the folder of the other Python behind the image's in PATH.",
    )
