# SPDX-License-Identifier: Apache-2.0
"""What is in an image: its config, and what the probe has found, read from what it printed."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from cannery.common.cann_version import CannVersion
from cannery.common.model import MACHINE_OF, Layout
from cannery.common.outside import one_line, parse_json, printable, whole_number

_CFG = re.compile(r":([^:\]]+)\]")
"""The release in a line of version.cfg: runtime_running_version=[7.6.T13.0.B094:8.0.T63]."""

_OPERATOR_PARTS = ("ops_math", "ops_nn", "ops_cv", "ops_transformer")
"""Folders of share/info in the newer layout, whose kernels have no other file in every release."""

_OPERATORS = re.compile(r"ascend[0-9]\w*")
_CHIPS = {"ascend910_93": "a3"}
"""Folder of kernels to chip, where the chip is not the rest of the folder's name."""


@dataclass(frozen=True, kw_only=True)
class Cann:
    """The CANN of an image. Versions are as installed, and empty where nothing says one.

    ``folder`` is the one that the environment names, else the first; ``homes`` are all of them.
    ``chips`` are those that there are operator kernels for; ``set_env`` are the vendor's scripts
    that set its variables; ``stand_ins`` are the simulated packages.
    """

    folder: str
    homes: tuple[str, ...]
    layout: Layout
    toolkit: str
    kernels: str
    nnal: str
    arches: tuple[str, ...]
    operators: tuple[str, ...]
    set_env: tuple[str, ...]
    stand_ins: tuple[str, ...]

    @property
    def chips(self) -> tuple[str, ...]:
        return tuple(chip_of(each) for each in self.operators)


def chip_of(operators: str) -> str:
    """The chip whose kernels are in the folder ``operators``, as ascend910_93 for a3."""
    return _CHIPS.get(operators, operators.removeprefix("ascend"))


def cann_of(found: Mapping[str, Any], environment: Mapping[str, str]) -> Cann | None:
    """The CANN in what the probe has found below "ascend"; None if there is none."""
    homes = {str(real): [*map(str, names)] for real, names in dict(found.get("homes", {})).items()}
    infos = {str(path): dict(values) for path, values in dict(found.get("infos", {})).items()}
    toolkits = [home for home in homes if _version(_below(infos, home), ("toolkit", "nnae", ""))]
    if not toolkits:
        return None
    named = environment.get("ASCEND_HOME_PATH") or environment.get("ASCEND_TOOLKIT_HOME") or ""
    home = next((each for each in toolkits if named in (each, *homes[each])), toolkits[0])
    own = _below(infos, home)
    arches = {values.get("arch") or values.get("platform") or "" for values in own.values()}
    is_new = re.fullmatch(r"cann(-.*)?", posixpath.basename(home)) is not None
    return Cann(
        folder=home,
        homes=tuple(toolkits),
        layout=Layout.CANN if is_new else Layout.ASCEND_TOOLKIT,
        toolkit=_version(own, ("toolkit", "nnae", "")),
        kernels=_version(own, ("kernels", "ops", "opp_kernel", *_OPERATOR_PARTS)),
        nnal=_nnal({p: v for p, v in infos.items() if "/nnal/" in p}),
        arches=tuple(sorted(arches & {*MACHINE_OF.values()})),
        operators=tuple(filter(_OPERATORS.fullmatch, map(str, found.get("operators", ())))),
        set_env=tuple(map(str, found.get("set_env", ()))),
        stand_ins=tuple(map(str, found.get("simulated", ()))),
    )


def _below(infos: Mapping[str, dict[str, str]], home: str) -> dict[str, dict[str, str]]:
    return {path: values for path, values in infos.items() if path.startswith(home + "/")}


def _nnal(infos: Mapping[str, Mapping[str, str]]) -> str:
    """The release of NNAL, which not every file of it names; its folder does."""
    folders = (posixpath.basename(posixpath.dirname(path)) for path in infos)
    named = (_release({"version": folder}) for folder in folders)
    return _version(infos, ("nnal", "")) or next(filter(None, named), "")


