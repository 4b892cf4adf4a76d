# SPDX-License-Identifier: Apache-2.0
"""The facts about an image of any origin: its config, and the output of the probe."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
)

from cannery.common.cann_version import CannVersion
from cannery.common.model import MACHINE_OF, Layout
from cannery.common.outside import one_line, parse_json, printable, whole_number
from cannery.verify.audit.file_lists import FileList, file_lists_of

_CFG = re.compile(r":([^:\]]+)\]")
"""The release in a line of version.cfg: runtime_running_version=[7.6.T13.0.B094:8.0.T63]."""

_OPERATOR_PARTS = ("ops_math", "ops_nn", "ops_cv", "ops_transformer")
"""Folders of share/info in the newer layout, whose kernels have no other file in every release."""

_OPERATORS = re.compile(r"ascend[0-9]\w*")
_CHIPS = {"ascend910_93": "a3"}
"""Folder of kernels to chip, where the chip is not the rest of the folder's name."""


@dataclass(frozen=True, kw_only=True)
class Cann:
    """The CANN of an image. Versions are as installed, and empty where no file has one.

    ``folder`` is the one that the environment names, else the first of ``homes``; ``chips`` are
    those with operator kernels; ``set_env`` are the vendor's scripts that set its variables;
    ``stand_ins`` are the simulated packages. ``parts`` maps files of parts to their releases.
    """

    folder: str = ""
    homes: tuple[str, ...] = ()
    layout: Layout = Layout.CANN
    toolkit: str = ""
    kernels: str = ""
    nnal: str = ""
    arches: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    set_env: tuple[str, ...] = ()
    stand_ins: tuple[str, ...] = ()
    parts: Mapping[str, str] = field(default_factory=dict)
    lists: tuple[FileList, ...] = ()

    @property
    def chips(self) -> tuple[str, ...]:
        return tuple(_CHIPS.get(name, name.removeprefix("ascend")) for name in self.operators)


def cann_of(probed: Mapping[str, Any], environment: Mapping[str, str]) -> Cann | None:
    """The CANN in the probe's section "ascend"; None if there is none."""
    homes = {str(real): [*map(str, names)] for real, names in dict(probed.get("homes", {})).items()}
    infos = {str(path): dict(values) for path, values in dict(probed.get("infos", {})).items()}

    def below(home: str) -> dict[str, dict[str, str]]:
        return {path: values for path, values in infos.items() if path.startswith(home + "/")}

    toolkits = [home for home in homes if _version(below(home), ("toolkit", "nnae", ""))]
    if not toolkits:
        return None
    named = environment.get("ASCEND_HOME_PATH") or environment.get("ASCEND_TOOLKIT_HOME") or ""
    home = next((home for home in toolkits if named in (home, *homes[home])), toolkits[0])
    files = below(home)
    arches = {values.get("arch") or values.get("platform") or "" for values in files.values()}
    is_new = re.fullmatch(r"cann(-.*)?", posixpath.basename(home)) is not None
    nnal = {path: values for path, values in infos.items() if "/nnal/" in path}
    # Not every file of NNAL has its release; its folder does.
    folders = ({"version": posixpath.basename(posixpath.dirname(path))} for path in nnal)
    return Cann(
        folder=home,
        homes=tuple(toolkits),
        layout=Layout.CANN if is_new else Layout.ASCEND_TOOLKIT,
        toolkit=_version(files, ("toolkit", "nnae", "")),
        kernels=_version(files, ("kernels", "ops", "opp_kernel", *_OPERATOR_PARTS)),
        nnal=_version(nnal, ("nnal", "")) or next(filter(None, map(_release, folders)), ""),
        arches=tuple(sorted(arches & {*MACHINE_OF.values()})),
        operators=tuple(filter(_OPERATORS.fullmatch, map(str, probed.get("operators", ())))),
        set_env=tuple(map(str, probed.get("set_env", ()))),
        stand_ins=tuple(map(str, probed.get("simulated", ()))),
        parts={path: _release(values) for path, values in files.items() if _is_of_release(path)},
        lists=tuple(file_lists_of(probed.get("lists", ()), home)),
    )


