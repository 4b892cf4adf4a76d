# SPDX-License-Identifier: Apache-2.0
"""Whether the wheels that no index serves are those that the target needs, by their file names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from cannery.common.bases import Python
from cannery.common.model import Target
from cannery.common.outside import whole_number
from cannery.common.specifiers import normal_name
from cannery.common.wheels import OLD_PLATFORMS, VendorWheel
from cannery.compat.finding import Finding, Place, Subject, Verdict

_SECTIONS = {
    "torch": "torch_wheels",
    "torch_npu": "torch_npu_wheels",
    "apex": "apex",
    "deepspeed": "deepspeed_wheels",
    "deepspeed_plugin": "deepspeed_plugins",
    "triton_ascend": "triton_ascend_wheels",
}
"""Component to the section of matrix.yaml that declares its wheel."""

_NAMES = {"deepspeed_plugin": "deepspeed_npu"}
"""Component to the name of its package, where that is another one."""


def judge_wheels(subject: Subject) -> Iterator[Finding]:
    """One finding for each file whose own name says that it is not the wheel that is needed."""
    target = subject.target
    for component, wheel in target.vendor_wheels.items():
        name = target.artifacts[component].name
        if wrong := _wrong(subject, component, wheel, name):
            yield Finding(
                component=component,
                verdict=Verdict.FORBIDDEN,
                text=f"{wheel.file} cannot be the wheel of {component}: {wrong}.",
                key=component if component in _SECTIONS else "application",
                place=_place(subject, component, wheel),
                fix="Correct the file name, in which {tag}, {abi} and {machine} are filled in.",
            )


def _place(subject: Subject, component: str, wheel: VendorWheel) -> Place:
    if section := _SECTIONS.get(component):
        # A plugin is declared under the version of the DeepSpeed that it is for.
        return section, wheel.version, "file"
    assert subject.target.application
    return "applications", subject.target.application.name, "wheels", component, "file"


def _wrong(subject: Subject, component: str, wheel: VendorWheel, file: str) -> str:
    try:
        name, version, _, tags = parse_wheel_filename(file)
    except InvalidWheelFilename:
        return "it is not named as a wheel is, as in name-1.0-py3-none-any.whl"
    target = subject.target
    expected = normal_name(_NAMES.get(component, component))
    if name != expected:
        return f"it is a wheel of {name}"
    if not _is_version(version, component, wheel, subject):
        return f"it is version {version}, and {wheel.version} is declared"
    return _wrong_tags(target, tags)


def _wrong_tags(target: Target, tags: Collection[Tag]) -> str:
    """What the tags of a wheel say against the target's Python, machine and glibc."""
    if not any(_for_python(tag, target.python) for tag in tags):
        made_for = ", ".join(sorted({f"{tag.interpreter}-{tag.abi}" for tag in tags}))
        return f"it is for {made_for} only, and the target has another Python"
    glibcs = [_glibc(tag.platform, target.machine) for tag in tags]
    if not any(glibcs):
        made_for = ", ".join(sorted({tag.platform for tag in tags}))
        return f"it is for {made_for}, and the target's machine is {target.machine}"
    oldest = min(glibc for glibc in glibcs if glibc)
    if oldest > tuple(map(int, re.findall(r"[0-9]+", target.base.glibc))):
        needed = ".".join(map(str, oldest))
        return f"it needs glibc {needed}, and base {target.base.name} has {target.base.glibc}"
    return ""


def _is_version(version: Version, component: str, wheel: VendorWheel, subject: Subject) -> bool:
    """Whether the file has the declared version, as far as the declaration is about the file."""
    if component == "deepspeed_plugin":
        return True
    application = subject.target.application
    if component not in _SECTIONS and application and component != application.component:
        return True
    try:
        declared = Version(wheel.version)
    except InvalidVersion:
        return False
    # A build that is declared as 0.7.3 may be called 0.7.3+empty.
    return version == declared or (declared.local is None and version.public == str(declared))


def _for_python(tag: Tag, python: Python) -> bool:
    digits = python.minor.replace(".", "")
    if tag.abi == "abi3":
        number = tag.interpreter.removeprefix("cp3")
        return whole_number(number, int(digits[1:])) is not None
    interpreters = {python.tag, f"py{digits}", "py3"}
    return tag.interpreter in interpreters and tag.abi in (python.abi, "none")


def _glibc(platform: str, machine: str) -> tuple[int, ...] | None:
    """The oldest glibc that a wheel for ``platform`` runs with; None on another machine."""
    if platform == "any":
        return (0,)
    name, _, rest = platform.partition("_")
    if match := re.fullmatch(rf"manylinux_([0-9]+)_([0-9]+)_{machine}", platform):
        return int(match[1]), int(match[2])
    if rest != machine:
        return None
    return (0,) if name == "linux" else OLD_PLATFORMS.get(name)