def _version(infos: Mapping[str, Mapping[str, str]], packages: Iterable[str]) -> str:
    """The release of the first of ``packages`` that a file names; "" is any file's release."""
    for package in packages:
        for path, values in infos.items():
            name, folder = posixpath.basename(path), posixpath.basename(posixpath.dirname(path))
            own = not package and name in ("version.info", "version.cfg")
            own = own or name == f"ascend_{package}_install.info"
            own = own or (name, folder) == ("version.info", package)
            if own and (release := _release(values)):
                return release
    return ""


def _release(values: Mapping[str, str]) -> str:
    """The release in one file; internal versions, as 7.6.0.1.220, are none."""
    folder = str(values.get("version_dir", "")).removeprefix("cann-")
    named = [folder, values.get("ascend-cann-atb", ""), values.get("version", "")]
    named += [match[1] for value in values.values() if (match := _CFG.search(str(value)))]
    for text in map(str, named):
        # Some files have small letters, as 8.0.rc2.
        release = re.sub(r"\brc(?=[0-9])", "RC", text)
        try:
            CannVersion.parse(release)
        except ValueError:
            continue
        return release
    return ""


LABELS = "io.cannery."
"""The beginning of the names of cannery's own labels."""

_TITLE = re.compile(r'(?:/bin/sh -c #\(nop\) +)?LABEL org\.opencontainers\.image\.title="?([^ "]+)')
_COMMAND = re.compile(r'(?:/bin/sh -c #\(nop\) +)?CMD \["/bin/bash"\]')


class Origin(StrEnum):
    """Where an image comes from. A check that fits one origin need not fit another."""

    OURS = "ours"
    DERIVED = "derived"
    """Made ``FROM`` one of cannery's."""
    FOREIGN = "foreign"


@dataclass(frozen=True, kw_only=True)
class ImageConfig:
    """The parts of an image's config that checks read.

    ``history`` has the commands that made it, the newest first; it may be empty. ``ports`` are
    the numbers that it exposes.
    """

    reference: str
    id: str = ""
    architecture: str = "arm64"
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[int, ...] = ()
    size: int = 0
    history: tuple[str, ...] = ()

    @property
    def platform(self) -> str:
        """As in ``linux/arm64``."""
        return f"linux/{self.architecture}"

    def label(self, name: str) -> str:
        """The value of cannery's label ``name``; empty if there is none."""
        return self.labels.get(LABELS + name, "")

    @property
    def later_steps(self) -> tuple[str, ...] | None:
        """The commands that somebody added to an image of cannery's, the oldest first.

        None if the history does not show where cannery's part ends.
        """
        target = self.label("target")
        found: list[str] = []
        for line in self.history:
            title = _TITLE.match(line)
            if title and title[1] in (target, f"{target}-sim"):
                return tuple(reversed(found))
            if not _COMMAND.fullmatch(line):
                found.append(line)
        return None

    @property
    def origin(self) -> Origin:
        """Whose image it is, by its labels and its history."""
        if not self.label("target"):
            return Origin.FOREIGN
        return Origin.OURS if self.later_steps == () else Origin.DERIVED


def config_of(reference: str, inspected: Mapping[str, Any], history: Sequence[str]) -> ImageConfig:
    """The config in what ``docker image inspect`` prints for one image."""
    own = inspected.get("Config") or {}
    ports = (whole_number(port.partition("/")[0]) for port in own.get("ExposedPorts") or {})
    return ImageConfig(
        reference=reference,
        id=str(inspected.get("Id", "")),
        architecture=str(inspected.get("Architecture", "")),
        environment=dict(one_line(each).partition("=")[::2] for each in own.get("Env") or ()),
        user=one_line(str(own.get("User") or "")),
        entrypoint=tuple(map(one_line, own.get("Entrypoint") or ())),
        command=tuple(map(one_line, own.get("Cmd") or ())),
        labels={one_line(k): one_line(v) for k, v in (own.get("Labels") or {}).items()},
        ports=tuple(sorted(filter(None, ports))),
        size=int(inspected.get("Size") or 0),
        history=tuple(map(one_line, history)),
    )


_MARK = "cannery-probe: "
_SHELL_MARK = "cannery-sh: "
_FORM = 1
_LARGEST = 64 << 20
_WITH_LINES = ("constraints", "said")
"""The facts that may have several lines."""