def _is_of_release(path: str) -> bool:
    """Whether a file says of which release its part is; other parts have versions of their own."""
    return path.endswith(("/compiler/version.info", "/runtime/version.info"))


def _version(infos: Mapping[str, Mapping[str, str]], packages: Iterable[str]) -> str:
    """The release of the first of ``packages`` that a file names; "" is any file's release."""
    for package in packages:
        for path, values in infos.items():
            folder, name = path.split("/")[-2:]
            matches = not package and name in ("version.info", "version.cfg")
            matches = matches or name == f"ascend_{package}_install.info"
            matches = matches or (name, folder) == ("version.info", package)
            if matches and (release := _release(values)):
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
        with suppress(ValueError):
            CannVersion.parse(release)
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
        steps: list[str] = []
        for line in self.history:
            title = _TITLE.match(line)
            if title and title[1] in (target, f"{target}-sim"):
                return tuple(reversed(steps))
            if not _COMMAND.fullmatch(line):
                steps.append(line)
        return None

    @property
    def origin(self) -> Origin:
        """Whose image it is, by its labels and its history."""
        if not self.label("target"):
            return Origin.FOREIGN
        return Origin.OURS if self.later_steps == () else Origin.DERIVED


def config_of(reference: str, inspected: Mapping[str, Any], history: Sequence[str]) -> ImageConfig:
    """The config in what ``docker image inspect`` prints for one image."""
    config = inspected.get("Config") or {}
    ports = (whole_number(port.partition("/")[0]) for port in config.get("ExposedPorts") or {})
    return ImageConfig(
        reference=reference,
        id=str(inspected.get("Id", "")),
        architecture=str(inspected.get("Architecture", "")),
        environment=dict(one_line(line).partition("=")[::2] for line in config.get("Env") or ()),
        user=one_line(str(config.get("User") or "")),
        entrypoint=tuple(map(one_line, config.get("Entrypoint") or ())),
        command=tuple(map(one_line, config.get("Cmd") or ())),
        labels={one_line(k): one_line(v) for k, v in (config.get("Labels") or {}).items()},
        ports=tuple(sorted(filter(None, ports))),
        history=tuple(map(one_line, history)),
    )


_MARK = "cannery-probe: "
_SHELL_MARK = "cannery-sh: "
_FORM = 1
_WITH_LINES = ("constraints", "output")
"""The facts that may have several lines."""


class Attempt(BaseModel):
    """The end of a program of the image; ``code`` is -1 if it did not end."""

    code: int
    output: str

    @property
    def last_line(self) -> str:
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        return lines[-1] if lines else f"exit code {self.code}"


@dataclass(frozen=True, kw_only=True)
class User:
    """A line of /etc/passwd."""

    name: str
    uid: int
    gid: int
    folder: Annotated[str, Field(alias="home")]


class Record(BaseModel):
    """The parts of an image's own record that are compared; the rest is kept."""

    model_config = ConfigDict(extra="allow")
    wheels: dict[str, Any] = {}
    vendor_wheels: dict[str, Any] = {}
    environment: dict[str, Any] = {}
    components: dict[str, Any] = {}
    held: list[Any] = []


