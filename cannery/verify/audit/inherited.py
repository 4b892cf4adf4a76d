# SPDX-License-Identifier: Apache-2.0
"""Whether an image that was made FROM one of cannery's still has what it inherited."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version

from cannery.common.specifiers import normal_name
from cannery.image.environment import CONSTRAINT_VARIABLES
from cannery.verify.audit.found import Found, ImageConfig, Origin
from cannery.verify.audit.result import Result, Standing, broken, passed

_COMPILED_FOR_EACH_OTHER = ("torch", "torch-npu", "mindspore")
_INSTALL_AGAIN = "Remove from the Dockerfile what replaces it, or build FROM another image."


def judge_inherited(found: Found, config: ImageConfig) -> Iterator[Result]:
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
    yield from _environment(found, record)
    yield _interpreter(found, record)


def _frameworks(found: Found, record: Mapping[str, Any]) -> Iterator[Result]:
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


def _constraints(found: Found, record: Mapping[str, Any]) -> Iterator[Result]:
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


def _guard(found: Found, record: Mapping[str, Any]) -> Iterator[Result]:
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


def _environment(found: Found, record: Mapping[str, Any]) -> Iterator[Result]:
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


def _interpreter(found: Found, record: Mapping[str, Any]) -> Result:
    minor = ".".join(str(record.get("components", {}).get("python", "")).split(".")[:2])
    if found.python.startswith(f"{minor}."):
        text = f"python3 is still the Python {minor} of the image."
        return passed("inherited/python", text)
    return broken(
        "inherited/python",
        f"python3 is {found.interpreter} ({found.python}), and the image's is Python {minor}.",
        "Put the folder of the other Python behind the image's in PATH.",
    )