_RECORD = {"wheels": dict, "environment": dict, "components": dict, "held": list}
"""The parts of an image's own record that are read, and what they must be."""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """How a program of the image ended; ``code`` is -1 if it did not."""

    code: int
    said: str

    @property
    def last_line(self) -> str:
        lines = [line.strip() for line in self.said.splitlines() if line.strip()]
        return lines[-1] if lines else f"exit code {self.code}"


@dataclass(frozen=True, kw_only=True)
class User:
    """A line of /etc/passwd."""

    name: str
    uid: int
    gid: int
    folder: str


@dataclass(frozen=True, kw_only=True)
class ImageFacts:
    """The facts. What the probe could not tell is empty, and ``failed`` says why.

    ``versions`` maps normalized names of Python packages to versions, and ``twice`` those that
    are installed more than once to all versions. ``pythons`` maps other interpreters to the
    frameworks that only they have. ``triton`` counts the files that triton and triton-ascend both
    bring, by whose they are. ``by_shell`` says that the image has no Python.
    """

    machine: str = ""
    libc: str = ""
    os: Mapping[str, str] = field(default_factory=dict)
    python: str = ""
    interpreter: str = ""
    prefix: str = ""
    pythons: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    uid: int = 0
    users: tuple[User, ...] = ()
    programs: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    shell_files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)
    twice: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    torch_file: str = ""
    cann: Cann | None = None
    driver: tuple[str, ...] = ()
    triton: Mapping[str, int] = field(default_factory=dict)
    cann_programs: Mapping[str, Attempt] = field(default_factory=dict)
    own_record: Mapping[str, Any] = field(default_factory=dict)
    constraints: str = ""
    failed: Mapping[str, str] = field(default_factory=dict)
    by_shell: bool = False


def parse_probe(said: str) -> ImageFacts:
    """The facts in ``said``, all that the probe and whatever else in the image has printed.

    Raises:
        ValueError: there are none in it, or they have an unknown form.
    """
    lines = said.splitlines()
    marked = [line for line in lines if line.startswith(_MARK)]
    if marked:
        return _from_json(marked[-1].removeprefix(_MARK))
    if f"{_SHELL_MARK}end\t1" in lines:
        return _from_shell([line for line in lines if line.startswith(_SHELL_MARK)])
    told = [line.strip() for line in lines if line.strip()]
    raise ValueError(f"the probe printed no facts; its last words: {told[-1] if told else '-'}")


def _from_json(text: str) -> ImageFacts:
    try:
        facts = _on_lines(parse_json(text, most=_LARGEST))
        form = facts["probe"]
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"the facts of the probe cannot be read: {error}") from error
    if form != _FORM:
        raise ValueError(f"the facts have the unknown form {form!r}")
    return _Reading(facts).found()


def _on_lines(value: Any, *, several: bool = False) -> Any:
    """``value`` with escapes in its texts for what an image could control a terminal or log by."""
    if isinstance(value, str):
        return (printable if several else one_line)(value)
    if isinstance(value, dict):
        return {
            one_line(name): _on_lines(each, several=name in _WITH_LINES)
            for name, each in value.items()
        }
    return [*map(_on_lines, value)] if isinstance(value, list) else value