class ImageFacts(BaseModel):
    """The facts of the probe. A malformed one is empty, and costs no other; ``failed`` says why.

    ``distributions`` maps normalized names of Python packages to versions and folders, the first
    on sys.path first. ``other_pythons`` maps interpreters to the frameworks that only they have.
    ``triton`` counts the files that triton and triton-ascend both bring, by whose they are.
    ``by_shell`` says that the image has no Python.
    """

    model_config = ConfigDict(coerce_numbers_to_str=True)
    failed: dict[str, str] = {}
    machine: str = ""
    libc: str = ""
    os: dict[str, str] = {}
    python3: dict[str, str] = Field(default={}, alias="python")
    other_pythons: dict[str, tuple[str, ...]] = {}
    users: tuple[User, ...] = ()
    programs: dict[str, str] = {}
    environment: dict[str, str] = {}
    shell_files: dict[str, tuple[str, ...]] = {}
    distributions: dict[str, tuple[tuple[str, str], ...]] = {}
    torch_file: str = ""
    cann: Cann | None = Field(default=None, alias="ascend")
    driver: tuple[str, ...] = ()
    triton: dict[str, int] = {}
    cann_programs: dict[str, Attempt] = {}
    own_record: dict[str, Any] = {}
    constraints: str = ""
    by_shell: bool = False

    @field_validator("cann", mode="plain")
    @classmethod
    def _cann(cls, probed: Any, info: ValidationInfo) -> Cann | None:
        return cann_of(probed, info.data["environment"])

    @field_validator("own_record")
    @classmethod
    def _record(cls, record: dict[str, Any]) -> dict[str, Any]:
        Record.model_validate(record)
        return record

    @field_validator("*", mode="wrap")
    @classmethod
    def _or_empty(cls, value: Any, read: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        try:
            return read(value)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            name = str(info.field_name)
            reason = str(error.errors()[0]["msg"]) if isinstance(error, ValidationError) else error
            info.data.get("failed", {})[name] = f"unreadable: {reason}"
            return cls.model_fields[name].get_default(call_default_factory=True)

    @property
    def python(self) -> str:
        return self.python3.get("version", "")

    @property
    def interpreter(self) -> str:
        return self.python3.get("path", "")

    @property
    def versions(self) -> dict[str, str]:
        return {name: places[0][0] for name, places in self.distributions.items() if places}


def parse_probe(output: str) -> ImageFacts:
    """The facts in ``output``, which has the words of other programs of the image, too.

    Raises:
        ValueError: there are none in it, or they have an unknown form.
    """
    lines = output.splitlines()
    if marked := [line for line in lines if line.startswith(_MARK)]:
        try:
            facts = _on_lines(parse_json(marked[-1].removeprefix(_MARK)))
            form = facts["probe"]
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"the facts of the probe cannot be read: {error}") from error
        if form != _FORM:
            raise ValueError(f"the facts have the unknown form {form!r}")
        return ImageFacts.model_validate(facts)
    if f"{_SHELL_MARK}end\t1" in lines:
        return _from_shell([line for line in lines if line.startswith(_SHELL_MARK)])
    words = [line.strip() for line in lines if line.strip()]
    raise ValueError(f"the probe printed no facts; its last words: {words[-1] if words else '-'}")


def _on_lines(value: Any, *, several: bool = False) -> Any:
    """``value`` with escapes in its texts for what an image could control a terminal or log by."""
    if isinstance(value, str):
        return (printable if several else one_line)(value)
    if isinstance(value, dict):
        return {
            one_line(name): _on_lines(part, several=name in _WITH_LINES)
            for name, part in value.items()
        }
    return [*map(_on_lines, value)] if isinstance(value, list) else value


def _home(path: str) -> str:
    """The folder of a release that has the file ``path`` in a folder of its own."""
    return posixpath.dirname(posixpath.dirname(path))


