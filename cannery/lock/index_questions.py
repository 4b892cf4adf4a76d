# SPDX-License-Identifier: Apache-2.0
"""The questions to a package index whose answers are compared with matrix.yaml. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from packaging.version import Version

from cannery.common.model import TOOLS, Target
from cannery.compat.facts import Compat
from cannery.matrix.text import Use

KEYS = ("torch", "torch_npu", "deepspeed", *TOOLS)
"""The keys of a target that an index may have newer versions of."""


@dataclass(frozen=True, kw_only=True, order=True)
class Runtime:
    """What a wheel must support: Python minor, machine, and the newest glibc that it may need."""

    python: str
    machine: str
    glibc: str


@dataclass(frozen=True, kw_only=True, order=True)
class Question:
    """Asks which versions of ``package`` the index has for ``runtime``."""

    package: str
    runtime: Runtime


Answers = Mapping[Question, Collection[Version]]


def questions(uses: Sequence[Use], chosen: Collection[str], compat: Compat) -> list[Question]:
    """What to ask an index before ``compare`` can be called with the same arguments.

    For every target its own runtime; and for what is wholly new also the newest Python that
    compat.yaml knows, because new wheels may not be made for the targets' Pythons any more.
    """
    found = {
        question_of(use.key, target)
        for use in open_uses(uses, chosen)
        if use.key != "torch"
        for target in use.targets
    }
    if is_whole(uses, chosen):
        runtimes = {question.runtime for question in found if question.package == "torch_npu"}
        newest = max((newest_python(compat), *(each.python for each in runtimes)), key=_numbers)
        for machine in {each.machine for each in runtimes}:
            ours = [each for each in runtimes if each.machine == machine]
            glibc = max((each.glibc for each in ours), key=_numbers)
            last = max((each.python for each in ours), key=_numbers)
            for python in (newest, last):
                runtime = Runtime(python=python, machine=machine, glibc=glibc)
                found |= {Question(package=name, runtime=runtime) for name in KEYS[:2]}
    return sorted(found)


def question_of(key: str, target: Target) -> Question:
    """Asks for the versions of what ``key`` of ``target`` names."""
    return Question(package=TOOLS.get(key, key), runtime=runtime_of(target))


def open_uses(uses: Iterable[Use], chosen: Collection[str]) -> list[Use]:
    """The uses by a chosen target whose wheel comes from an index and is not tied to a plugin."""
    return [
        use
        for use in uses
        if any(target.id in chosen for target in use.targets)
        and not any(use.key in target.vendor_wheels for target in use.targets)
        and not (use.key == "deepspeed" and any(each.deepspeed_plugin for each in use.targets))
    ]


def is_whole(uses: Iterable[Use], chosen: Collection[str]) -> bool:
    """Whether ``chosen`` are all targets with a torch_npu."""
    users = {target.id for use in uses if use.key == "torch_npu" for target in use.targets}
    return bool(users) and users <= set(chosen)


def runtime_of(target: Target) -> Runtime:
    """The runtime of the wheels of ``target``."""
    return Runtime(python=target.python.minor, machine=target.machine, glibc=target.base.glibc)


def _numbers(dotted: str) -> list[int]:
    return [int(part) for part in dotted.split(".")]


def newest_python(compat: Compat) -> str:
    """The newest Python minor that compat.yaml has a pairing for."""
    known = {each for row in compat.pairings for each in row.pythons}
    return max(known, key=_numbers, default="3.11")
