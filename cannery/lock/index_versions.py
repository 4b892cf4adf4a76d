# SPDX-License-Identifier: Apache-2.0
"""Asks a package index for the versions of packages, with pip, and checks what is to be upgraded.

pip uses the configured mirrors, proxies, certificates and credentials, and lists only wheels that
the given interpreter can install, without yanked versions.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from packaging.requirements import InvalidRequirement
from packaging.version import InvalidVersion, Version

from cannery.common import console
from cannery.common.errors import EngineError, MatrixError, Problem, UsageError, closest
from cannery.common.files import read_text
from cannery.common.model import TOOLS, Target
from cannery.common.package_index import PackageIndex
from cannery.common.process import run, workers
from cannery.common.specifiers import normal_name, parse_requirement, parse_requirements
from cannery.common.wheels import platforms
from cannery.compat.facts import Compat
from cannery.lock.lock_file import parse_lock
from cannery.lock.requirements import Requirements
from cannery.matrix.project import Project
from cannery.matrix.text import Use

KEYS = ("torch_npu", "deepspeed", *TOOLS)
"""The keys of a target that an index may have newer versions of."""

_SDISTS = ("deepspeed",)
"""Packages without wheels, for which a platform cannot be given."""

_AT_ONCE = 8
"""How many questions are asked at the same time: pip mostly waits."""

_VERSIONS = re.compile(r"^\s*Available versions: (.+)$", re.MULTILINE)
_FAILED = re.compile(r"^\s*Could not fetch URL (\S+): (.+?)(?: - skipping)?$", re.MULTILINE)
_WARNED = re.compile(r"^\s*(?:WARNING|ERROR): (?!Retrying |pip index is )(.+)$", re.MULTILINE)
_NOT_THERE = ("403 ", "404 ", "410 ")
"""Answers of an index that does not have a package; another index may have it."""


@dataclass(frozen=True, kw_only=True, order=True)
class Runtime:
    """What a wheel must support: Python minor, machine, and the newest glibc that it may need."""

    python: str
    machine: str
    glibc: str


class Kind(StrEnum):
    """Which files of a package are asked for. Only the usual ones must be there."""

    USUAL = "usual"
    """Final releases with a wheel, or of those without wheels with an sdist."""
    WHEELS = "wheels"
    """Wheels, also of pre-releases."""
    ANY = "any"
    """Wheels and sdists, also of pre-releases."""


@dataclass(frozen=True, kw_only=True, order=True)
class Question:
    """Asks which versions of ``package`` the index has for ``runtime``."""

    package: str
    runtime: Runtime
    kind: Kind = Kind.USUAL


Answers = Mapping[Question, Collection[Version]]


def questions(uses: Sequence[Use], chosen: Collection[str], compat: Compat) -> list[Question]:
    """What to ask an index before ``updates.compare`` can be called with the same arguments.

    For every target its own runtime; and for what is wholly new also the newest Python that
    compat.yaml knows, because new wheels may not be made for the targets' Pythons any more.
    """
    asked = {
        question_of(use.key, target) for use in open_uses(uses, chosen) for target in use.targets
    }
    if is_whole(uses, chosen):
        runtimes = {question.runtime for question in asked if question.package == "torch_npu"}
        known = {python for row in compat.pairings for python in row.pythons}
        newest = max((*known, *(runtime.python for runtime in runtimes)), key=_numbers)
        for machine in {runtime.machine for runtime in runtimes}:
            same = [runtime for runtime in runtimes if runtime.machine == machine]
            glibc = max((runtime.glibc for runtime in same), key=_numbers)
            for python in (newest, max((runtime.python for runtime in same), key=_numbers)):
                runtime = Runtime(python=python, machine=machine, glibc=glibc)
                asked.add(Question(package="torch_npu", runtime=runtime))
    return sorted(asked)


def question_of(key: str, target: Target) -> Question:
    """Asks for the versions of what ``key`` of ``target`` names."""
    python, machine, glibc = target.python.minor, target.machine, target.base.glibc
    runtime = Runtime(python=python, machine=machine, glibc=glibc)
    return Question(package=TOOLS.get(key, key), runtime=runtime)


def open_uses(uses: Iterable[Use], chosen: Collection[str]) -> list[Use]:
    """The uses by a chosen target whose wheel comes from an index and is not tied to a plugin."""
    return [
        use
        for use in uses
        if any(target.id in chosen for target in use.targets)
        and not any(use.key in target.vendor_wheels for target in use.targets)
        and not (use.key == "deepspeed" and any(target.deepspeed_plugin for target in use.targets))
    ]


def is_whole(uses: Iterable[Use], chosen: Collection[str]) -> bool:
    """Whether ``chosen`` are all targets with a torch_npu."""
    users = {target.id for use in uses if use.key == "torch_npu" for target in use.targets}
    return bool(users) and users <= set(chosen)


def _numbers(dotted: str) -> list[int]:
    return [int(part) for part in dotted.split(".")]


def ask(questions: Iterable[Question], source: PackageIndex) -> dict[Question, frozenset[Version]]:
    """The versions, without pre-releases, that the index has for each question."""
    asked = [*questions]
    packages = sorted({question.package for question in asked})
    console.say(f"asking the package index for {', '.join(packages)}")
    try:
        with workers(_AT_ONCE) as give:
            given = [give(partial(_ask, source=source), question) for question in asked]
    except EngineError:
        # Which question fails first is chance; those that one thing mends are one problem.
        errors = [future.exception() for future in given if not future.cancelled()]
        by_fix: dict[str, dict[str, None]] = {}
        for error in errors:
            for problem in error.problems if isinstance(error, EngineError) else ():
                by_fix.setdefault(problem.fix, {})[problem.what] = None
        problems = [Problem(what="".join(whats), fix=fix) for fix, whats in by_fix.items()]
        raise EngineError(problems) from None
    results = dict(zip(asked, (future.result() for future in given), strict=True))
    there = {question.package for question, (versions, _) in results.items() if versions}
    missing = {
        q.package: output
        for q, (_, output) in results.items()
        if q.package not in there and q.kind is Kind.USUAL
    }
    if missing:
        fix = "Check --index-url and 'pip config list'."
        lines = [
            f"the package index does not have {package}. pip says:\n{output}\n"
            for package, output in missing.items()
        ]
        raise EngineError(Problem(what="".join(lines), fix=fix))
    return {question: versions for question, (versions, _) in results.items()}


def _ask(question: Question, source: PackageIndex) -> tuple[frozenset[Version], str]:
    """The versions, and the warnings of pip."""
    argv = [sys.executable, "-P", "-m", "pip", "-vv", "--disable-pip-version-check", "--no-input"]
    argv += ["index", "versions", question.package, "--python-version", question.runtime.python]
    argv += ["--pre"] * (question.kind is not Kind.USUAL)
    if question.package not in _SDISTS and question.kind is not Kind.ANY:
        # pip does not derive the platforms whose wheels are compatible.
        names = platforms(question.runtime.machine, question.runtime.glibc)
        argv += ["--only-binary", ":all:", *(f"--platform={name}" for name in names)]
    code, output = run(argv, env=pip_environment(source))
    if "No module named pip" in output:
        what = f"{sys.executable} has no pip."
        raise EngineError(Problem(what=what, fix="'bash setup.sh' installs it."))
    failed = _FAILED.findall(output)
    # Even if another index has answered, because this one may have newer versions.
    unread = [
        f"the package index cannot be read: {url}: {why}\n"
        for url, why in failed
        if not why.startswith(_NOT_THERE)
    ]
    if unread:
        fix = "Check the network, the proxy and --index-url; "
        fix += "name a file with your own certificates with --ca."
        raise EngineError([Problem(what=what, fix=fix) for what in unread])
    if code and "No matching distribution found" not in output:
        what = f"pip could not list {question.package} ({code}):\n{output.strip()[-2000:]}\n"
        raise EngineError(Problem(what=what, fix="'bash setup.sh' installs a suitable pip."))
    listed, versions = _VERSIONS.search(output), set()
    for text in listed[1].split(",") if listed else ():
        with suppress(InvalidVersion):
            versions.add(Version(text.strip()))
    warnings = [f"{url}: {why}" for url, why in failed] + _WARNED.findall(output)
    return frozenset(versions), "\n".join(dict.fromkeys(warnings))


def pip_environment(source: PackageIndex) -> dict[str, str]:
    """Settings for pip, as variables, because everybody can see the arguments of a process."""
    variables = {"PIP_INDEX_URL": source.index_url} if source.index_url else {}
    if source.ca:
        # pip reads the first variable, and its libraries prefer the second.
        variables |= {"PIP_CERT": str(source.ca), "REQUESTS_CA_BUNDLE": str(source.ca)}
    return variables


def check_upgrades(project: Project, targets: Iterable[Target], upgrade: Iterable[str]) -> None:
    """Check that each package of ``upgrade``, a name or a requirement, is in a lock."""
    if not (wanted := list(upgrade)):
        return
    known = {name for target in targets for name in _packages(project, target)}
    problems = []
    for text in wanted:
        try:
            name = normal_name(parse_requirement(text).name)
        except InvalidRequirement:
            what = f"{text!r} is not the name of a package."
            problems.append(Problem(what=what, fix="Write it as in numpy, or numpy<2."))
            continue
        if name not in known:
            near = closest(name, known)
            hint = f"Did you mean {near!r}?" if near else ""
            what = f"no selected target has a package {text!r} in its lock."
            problems.append(Problem(what=what, fix=hint))
    if problems:
        raise UsageError(problems)


def _packages(project: Project, target: Target) -> Iterator[str]:
    """The packages of a target: those that it requires, and all in its lock."""
    requirements = Requirements(target)
    for groups in (requirements.groups, requirements.build_groups):
        for texts in groups.values():
            yield from (normal_name(requirement.name) for requirement in parse_requirements(texts))
    for path in (project.lock(target), project.build_requirements_lock(target)):
        # A line that is wrong is told when the target is locked.
        with suppress(MatrixError, FileNotFoundError):
            yield from (wheel.name for wheel in parse_lock(read_text(path)).wheels)
