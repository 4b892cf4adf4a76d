# SPDX-License-Identifier: Apache-2.0
"""Asks a package index which versions it has, through pip.

pip does it so that its mirrors, proxies, certificates and credentials are used as configured, and
so that only wheels count that the asked-for interpreter could install. Yanked versions never do.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

from packaging.version import InvalidVersion, Version

from cannery import console
from cannery.errors import EngineError, Problem
from cannery.execute.engine.buildx import PackageIndex
from cannery.execute.process import run
from cannery.matrix.updates import Question, Runtime

_OLDEST_GLIBC = 17
"""Of glibc 2: manylinux_2_17 is the oldest platform that has aarch64 wheels."""

_SDISTS = ("deepspeed",)
"""What has no wheels on an index, so that no platform can be asked for."""

_FOUND = re.compile(r"^\s*Available versions: (.+)$", re.MULTILINE)
_FAILED = re.compile(r"^\s*Could not fetch URL (\S+): (.+?)(?: - skipping)?$", re.MULTILINE)
_WARNED = re.compile(r"^\s*(?:WARNING|ERROR): (?!Retrying |pip index is )(.+)$", re.MULTILINE)
_NOT_THERE = ("403 ", "404 ", "410 ")
"""What indexes answer when they do not have a package; another one may have it."""


def ask(questions: Iterable[Question], source: PackageIndex) -> dict[Question, frozenset[Version]]:
    """The versions, without pre-releases, that the index has for each question.

    Raises:
        EngineError: an index cannot be reached, or none has a package at all; or pip is missing.
    """
    answers: dict[Question, frozenset[Version]] = {}
    said: dict[str, str] = {}
    for question in questions:
        python = question.runtime.python
        console.say(f"asking the package index for {question.package} on Python {python}")
        answers[question], said[question.package] = _ask(question, source)
    for package, reason in said.items():
        if not any(answers[each] for each in answers if each.package == package):
            raise EngineError(
                Problem(
                    what=f"the package index has no {package}. pip says:\n{reason}\n",
                    fix="Check --index-url, and 'pip config list'.",
                )
            )
    return answers


def _ask(question: Question, source: PackageIndex) -> tuple[frozenset[Version], str]:
    """The versions, and what pip complains of."""
    code, said = run(_argv(question), capture=True, env=_environment(source))
    if "No module named pip" in said:
        what = f"there is no pip for {sys.executable}."
        raise EngineError(Problem(what=what, fix="'bash setup.sh' installs it."))
    failed = _FAILED.findall(said)
    if reasons := [f"{url}: {why}" for url, why in failed if not why.startswith(_NOT_THERE)]:
        # Even if another index has answered: what is new may be on this one.
        lines = "\n".join(reasons)
        raise EngineError(
            Problem(
                what=f"the package index cannot be read. pip says:\n{lines}\n",
                fix="Check the network, the proxy and --index-url; "
                "name the file with your own certificates with --ca.",
            )
        )
    found = _FOUND.search(said)
    complaints = [f"{url}: {why}" for url, why in failed] + _WARNED.findall(said)
    if code and "No matching distribution found" not in said:
        what = f"pip could not list {question.package} ({code}):\n{said.strip()[-2000:]}\n"
        raise EngineError(Problem(what=what, fix="'bash setup.sh' installs a pip that can."))
    return frozenset(_versions(found[1] if found else "")), "\n".join(dict.fromkeys(complaints))


def _argv(question: Question) -> list[str]:
    argv = [sys.executable, "-m", "pip", "-vv", "--disable-pip-version-check", "--no-input"]
    argv += ["index", "versions", question.package, "--python-version", question.runtime.python]
    if question.package in _SDISTS:
        return argv
    platforms = _platforms(question.runtime)
    return [*argv, "--only-binary", ":all:", *(f"--platform={each}" for each in platforms)]


def _platforms(runtime: Runtime) -> list[str]:
    """Every platform whose wheels run there, because pip derives none from another."""
    glibc = int(runtime.glibc.split(".")[1])
    found = [f"manylinux_2_{minor}" for minor in range(glibc, _OLDEST_GLIBC - 1, -1)]
    return [f"{name}_{runtime.machine}" for name in (*found, "manylinux2014", "linux")]


def _environment(source: PackageIndex) -> dict[str, str]:
    """What pip would not find by itself; not in its arguments, which everybody can see."""
    found = {}
    if source.index_url:
        found["PIP_INDEX_URL"] = source.index_url
    if source.ca:
        # pip asks for the first, and what it is made of prefers the second.
        found |= {"PIP_CERT": str(source.ca), "REQUESTS_CA_BUNDLE": str(source.ca)}
    return found


def _versions(listed: str) -> Iterable[Version]:
    for text in listed.split(","):
        try:
            yield Version(text.strip())
        except InvalidVersion:
            continue
