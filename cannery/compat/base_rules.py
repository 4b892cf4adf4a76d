# SPDX-License-Identifier: Apache-2.0
"""What is known of a target's operating system and of the interpreter that it installs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from cannery.common.bases import Base, Python, PythonSource
from cannery.common.errors import did_you_mean
from cannery.common.model import Target
from cannery.common.outside import whole_number
from cannery.common.references import full_reference
from cannery.common.specifiers import normal_name
from cannery.common.wheels import OLD_PLATFORMS, VendorWheel
from cannery.compat.facts import Suite
from cannery.compat.finding import Finding, Place, Subject, Verdict

_ARCHIVE = re.compile(
    r"cpython-(?P<version>3\.[0-9]+\.[0-9]+)(?:\+[0-9]+)?-(?P<machine>[a-z0-9_]+?)-\S*"
)
"""How python-build-standalone names an archive; the machine ends at the first '-'."""


def judge_base(subject: Subject) -> list[Finding]:
    """The bases, of the image and of the build stage, and the interpreter."""
    target = subject.target
    findings = [
        finding for base in (target.base, target.build_base) for finding in _base(subject, base)
    ]
    unique = {(each.place, each.text): each for each in findings}
    return [*unique.values(), *_interpreter(subject)]


def _base(subject: Subject, base: Base) -> Iterator[Finding]:
    suites = {row.suite: row for row in subject.compat.suites}
    row = suites.get(base.suite)
    if row is None:
        text = f"unknown suite {base.suite!r} of base {base.name}."
        yield _wrong(base, "suite", text, fix=did_you_mean(base.suite, suites))
        return
    if base.distribution.name != row.distribution:
        text = f"{row.suite} is a release of {row.distribution}, not of {base.distribution.name}."
        fix = f"Write distribution: {row.distribution}, or another suite."
        yield _wrong(base, "suite", text, row, fix=fix)
        return
    named = full_reference(base.image)
    distribution, tag = named.repository.rpartition("/")[2], named.tag
    if distribution != row.distribution:
        text = (
            f"base {base.name} is made from image {distribution!r}, and packages of its suite "
            f"{row.suite} are installed in it with {base.distribution.package_manager}."
        )
        fix = f"Take an image of {row.distribution} {row.suite}, or a copy that is named so."
        yield _wrong(base, "image", text, row, fix=fix)
    elif other := _other_suite(tag, row, subject.compat.suites):
        text = f"base {base.name} is image {distribution}:{tag}, which is {other}, not {row.suite}."
        yield _wrong(base, "image", text, row, fix="Make image and suite agree.")
    if base.glibc != row.glibc:
        text = f"{row.suite} has glibc {row.glibc}, not {base.glibc}."
        yield _wrong(base, "glibc", text, row, fix=f"Write {row.glibc}.")


def _other_suite(tag: str, row: Suite, rows: tuple[Suite, ...]) -> str:
    """The suite that ``tag`` names, if that is another one than that of ``row``."""
    named = re.match(r"[a-z]+|[0-9]+(\.[0-9]+)*", tag)
    for other in rows:
        # A point release, as 12.5, is that of its suite.
        is_named = named and (
            named[0] == other.suite or f"{named[0]}.".startswith(f"{other.release}.")
        )
        if is_named and other.distribution == row.distribution:
            return "" if other is row else other.suite
    return ""


def _wrong(base: Base, key: str, text: str, *rows: Suite, fix: str) -> Finding:
    return Finding(
        component="base",
        verdict=Verdict.FORBIDDEN,
        text=text,
        key="base",
        place=("bases", base.name, key),
        rows=rows,
        fix=fix,
    )


def _interpreter(subject: Subject) -> Iterator[Finding]:
    python, base = subject.target.python, subject.target.base
    place: Place = ("pythons", python.name)
    if python.source is PythonSource.BASE:
        row = next((row for row in subject.compat.suites if row.suite == base.suite), None)
        if row and row.python != python.version:
            text = f"{row.suite} has Python {row.python}, not {python.version}."
            fix = f"Write {row.python}, or take an archive with 'source: standalone'."
            yield _python(text, (*place, "version"), fix, row)
        return
    machine = subject.target.machine
    name = python.archives[machine].name
    match = _ARCHIVE.fullmatch(name)
    wrong = ""
    if not name.endswith(".tar.gz"):
        wrong = "it is not a .tar.gz archive"
    elif match and match["version"] != python.version:
        wrong = f"it is Python {match['version']}, and the version is {python.version}"
    elif match and match["machine"] != machine:
        wrong = f"it is for {match['machine']}, and the target's machine is {machine}"
    elif match and ("linux" not in name or "musl" in name):
        wrong = "it is not for Linux with glibc"
    if wrong:
        fix = "Correct the file name, or declare the archive that is meant as another interpreter."
        text = f"{name} cannot be {python.name}: {wrong}."
        yield _python(text, (*place, "archive", "file"), fix)


def _python(text: str, place: Place, fix: str, *rows: Suite) -> Finding:
    return Finding(
        component="python",
        verdict=Verdict.FORBIDDEN,
        text=text,
        key="python",
        place=place,
        rows=rows,
        fix=fix,
    )


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
        if wrong := _wrong_wheel(subject, component, wheel, name):
            yield Finding(
                component=component,
                verdict=Verdict.FORBIDDEN,
                text=f"{wheel.file} cannot be the wheel of {component}: {wrong}.",
                key=component if component in _SECTIONS else "application",
                place=_wheel_place(subject, component, wheel),
                fix="Correct the file name, in which {tag}, {abi} and {machine} are filled in.",
            )


def _wheel_place(subject: Subject, component: str, wheel: VendorWheel) -> Place:
    if section := _SECTIONS.get(component):
        # A plugin is declared under the version of the DeepSpeed that it is for.
        return section, wheel.version, "file"
    assert subject.target.application
    return "applications", subject.target.application.name, "wheels", component, "file"


def _wrong_wheel(subject: Subject, component: str, wheel: VendorWheel, file: str) -> str:
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