class _Reading:
    """Reads the facts one by one, so that a malformed one costs no other."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self.facts = facts
        failed = facts.get("failed")
        self.failed = _texts(failed) if isinstance(failed, dict) else {}

    def read(self, name: str, reader: Callable[[Any], T], empty: Any) -> T:
        """The fact ``name``; where it is missing or malformed, what is read of ``empty``."""
        try:
            return reader(self.facts.get(name, empty))
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            self.failed[name] = f"unreadable: {error}"
            return reader(empty)

    def found(self) -> ImageFacts:
        environment = self.read("environment", _texts, {})
        dists = self.read("distributions", _distributions, {})
        python = self.read("python", _texts, {})
        facts: dict[str, Any] = {
            "machine": self.read("machine", str, ""),
            "libc": self.read("libc", str, ""),
            "os": self.read("os", _texts, {}),
            "python": python.get("version", ""),
            "interpreter": python.get("path", ""),
            "prefix": self.read("prefix", str, ""),
            "pythons": self.read("other_pythons", _lists, {}),
            "uid": self.read("uid", int, 0),
            "users": self.read("users", _users, []),
            "programs": self.read("programs", _texts, {}),
            "environment": environment,
            "shell_files": self.read("shell_files", _lists, {}),
            "versions": {name: each[0][0] for name, each in dists.items()},
            "folders": {name: each[0][1] for name, each in dists.items()},
            "twice": {n: tuple(v for v, _ in each) for n, each in dists.items() if len(each) > 1},
            "torch_file": self.read("torch_file", str, ""),
            "cann": self.read("ascend", lambda each: cann_of(each, environment), {}),
            "driver": self.read("driver", lambda each: tuple(map(str, each)), []),
            "triton": self.read("triton", lambda each: {k: int(n) for k, n in each.items()}, {}),
            "cann_programs": self.read("cann_programs", _attempts, {}),
            "own_record": self.read("own_record", _record, {}),
            "constraints": self.read("constraints", str, ""),
        }
        return ImageFacts(**facts, failed=self.failed)


def _record(value: Any) -> dict[str, Any]:
    record = dict(value)
    for key, kind in _RECORD.items():
        if not isinstance(record.get(key, kind()), kind):
            raise TypeError(f"{key!r} is {record[key]!r}")
    return record


def _texts(value: Any) -> dict[str, str]:
    return {str(name): str(text) for name, text in value.items()}


def _lists(value: Any) -> dict[str, tuple[str, ...]]:
    return {str(name): tuple(map(str, each)) for name, each in value.items()}


def _distributions(value: Any) -> dict[str, list[list[str]]]:
    return {str(n): [[str(v), str(f)] for v, f in each] for n, each in value.items() if each}


def _users(value: Any) -> tuple[User, ...]:
    return tuple(
        User(name=each["name"], uid=int(each["uid"]), gid=int(each["gid"]), folder=each["home"])
        for each in value
    )


def _attempts(value: Any) -> dict[str, Attempt]:
    return {
        str(name): Attempt(code=int(each["code"]), said=str(each["said"]))
        for name, each in value.items()
    }


def _home(path: str) -> str:
    """The folder of a release that has the file ``path`` in a folder of its own."""
    return path.rpartition("/")[0].rpartition("/")[0]


def _from_shell(lines: list[str]) -> ImageFacts:
    """The facts of an image without Python, from its shell."""
    told = [line.removeprefix(_SHELL_MARK).partition("\t")[::2] for line in lines]
    single = dict(told)

    def named(kind: str) -> list[tuple[str, str]]:
        own = [(key.split(" ", 1), value) for key, value in told]
        return [(key[1], value) for key, value in own if key[0] == kind and len(key) > 1]

    def pairs(kind: str) -> dict[str, str]:
        split = (value.partition("=") for key, value in told if key == kind)
        return {name: value.strip("\"'") for name, _, value in split if name}

    infos: dict[str, dict[str, str]] = {}
    for path, line in named("info"):
        name, _, value = line.partition("=")
        infos.setdefault(path, {})[name.strip().lower()] = value.strip()
    shells: dict[str, tuple[str, ...]] = {}
    for path, line in named("shell"):
        shells[path] = (*shells.get(path, ()), line.strip())
    environment = pairs("environment")
    homes: dict[str, list[str]] = {_home(path): [""] for path in infos}
    for path, name in named("home"):
        homes.setdefault(_home(path), []).append(_home(name))
    operators = {value.rpartition("/")[2]: "" for key, value in told if key == "operators"}
    uid = single.get("uid", "")
    return ImageFacts(
        machine=single.get("machine", ""),
        os={name.lower(): value for name, value in pairs("os").items()},
        uid=whole_number(uid) or 0,
        users=_passwd([value for key, value in told if key == "user"]),
        programs=dict(named("program")),
        environment=environment,
        shell_files=shells,
        cann=cann_of({"homes": homes, "infos": infos, "operators": [*operators]}, environment),
        driver=tuple(value for key, value in told if key == "driver"),
        by_shell=True,
    )


def _passwd(lines: list[str]) -> tuple[User, ...]:
    rows = [line.split(":") for line in lines]
    return tuple(
        User(name=row[0], uid=uid, gid=gid, folder=row[5])
        for row in rows
        if len(row) == 7
        if (uid := whole_number(row[2])) is not None
        if (gid := whole_number(row[3])) is not None
    )
