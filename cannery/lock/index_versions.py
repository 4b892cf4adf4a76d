# SPDX-License-Identifier: Apache-2.0
"""Asks a package index for the versions of packages, with pip, and checks what is to be upgraded.

pip uses the configured mirrors, proxies, certificates and credentials, and lists only wheels that
the given interpreter can install, without yanked versions.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain

from packaging.requirements import InvalidRequirement
from packaging.version import InvalidVersion, Version

from cannery.common import console
from cannery.common.errors import EngineError, MatrixError, Problem, UsageError, closest
from cannery.common.files import read_text
from cannery.common.model import Target
from cannery.common.package_index import PackageIndex
from cannery.common.process import run, workers
from cannery.common.specifiers import normal_name, parse_requirement, parse_requirements
from cannery.common.wheels import platforms
from cannery.lock.index_questions import Question
from cannery.lock.lock_file import parse_lock
from cannery.lock.requirements import Requirements
from cannery.matrix.project import Project

_SDISTS = ("deepspeed",)
"""Packages without wheels, for which a platform cannot be given."""

_AT_ONCE = 8
"""How many questions are asked at the same time: pip mostly waits."""

_FOUND = re.compile(r"^\s*Available versions: (.+)$", re.MULTILINE)
_FAILED = re.compile(r"^\s*Could not fetch URL (\S+): (.+?)(?: - skipping)?$", re.MULTILINE)
_WARNED = re.compile(r"^\s*(?:WARNING|ERROR): (?!Retrying |pip index is )(.+)$", re.MULTILINE)
_NOT_THERE = ("403 ", "404 ", "410 ")
"""Answers of an index that does not have a package; another index may have it."""


def ask(questions: Iterable[Question], source: PackageIndex) -> dict[Question, frozenset[Version]]:
    """The versions, without pre-releases, that the index has for each question.

    Raises:
        EngineError: an index cannot be reached, no index has a package, or pip is missing.
    """
    asked = [*questions]
    packages = sorted({each.package for each in asked})
    console.say(f"asking the package index for {', '.join(packages)}")
    try:
        with workers(_AT_ONCE) as give:
            given = [give(partial(_ask, source=source), each) for each in asked]
    except EngineError:
        # Which question fails first is chance.
        errors = [each.exception() for each in given if not each.cancelled()]
        found = [each.problems for each in errors if isinstance(each, EngineError)]
        raise EngineError(_with_one_fix(chain.from_iterable(found))) from None
    results = dict(zip(asked, (each.result() for each in given), strict=True))
    there = {each.package for each, (versions, _) in results.items() if versions}
    missing = {q.package: said for q, (_, said) in results.items() if q.package not in there}
    if missing:
        fix = "Check --index-url and 'pip config list'."
        lines = [
            f"the package index does not have {package}. pip says:\n{said}\n"
            for package, said in missing.items()
        ]
        raise EngineError(Problem(what="".join(lines), fix=fix))
    return {each: versions for each, (versions, _) in results.items()}


def _with_one_fix(problems: Iterable[Problem]) -> list[Problem]:
    """``problems``, those that one thing mends as one."""
    by_fix: dict[str, dict[str, None]] = {}
    for each in problems:
        by_fix.setdefault(each.fix, {})[each.what] = None
    return [Problem(what="".join(whats), fix=fix) for fix, whats in by_fix.items()]


def _ask(question: Question, source: PackageIndex) -> tuple[frozenset[Version], str]:
    """The versions, and the warnings of pip.

    Raises:
        EngineError: pip is missing, or cannot list them.
    """
    code, said = run(_argv(question), capture=True, env=pip_environment(source))
    if "No module named pip" in said:
        what = f"{sys.executable} has no pip."
        raise EngineError(Problem(what=what, fix="'bash setup.sh' installs it."))
    failed = _FAILED.findall(said)
    # Even if another index has answered, because this one may have newer versions.
    unread = [
        f"the package index cannot be read: {url}: {why}\n"
        for url, why in failed
        if not why.startswith(_NOT_THERE)
    ]
    if unread:
        fix = "Check the network, the proxy and --index-url; "
        fix += "name a file with your own certificates with --ca."
        raise EngineError([Problem(what=each, fix=fix) for each in unread])
    found = _FOUND.search(said)
    complaints = [f"{url}: {why}" for url, why in failed] + _WARNED.findall(said)
    if code and "No matching distribution found" not in said:
        what = f"pip could not list {question.package} ({code}):\n{said.strip()[-2000:]}\n"
        raise EngineError(Problem(what=what, fix="'bash setup.sh' installs a suitable pip."))
    return frozenset(_versions(found[1] if found else "")), "\n".join(dict.fromkeys(complaints))


def _argv(question: Question) -> list[str]:
    argv = [sys.executable, "-P", "-m", "pip", "-vv", "--disable-pip-version-check", "--no-input"]
    argv += ["index", "versions", question.package, "--python-version", question.runtime.python]
    if question.package in _SDISTS:
        return argv
    # pip does not derive the platforms whose wheels are compatible.
    names = platforms(question.runtime.machine, question.runtime.glibc)
    return [*argv, "--only-binary", ":all:", *(f"--platform={each}" for each in names)]


def pip_environment(source: PackageIndex) -> dict[str, str]:
    """Settings for pip, as variables, because everybody can see the arguments of a process."""
    found = {}
    if source.index_url:
        found["PIP_INDEX_URL"] = source.index_url
    if source.ca:
        # pip reads the first variable, and its libraries prefer the second.
        found |= {"PIP_CERT": str(source.ca), "REQUESTS_CA_BUNDLE": str(source.ca)}
    return found


def _versions(listed: str) -> Iterable[Version]:
    for text in listed.split(","):
        try:
            yield Version(text.strip())
        except InvalidVersion:
            continue


def check_upgrades(project: Project, targets: Iterable[Target], upgrade: Iterable[str]) -> None:
    """Check that each package of ``upgrade``, a name or a requirement, is in a lock.

    Raises:
        UsageError: with every one that is not.
    """
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
    groups = (requirements.groups, requirements.build_groups)
    for texts in (texts for each in groups for texts in each.values()):
        yield from (normal_name(each.name) for each in parse_requirements(texts))
    for path in (project.lock(target), project.build_requirements_lock(target)):
        if path.exists():
            # A line that is wrong is told when the target is locked.
            with suppress(MatrixError):
                yield from (wheel.name for wheel in parse_lock(read_text(path)).wheels)
