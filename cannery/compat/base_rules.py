# SPDX-License-Identifier: Apache-2.0
"""Rules for a target's operating system, its interpreter, and wheels that no index serves."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from cannery.common.bases import Base, Python, PythonSource
from cannery.common.errors import did_you_mean
from cannery.common.outside import whole_number
from cannery.common.references import full_reference
from cannery.common.specifiers import normal_name
from cannery.common.wheels import OLD_PLATFORMS, VendorWheel
from cannery.compat.facts import Suite
from cannery.compat.finding import Finding, Subject, Verdict
from cannery.compat.requested import Place

_ARCHIVE = re.compile(
    r"cpython-(?P<version>3\.[0-9]+\.[0-9]+)(?:\+[0-9]+)?-(?P<machine>[a-z0-9_]+?)-\S*"
)
"""How python-build-standalone names an archive; the machine ends at the first '-'."""


def judge_base(subject: Subject) -> list[Finding]:
    """The bases, of the image and of the build stage, and the interpreter."""
    bases = (subject.target.base, subject.target.build_base)
    findings = [finding for base in bases for finding in _judge_one_base(subject, base)]
    unique = {(finding.place, finding.text): finding for finding in findings}
    return [*unique.values(), *_judge_interpreter(subject)]


def _judge_one_base(subject: Subject, base: Base) -> Iterator[Finding]:
    suites = {row.suite: row for row in subject.compat.suites}

    def wrong(key: str, text: str, fix: str) -> Finding:
        rows = (suites[base.suite],) if base.suite in suites else ()
        place: Place = ("bases", base.name, key)
        return Finding("base", Verdict.FORBIDDEN, text, "base", place=place, rows=rows, fix=fix)

    row = suites.get(base.suite)
    if row is None:
        text = f"unknown suite {base.suite!r} of base {base.name}."
        yield wrong("suite", text, did_you_mean(base.suite, suites))
        return
    if base.distribution.name != row.distribution:
        text = f"{row.suite} is a release of {row.distribution}, not of {base.distribution.name}."
        yield wrong("suite", text, f"Write distribution: {row.distribution}, or another suite.")
        return
    image = full_reference(base.image)
    distribution, tag = image.repository.rpartition("/")[2], image.tag
    known = {each.distribution for each in suites.values()}
    # Nobody but its maker knows the system of a company's image.
    if distribution in known - {row.distribution}:
        text = (
            f"base {base.name} is made from image {distribution!r}, and packages of its suite "
            f"{row.suite} are installed in it with {base.distribution.package_manager}."
        )
        fix = f"Take an image of {row.distribution} {row.suite}, or a copy that is named so."
        yield wrong("image", text, fix)
    elif distribution in known and (other := _other_suite(tag, row, subject.compat.suites)):
        text = f"base {base.name} is image {distribution}:{tag}, which is {other}, not {row.suite}."
        yield wrong("image", text, "Make image and suite agree.")
    if base.glibc != row.glibc:
        text = f"{row.suite} has glibc {row.glibc}, not {base.glibc}."
        yield wrong("glibc", text, f"Write {row.glibc}.")


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


def _judge_interpreter(subject: Subject) -> Iterator[Finding]:
    python, base = subject.target.python, subject.target.base
    place: Place = ("pythons", python.name)
    if python.source is PythonSource.BASE:
        row = next((row for row in subject.compat.suites if row.suite == base.suite), None)
        if row and row.python != python.version:
            text = f"{row.suite} has Python {row.python}, not {python.version}."
            fix = f"Write {row.python}, or take an archive with 'source: standalone'."
            place, rows = (*place, "version"), (row,)
            yield Finding(
                "python", Verdict.FORBIDDEN, text, "python", place=place, rows=rows, fix=fix
            )
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
        place = (*place, "archive", "file")
        yield Finding("python", Verdict.FORBIDDEN, text, "python", place=place, fix=fix)


WHEEL_SECTIONS = {
    "torch": "torch_wheels",
    "torch_npu": "torch_npu_wheels",
    "apex": "apex",
    "deepspeed": "deepspeed_wheels",
    "deepspeed_plugin": "deepspeed_plugins",
    "triton_ascend": "triton_ascend_wheels",
}
"""Component to the section of matrix.yaml that declares its wheel."""


def judge_wheels(subject: Subject) -> Iterator[Finding]:
    """One finding for each file whose name says that it is not the wheel that is needed."""
    target = subject.target
    for component, wheel in target.vendor_wheels.items():
        if wrong := _wrong_wheel(subject, component, wheel, target.artifacts[component].name):
            text = f"{wheel.file} cannot be the wheel of {component}: {wrong}."
            fix = "Correct the file name, in which {tag}, {abi} and {machine} are filled in."
            if section := WHEEL_SECTIONS.get(component):
                # A plugin is declared under the version of the DeepSpeed that it is for.
                key = component
                place: Place = (section, wheel.version, "file")
            else:
                assert target.application
                key = "application"
                place = ("applications", target.application.name, "wheels", component, "file")
            yield Finding(component, Verdict.FORBIDDEN, text, key, place=place, fix=fix)


def _wrong_wheel(subject: Subject, component: str, wheel: VendorWheel, file: str) -> str:
    """The contradiction between the name of a wheel and the target; "" for none."""
    target = subject.target
    try:
        name, version, _, tags = parse_wheel_filename(file)
    except InvalidWheelFilename:
        return "it is not named as a wheel is, as in name-1.0-py3-none-any.whl"
    package = "deepspeed_npu" if component == "deepspeed_plugin" else component
    glibcs = [_glibc(tag.platform, target.machine) for tag in tags]
    oldest = min((glibc for glibc in glibcs if glibc), default=())
    wrong = ""
    if name != normal_name(package):
        wrong = f"it is a wheel of {name}"
    elif not _is_version(version, component, wheel, subject):
        wrong = f"it is version {version}, and {wheel.version} is declared"
    elif not any(_for_python(tag, target.python) for tag in tags):
        made_for = ", ".join(sorted({f"{tag.interpreter}-{tag.abi}" for tag in tags}))
        wrong = f"it is for {made_for} only, and the target has another Python"
    elif not oldest:
        made_for = ", ".join(sorted({tag.platform for tag in tags}))
        wrong = f"it is for {made_for}, and the target's machine is {target.machine}"
    elif oldest > tuple(map(int, re.findall(r"[0-9]+", target.base.glibc))):
        needed = ".".join(map(str, oldest))
        wrong = f"it needs glibc {needed}, and base {target.base.name} has {target.base.glibc}"
    return wrong


def _is_version(version: Version, component: str, wheel: VendorWheel, subject: Subject) -> bool:
    """Whether the file has the declared version, as far as the declaration is about the file."""
    application = subject.target.application
    other = component not in WHEEL_SECTIONS and application and component != application.component
    if component == "deepspeed_plugin" or other:
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
        return whole_number(tag.interpreter.removeprefix("cp3"), int(digits[1:])) is not None
    interpreters = {python.tag, f"py{digits}", "py3"}
    return tag.interpreter in interpreters and tag.abi in (python.abi, "none")


def _glibc(platform: str, machine: str) -> tuple[int, ...] | None:
    """The oldest glibc that a wheel for ``platform`` runs with; None on another machine."""
    name, _, rest = platform.partition("_")
    if match := re.fullmatch(rf"manylinux_([0-9]+)_([0-9]+)_{machine}", platform):
        return int(match[1]), int(match[2])
    if platform == "any" or (rest == machine and name == "linux"):
        return (0,)
    return OLD_PLATFORMS.get(name) if rest == machine else None
