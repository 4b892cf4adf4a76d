# SPDX-License-Identifier: Apache-2.0
"""What the commands would print and write for a meaning, without the numbers of lines."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cannery.common.errors import CanneryError, Problem
from cannery.common.model import Target
from cannery.compat import Compat, judge
from cannery.compat.check_report import explained, outdated, summary
from cannery.compat.files import load_archives
from cannery.compat.finding import Finding
from cannery.compat.sources import Row, Source
from cannery.engine.preflight import judge_driver
from cannery.image.render import Renderer
from cannery.matrix.files import Data
from cannery.matrix.text import MatrixText
from cannery.options import NewOptions
from cannery.publish.policy import Publishing
from cannery.update.new_target import propose
from tests.campaign.meaning import Meaning, names_of, plain, rows
from tests.campaign.probes import of_definitions, of_row

_LINE = re.compile(r"(\.yaml):\d+(:\d+)?")
_NEW: dict[str, Any] = {
    "torch": "",
    "cann": "",
    "chip": "910b",
    "deepspeed": "",
    "apex": False,
}
_KEY = "sha256:" + "0" * 64
_ROWS_OF_A_SOURCE = 8
_LATER = "2029-01-01"
"""A day on which every source has been read too long ago."""


class Outputs:
    """Compares what is printed and written before and after an edit of the YAML files."""

    def __init__(self, renderer: Renderer, before: Meaning, texts: Data) -> None:
        self._renderer = renderer
        self._text = MatrixText(texts)
        self._archives = load_archives()
        self._before = before
        self._stock = next(iter(before.targets.values()))
        self._explained = explain_all(before)
        self._proposed_before = self._proposed(before.compat)
        self._rows = rows(before.compat)
        self._names = names_of(before.definitions)
        self._files: dict[str, str] = {}

    def differ(self, after: Meaning) -> bool:
        """Whether anything that a user sees is another after the edit."""
        before = self._before
        if [*before.targets] != [*after.targets] or before.matrix.unused != after.matrix.unused:
            return True
        if before.publishing != after.publishing and self._published_differs(after):
            return True
        if before.targets != after.targets and self._targets_differ(after):
            return True
        names = names_of(after.definitions)
        if names != self._names and self._definitions_differ(after, names):
            return True
        found = rows(after.compat)
        return found != self._rows and self._facts_differ(after)

    def _published_differs(self, after: Meaning) -> bool:
        names = [*self._before.targets]
        old, new = self._before.publishing, after.publishing
        return [*published(old, names)] != [*published(new, names)]

    def _targets_differ(self, after: Meaning) -> bool:
        return any(
            self._listed(old) != self._listed(new)
            for old, new in zip(self._before.targets.values(), after.targets.values(), strict=True)
            if old != new
        )

    def _listed(self, target: Target) -> str:
        """What list, explain and render make of ``target``."""
        key = repr(target)
        if key not in self._files:
            self._files[key] = self._made(target)
        return self._files[key]

    def _made(self, target: Target) -> str:
        try:
            rendered = self._renderer.render(target).files
            files = [f"{name}\n{text}" for name, text in rendered.items()]
        except CanneryError as error:
            files = [str(error)]
        lines = [target.id, target.summary, target.platform, target.unverified, target.chip]
        lines += [f"{name} {version}" for name, version in target.components.items()]
        lines += [repr(each) for each in target.artifacts.values()]
        lines += [repr(each.images) for each in (target.cann, target.kernels)]
        return "\n".join([*lines, *files, *explain([target], self._before.compat)])

    def _definitions_differ(self, after: Meaning, names: dict[str, str]) -> bool:
        changed = [
            each for each in {*names, *self._names} if names.get(each) != self._names.get(each)
        ]
        if self._named(self._before) != self._named(after):
            return True
        targets = [*self._before.targets.values()]
        old = of_definitions(targets, self._before.definitions, changed)
        new = of_definitions(targets, after.definitions, changed)
        return [self._listed(each) for each in old] != [self._listed(each) for each in new]

    def _proposed(self, compat: Compat) -> list[str]:
        """What new says for some options, and writes for a release that matrix.yaml lacks."""
        lines = [*compat.cann_python.requirements, _LINE.sub(r"\1", compat.cann_python.cited)]
        more: list[dict[str, Any]] = [{"apex": True}, {"chip": "a3"}]
        for python, other in itertools.product(("3.9", "3.11"), more):
            options = NewOptions(python=python, id="new", **{**_NEW, **other})
            try:
                proposal = propose(options, compat, self._text, self._archives, {"": self._stock})
                lines += [_LINE.sub(r"\1", str(each)) for each in proposal.entries]
            except CanneryError as error:
                lines.append(str(error))
        return lines

    @staticmethod
    def _named(meaning: Meaning) -> list[Any]:
        """The Pythons that a target may name, and what its 'keep' may name and then keeps."""
        return [*meaning.definitions.pythons, *meaning.definitions.leave_out.items()]

    def _facts_differ(self, after: Meaning) -> bool:
        old, new = self._before.compat, after.compat
        if self._explained != explain_all(after):
            return True
        if self._proposed_before != self._proposed(new):
            return True
        aged = [outdated(each.sources.values(), _LATER, each.absences) for each in (old, new)]
        if aged[0] != aged[1]:
            return True
        asked = [
            probe
            for row in (*_changed(old, new), *_changed(new, old))
            for probe in of_row(row, self._stock)
        ]
        return any(explain([each], old) != explain([each], new) for each in asked)


def _changed(compat: Compat, other: Compat) -> Iterator[Row]:
    """The rows of ``compat`` that ``other`` has not, or not as often."""
    for name in Compat.model_fields:
        mine, others = getattr(compat, name), getattr(other, name)
        if name == "sources":
            changed = [source for key, source in mine.items() if others.get(key) != source]
            yield from (row for source in changed for row in _cited(compat, source))
        elif isinstance(mine, tuple) and mine:
            left = [plain(row) for row in others]
            for row in mine:
                if (text := plain(row)) in left:
                    left.remove(text)
                else:
                    yield row


def _cited(compat: Compat, source: Source) -> list[Row]:
    every = (getattr(compat, name) for name in Compat.model_fields)
    lists = (part for part in every if isinstance(part, tuple))
    cited = [row for rows in lists for row in rows if source in row.sources]
    return cited[:_ROWS_OF_A_SOURCE]


def explain_all(meaning: Meaning) -> list[str]:
    """What check, explain and run say of every target."""
    findings = meaning.matrix.findings
    return _said([(each, findings[each.id]) for each in meaning.targets.values()], meaning.compat)


def explain(targets: Iterable[Target], compat: Compat) -> list[str]:
    """What check, explain and run say of ``targets``."""
    return _said([(target, judge(target, compat)) for target in targets], compat)


def _said(judged: Sequence[tuple[Target, Sequence[Finding]]], compat: Compat) -> list[str]:
    lines = summary(judged, "2026-11-22")
    for target, findings in judged:
        for each in findings:
            lines += [*explained(each, 100), str(each.verdict), each.fix]
        for version in ("0.0.1", "99.0.0"):
            said = judge_driver(version, target, compat)
            lines.append(str(said) if isinstance(said, Problem) else said)
    return [_LINE.sub(r"\1", line) for line in lines]


def published(publishing: Publishing, names: Iterable[str]) -> Iterator[str]:
    """The names that push gives, and the links of the table."""
    yield publishing.repository
    for name in names:
        yield publishing.immutable_tag(name, _KEY, simulate=False)
        yield from publishing.moving_tags(name, simulate=False)
        if trial := publishing.trials.get(name):
            yield f"{name} {trial.title} {trial.url}"
    for tag, parts in publishing.indexes.items():
        yield f"{publishing.index_tag(tag, simulate=False)} {' '.join(parts)}"