def _from_shell(lines: list[str]) -> ImageFacts:
    """The facts of an image without Python, from its shell."""
    # KIND or KIND NAME, a tab, and the value.
    rows = [line.removeprefix(_SHELL_MARK).partition("\t")[::2] for line in lines]
    facts: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for key, value in rows:
        kind, _, name = key.partition(" ")
        facts[kind].append((name, value))

    def values(kind: str) -> list[str]:
        return [value for _, value in facts[kind]]

    def pairs(kind: str) -> dict[str, str]:
        split = (value.partition("=") for value in values(kind))
        return {name: value.strip("\"'") for name, _, value in split if name}

    infos: dict[str, dict[str, str]] = defaultdict(dict)
    for path, line in facts["info"]:
        name, _, value = line.partition("=")
        infos[path][name.strip().lower()] = value.strip()
    shells: dict[str, list[str]] = defaultdict(list)
    for path, line in facts["shell"]:
        shells[path].append(line.strip())
    homes: dict[str, list[str]] = {_home(path): [""] for path in infos}
    for path, name in facts["home"]:
        homes.setdefault(_home(path), []).append(_home(name))
    rows_of_users = (line.split(":") for line in values("user"))
    users = [
        {"name": row[0], "uid": row[2], "gid": row[3], "home": row[5]}
        for row in rows_of_users
        if len(row) == 7 and None not in map(whole_number, row[2:4])
    ]
    operators = [*dict.fromkeys(map(posixpath.basename, values("operators")))]
    probed = {
        "machine": "".join(values("machine")[-1:]),
        "os": {name.lower(): value for name, value in pairs("os").items()},
        "users": users,
        "programs": dict(facts["program"]),
        "environment": pairs("environment"),
        "shell_files": shells,
        "ascend": {"homes": homes, "infos": infos, "operators": operators},
        "driver": values("driver"),
        "by_shell": True,
    }
    return ImageFacts.model_validate(probed)


_COMPONENTS = {
    "torch": "torch",
    "torch_npu": "torch-npu",
    "apex": "apex",
    "deepspeed": "deepspeed",
    "mindspore": "mindspore",
}
"""Component of the image tests to its Python package."""

_VERSIONS = ("triton", "triton-ascend", "vllm", "vllm-ascend", "transformers", "numpy")


def describe(facts: ImageFacts, config: ImageConfig) -> dict[str, str]:
    """The facts for people, in the order of a report."""
    cann, target, steps = facts.cann or Cann(), config.label("target"), config.later_steps
    image = f"made from target {target} of cannery, with {len(steps or ())} more steps"
    if config.origin is Origin.FOREIGN:
        image = "not made by cannery"
    elif config.origin is Origin.OURS:
        image = f"target {target} of cannery"
    elif steps is None:
        image = f"made from target {target} of cannery, or it; the history does not say"
    rows = {
        "image": image,
        "architecture": facts.machine or config.architecture,
        "system": facts.os.get("pretty_name") or facts.os.get("id", ""),
        "libc": facts.libc,
        "python": f"{facts.python} ({facts.interpreter})" if facts.python else "",
        "CANN toolkit": f"{cann.toolkit} ({cann.folder})" if facts.cann else "",
        "kernels": f"{cann.kernels} for {', '.join(cann.chips)}".strip() if facts.cann else "",
        "NNAL": cann.nnal,
        "stand-ins": "CANN is simulated" if cann.stand_ins else "",
        **{name: facts.versions.get(package, "") for name, package in _COMPONENTS.items()},
        **{name: facts.versions.get(name, "") for name in _VERSIONS},
        "user": config.user or "root",
        "entrypoint": " ".join(config.entrypoint),
        "not found out": "; ".join(f"{n}: {why}" for n, why in facts.failed.items()),
    }
    return {name: text for name, text in rows.items() if text}


def record_of(facts: ImageFacts, config: ImageConfig) -> dict[str, Any]:
    """The record with which the image tests compare the image.

    An image of cannery's, or one made from it, has it inside. That of another image says which
    versions it has, so that only these are tested.
    """
    if facts.own_record and config.origin is not Origin.FOREIGN:
        return dict(facts.own_record)
    cann = facts.cann or Cann()
    components = {name: facts.versions.get(package, "") for name, package in _COMPONENTS.items()}
    components["toolkit"] = cann.toolkit
    return {
        "id": config.reference,
        "platform": config.platform,
        "machine": MACHINE_OF.get(config.architecture, config.architecture),
        "components": {name: version for name, version in components.items() if version},
        "wheels": facts.versions,
        "vendor_wheels": {},
        "operators": cann.operators[0] if cann.operators else "",
        "site_packages": facts.distributions.get("torch", (("", ""),))[0][1],
    }
