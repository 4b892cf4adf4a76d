# SPDX-License-Identifier: Apache-2.0
"""Reads and checks the spec; every problem is reported at once."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from .chips import names
from .errors import PackError

ARCHITECTURES = ("aarch64", "x86_64")
COMPONENTS = ("toolkit", "kernels", "nnal")
LAYOUTS = tuple(sorted(p.name for p in (Path(__file__).parent.parent / "layouts").iterdir()))

# Versions and file names end up in paths and in shell code: no blanks, quotes or slashes.
PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")

NAME = re.compile(r"[A-Z][A-Z0-9_]*")
SYMBOL = re.compile(r"lib[a-z_]+ [A-Za-z_][A-Za-z0-9_]*")


# How a package's last part fails: with a message and exit status 0, or with 1 and half a tree.
FAILURES = ("softly", "hard")

VALUE = re.compile(r"[A-Za-z0-9_$~]*")


@dataclass(frozen=True)
class Padding:
    """Files that make a package as large as the vendor's: bytes in all, and a number a part."""

    size: int
    files: dict[str, int]


@dataclass(frozen=True)
class PackageSpec:
    """One .run file; ``chip``, in upper or lower case, is there for kernels alone.

    ``version`` is empty for that of the toolkit, ``variables`` are those of NNAL's set_env.sh,
    and ``without`` are the parts that the package does not have.
    """

    component: str
    file: str
    chip: str | None
    version: str = ""
    variables: dict[str, str] = field(default_factory=dict)
    fails: str = ""
    without: tuple[str, ...] = ()
    padding: Padding | None = None


@dataclass(frozen=True)
class DriverSpec:
    """The host's driver and devices; ``memory_mb`` is one's memory in MiB, 0 for the chip's own."""

    version: str
    chip: str
    devices: int
    memory_mb: int = 0


@dataclass(frozen=True)
class Spec:
    """What is to be packed; ``cann`` is the toolkit's version, ``apex`` the wheel's file name.

    ``lacks`` are symbols that this CANN does not have, each as ``LIBRARY SYMBOL``.
    """

    arch: str
    cann: str
    layout: str
    packages: tuple[PackageSpec, ...]
    apex: str | None
    driver: DriverSpec | None
    lacks: tuple[str, ...] = ()


class Reader:
    """One JSON object, read key by key; remembers what was wrong and what was never asked for."""

    def __init__(self, value: object, where: str, problems: list[str]) -> None:
        self.values: dict[str, object] = {}
        self.where = where
        self.problems = problems
        self.asked: set[str] = set()
        if isinstance(value, dict):
            self.values = value
        else:
            problems.append(f"{where}: expected an object, found {type(value).__name__}")

    def get(self, key: str) -> object:
        self.asked.add(key)
        return self.values.get(key)

    def text(self, key: str, choices: tuple[str, ...] = ()) -> str:
        value = self.get(key)
        if not isinstance(value, str) or not PLAIN.fullmatch(value):
            self.problems.append(f"{self.where}.{key}: expected a plain name, found {value!r}")
            return ""
        if choices and value not in choices:
            self.problems.append(
                f"{self.where}.{key}: {value!r} is not one of {', '.join(choices)}"
            )
        return value

    def count(self, key: str) -> int:
        value = self.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            self.problems.append(f"{self.where}.{key}: expected a number, found {value!r}")
            return 0
        return value

    def finish(self) -> None:
        for key in sorted(set(self.values) - self.asked):
            self.problems.append(f"{self.where}.{key}: unknown key")


def parse_spec(value: object) -> Spec:
    """``value`` is what JSON gave; raises PackError with a line for each problem."""
    problems: list[str] = []
    reader = Reader(value, "spec", problems)
    spec = Spec(
        arch=reader.text("arch", ARCHITECTURES),
        cann=reader.text("cann"),
        layout=reader.text("layout", LAYOUTS),
        packages=parse_packages(reader.get("packages"), problems),
        apex=parse_apex(reader.get("apex"), problems),
        driver=parse_driver(reader.get("driver"), problems),
        lacks=parse_lacks(reader.get("lacks"), problems),
    )
    reader.finish()
    if problems:
        raise PackError("the spec is wrong:\n  " + "\n  ".join(problems))
    return spec


