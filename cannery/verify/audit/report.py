# SPDX-License-Identifier: Apache-2.0
"""The results of an audit, one for each check; the report as text, JSON and JUnit's XML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from xml.etree import ElementTree as ET

from cannery.common.console import columns
from cannery.common.model import DeviceKind
from cannery.common.outside import json_text, printable

NO_FACTS = "image/probe"
"""The check of an image that could not be read; it fails, because nothing was tested."""

NOT_ASCEND = "compat/image"
"""The check of an image without anything for an NPU, where passes mean nothing."""


class Standing(StrEnum):
    """The result of one check. That of an image is the first of these that a check has."""

    BROKEN = "broken"
    """It is known to fail, or it has failed."""
    UNKNOWN = "unknown pairing"
    """No source says that it works, and none that it fails."""
    NOT_OURS = "not ours to say"
    """Nothing is known of its kind, or it could not be read."""
    NOTE = "note"
    """It works, and there is something to know."""
    PASSED = "passed"
    NOT_RUN = "not run"


@dataclass(frozen=True, kw_only=True)
class Result:
    """One check. ``check`` is its name as GROUP/NAME, ``text`` a sentence for people.

    ``sources`` are citations; ``device`` is the kind that it ran on, if any.
    """

    check: str
    standing: Standing
    text: str
    fix: str = ""
    sources: tuple[str, ...] = ()
    device: DeviceKind | None = None

    @property
    def group(self) -> str:
        return self.check.partition("/")[0]


def passed(check: str, text: str) -> Result:
    """The result of a check that passed."""
    return Result(check=check, standing=Standing.PASSED, text=text)


def broken(check: str, text: str, fix: str = "", *, sources: tuple[str, ...] = ()) -> Result:
    """The result of a check that failed."""
    return Result(check=check, standing=Standing.BROKEN, text=text, fix=fix, sources=sources)


@dataclass(frozen=True, kw_only=True)
class Audit:
    """Everything about one image.

    ``what`` maps names for people to facts, as "torch" to "2.3.1". ``hardware`` maps the kinds of
    device on which it ran to the machine. ``strict`` makes unknown pairings failures.
    """

    reference: str
    image_id: str
    origin: str
    what: Mapping[str, str]
    results: tuple[Result, ...]
    hardware: Mapping[DeviceKind, str] = field(default_factory=dict)
    profiles: tuple[str, ...] = ()
    strict: bool = False
    date: str = ""

    @property
    def standing(self) -> Standing:
        """The gravest of its checks; notes do not count."""
        standings = {result.standing for result in self.results}
        for gravest in (Standing.BROKEN, Standing.UNKNOWN):
            if gravest in standings:
                return gravest
        unknown = any(result.check in (NO_FACTS, NOT_ASCEND) for result in self.results)
        if unknown or Standing.PASSED not in standings:
            return Standing.NOT_OURS
        return Standing.PASSED

    @property
    def failures(self) -> tuple[Result, ...]:
        """The results that make the command fail."""
        return tuple(result for result in self.results if self.is_failure(result))

    def is_failure(self, result: Result) -> bool:
        """Whether ``result`` makes the command fail."""
        if result.standing is Standing.UNKNOWN:
            return self.strict
        return result.standing is Standing.BROKEN or result.check == NO_FACTS


def to_text(audit: Audit, *, verbose: bool = False) -> str:
    """The verdict, the image's facts, and each result but passes; with ``verbose`` all."""
    counts = Counter(result.standing for result in audit.results)
    verdict = {
        Standing.BROKEN: f"broken ({counts[Standing.BROKEN]} checks)",
        Standing.UNKNOWN: f"unknown pairing ({counts[Standing.UNKNOWN]} checks)",
        Standing.PASSED: "nothing is known to be wrong",
    }.get(audit.standing, "not ours to say")
    rows = [[f"{name}:", text] for name, text in audit.what.items()]
    rows += [[f"on {kind}:", text] for kind, text in audit.hardware.items()]
    lines = [f"{audit.reference}: {verdict}", *(f"  {line}" for line in columns(rows))]
    counted = ", ".join(f"{counts[kind]} {kind}" for kind in Standing if counts[kind])
    lines.append(f"  checks:  {counted}")
    for standing in Standing:
        results = [result for result in audit.results if result.standing is standing]
        if standing is Standing.NOT_RUN and not verbose:
            for result in results:
                lines += ["", *_lines(result)] if result.group in ("device", "own") else []
        elif results and (verbose or standing is not Standing.PASSED):
            lines += ["", f"{standing}:"]
            lines += [line for result in results for line in _lines(result)]
    return printable("\n".join(lines)) + "\n"


def _lines(result: Result) -> Iterator[str]:
    device = f" (device: {result.device})" if result.device else ""
    first, *rest = result.text.splitlines() or [""]
    yield f"  {result.check}{device}: {first}"
    yield from (f"    {line}" for line in rest)
    if result.fix:
        yield f"    {result.fix}"
    if result.standing is not Standing.PASSED:
        yield from (f"    source: {source}" for source in result.sources)


def to_json(audit: Audit) -> str:
    """Everything that is known of the image, for programs."""
    document = {"schema": 1, "verdict": audit.standing, "failed": bool(audit.failures)}
    return json_text(document | asdict(audit)) + "\n"


def to_junit(audit: Audit) -> str:
    """A failure for each result that fails; what is neither known nor failed is skipped."""

    def outcome(result: Result) -> str:
        if audit.is_failure(result):
            return "failure"
        undecided = (Standing.UNKNOWN, Standing.NOT_OURS, Standing.NOT_RUN)
        notes = {Standing.NOTE: "system-out", **dict.fromkeys(undecided, "skipped")}
        return notes.get(result.standing, "")

    def counts(results: Iterable[Result]) -> dict[str, str]:
        outcomes = [outcome(result) for result in results]
        failures, skipped = outcomes.count("failure"), outcomes.count("skipped")
        numbers = {"tests": len(outcomes), "failures": failures, "errors": 0, "skipped": skipped}
        return {name: str(number) for name, number in numbers.items()}

    root = ET.Element("testsuites", counts(audit.results), name=printable(audit.reference))
    for group in dict.fromkeys(result.group for result in audit.results):
        results = [result for result in audit.results if result.group == group]
        suite = ET.SubElement(root, "testsuite", counts(results), name=printable(group))
        for result in results:
            name = result.check.partition("/")[2] + (f" [{result.device}]" if result.device else "")
            case = ET.SubElement(
                suite, "testcase", classname=printable(group), name=printable(name)
            )
            if tag := outcome(result):
                part = ET.SubElement(case, tag)
                text = "\n".join(filter(None, (result.text, result.fix, *result.sources)))
                part.text = printable(text)
                if tag != "system-out":
                    message = f"{result.standing}: {(result.text.splitlines() or [''])[0]}"
                    part.set("message", printable(message))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'