def parse_packages(value: object, problems: list[str]) -> tuple[PackageSpec, ...]:
    """No packages at all are no problem: a spec may ask for the wheel or the driver alone."""
    if value is None:
        return ()
    if not isinstance(value, list):
        problems.append(f"spec.packages: expected a list, found {type(value).__name__}")
        return ()
    return tuple(parse_package(v, f"spec.packages[{i}]", problems) for i, v in enumerate(value))


def parse_package(value: object, where: str, problems: list[str]) -> PackageSpec:
    """``where`` is the entry's place in the spec, for the messages."""
    reader = Reader(value, where, problems)
    component = reader.text("component", COMPONENTS)
    file = reader.text("file")
    if file and not file.endswith(".run"):
        problems.append(f"{where}.file: {file!r} does not end in .run")
    chip = None
    if component == "kernels":
        chip = reader.text("chip")
        if chip and chip.lower() not in names():
            problems.append(f"{where}.chip: {chip!r} is not one of {', '.join(names())}")
    version = "" if reader.get("version") is None else reader.text("version")
    fails = "" if reader.get("fails") is None else reader.text("fails", FAILURES)
    variables = parse_variables(reader.get("variables"), where, problems)
    without = parse_without(reader.get("without"), where, problems)
    padding = parse_padding(reader.get("padding"), f"{where}.padding", problems)
    reader.finish()
    return PackageSpec(component, file, chip, version, variables, fails, without, padding)


def parse_variables(value: object, where: str, problems: list[str]) -> dict[str, str]:
    """Each is put into a script: a name, and a value without blanks and quotes."""
    reader = Reader({} if value is None else value, f"{where}.variables", problems)
    for name, each in reader.values.items():
        if not isinstance(each, str) or not VALUE.fullmatch(each) or not NAME.fullmatch(name):
            problems.append(f"{reader.where}.{name}: expected a plain value, found {each!r}")
    return {name: str(each) for name, each in reader.values.items()}


def parse_without(value: object, where: str, problems: list[str]) -> tuple[str, ...]:
    """Whether the package has such parts is seen when it is made."""
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        problems.append(f"{where}.without: expected a list of parts, found {value!r}")
        return ()
    return tuple(value)


def parse_padding(value: object, where: str, problems: list[str]) -> Padding | None:
    """None for a package that is as small as it can be."""
    if value is None:
        return None
    reader = Reader(value, where, problems)
    files = Reader(reader.get("files"), f"{where}.files", problems)
    numbers = {part: files.count(part) for part in files.values}
    padding = Padding(reader.count("size"), numbers)
    reader.finish()
    return padding


def parse_apex(value: object, problems: list[str]) -> str | None:
    """The wheel's file name; its form is checked when the wheel is made."""
    if value is None:
        return None
    reader = Reader(value, "spec.apex", problems)
    file = reader.text("file")
    reader.finish()
    return file


def parse_lacks(value: object, problems: list[str]) -> tuple[str, ...]:
    """Nothing at all means that this CANN has every symbol of the device."""
    if value is None:
        return ()
    if not isinstance(value, list):
        problems.append(f"spec.lacks: expected a list, found {type(value).__name__}")
        return ()
    for i, line in enumerate(value):
        if not isinstance(line, str) or not SYMBOL.fullmatch(line):
            problems.append(f"spec.lacks[{i}]: expected 'LIBRARY SYMBOL', found {line!r}")
    return tuple(value)


def parse_driver(value: object, problems: list[str]) -> DriverSpec | None:
    """None when there is to be no host/."""
    if value is None:
        return None
    reader = Reader(value, "spec.driver", problems)
    driver = DriverSpec(
        version=reader.text("version"),
        chip=reader.text("chip", tuple(names())),
        devices=reader.count("devices"),
        memory_mb=reader.count("memory_mb") if "memory_mb" in reader.values else 0,
    )
    reader.finish()
    return driver
