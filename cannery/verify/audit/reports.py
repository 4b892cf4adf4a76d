# SPDX-License-Identifier: Apache-2.0
"""The report on an image of any origin as text, JSON and JUnit's XML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from xml.sax.saxutils import escape, quoteattr

from cannery.common.columns import columns
from cannery.common.printable import json_text, printable
from cannery.verify.audit.result import Audit, Result, Standing

_SHOWN = (Standing.BROKEN, Standing.UNKNOWN, Standing.NOT_OURS, Standing.NOTE)
"""What is always shown in full."""


def to_text(audit: Audit, *, verbose: bool = False) -> str:
    """The verdict, what the image is, and each result that is not a pass; with ``verbose`` all."""
    rows = [[f"{name}:", text] for name, text in audit.what.items()]
    rows += [[f"on {kind}:", text] for kind, text in audit.hardware.items()]
    lines = [_head(audit), *(f"  {line}" for line in columns(rows)), *_counts(audit)]
    standings = [*_SHOWN, *([Standing.PASSED] if verbose else [])]
    for standing in standings:
        own = [each for each in audit.results if each.standing is standing]
        if own:
            lines += ["", f"{standing}:"]
            lines += [line for each in own for line in _result(each)]
    lines += _not_run(audit, verbose=verbose)
    return printable("\n".join(lines)) + "\n"


def _head(audit: Audit) -> str:
    count = audit.count(audit.standing)
    found = {
        Standing.BROKEN: f"broken ({count} checks)",
        Standing.UNKNOWN: f"unknown pairing ({count} checks)",
        Standing.PASSED: "nothing is known to be wrong",
    }
    return f"{audit.reference}: {found.get(audit.standing, 'not ours to say')}"


def _counts(audit: Audit) -> list[str]:
    counts = Counter(each.standing for each in audit.results)
    return [
        "  checks:  " + ", ".join(f"{counts[each]} {each}" for each in Standing if counts[each])
    ]


def _result(result: Result) -> Iterator[str]:
    where = f" (device: {result.device})" if result.device else ""
    first, *rest = result.text.splitlines() or [""]
    yield f"  {result.check}{where}: {first}"
    yield from (f"    {line}" for line in rest)
    if result.fix:
        yield f"    {result.fix}"
    if result.standing is not Standing.PASSED:
        yield from (f"    source: {each}" for each in result.sources)


def _not_run(audit: Audit, *, verbose: bool) -> list[str]:
    left = [each for each in audit.results if each.standing is Standing.NOT_RUN]
    if not left:
        return []
    if verbose:
        return ["", "not run:", *(line for each in left for line in _result(each))]
    about_device = [each for each in left if each.group in ("device", "own")]
    return [line for each in about_device for line in ("", *_result(each))]


def to_json(audit: Audit) -> str:
    """Everything that is known of the image, for programs."""
    document = {"schema": 1, "verdict": audit.standing, "failed": bool(audit.failures)}
    return json_text(document | asdict(audit)) + "\n"


def to_junit(audit: Audit) -> str:
    """A failure for each result that fails; what is neither known nor failed is skipped."""
    groups = dict.fromkeys(each.group for each in audit.results)
    lines = ['<?xml version="1.0" encoding="utf-8"?>']
    lines.append(
        f"<testsuites {_junit_counts(audit, audit.results)} name={_attribute(audit.reference)}>"
    )
    for group in groups:
        own = [each for each in audit.results if each.group == group]
        lines.append(f"  <testsuite name={_attribute(group)} {_junit_counts(audit, own)}>")
        for each in own:
            lines += _case(audit, each)
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>", ""])


def _junit_counts(audit: Audit, results: Iterable[Result]) -> str:
    every = [*results]
    failures = sum(map(audit.is_failure, every))
    skipped = sum(_is_skipped(audit, each) for each in every)
    return f'tests="{len(every)}" failures="{failures}" errors="0" skipped="{skipped}"'


def _is_skipped(audit: Audit, result: Result) -> bool:
    undecided = (Standing.UNKNOWN, Standing.NOT_OURS, Standing.NOT_RUN)
    return result.standing in undecided and not audit.is_failure(result)


def _case(audit: Audit, result: Result) -> list[str]:
    name = result.check.partition("/")[2] + (f" [{result.device}]" if result.device else "")
    opening = f"    <testcase classname={_attribute(result.group)} name={_attribute(name)}"
    message = _attribute(f"{result.standing}: {result.text.splitlines()[0] if result.text else ''}")
    text = "\n".join(filter(None, (result.text, result.fix, *result.sources)))
    if audit.is_failure(result):
        body = f"      <failure message={message}>{_text(text)}</failure>"
    elif _is_skipped(audit, result):
        body = f"      <skipped message={message}>{_text(text)}</skipped>"
    elif result.standing is Standing.NOTE:
        body = f"      <system-out>{_text(text)}</system-out>"
    else:
        return [f"{opening}/>"]
    return [f"{opening}>", body, "    </testcase>"]


def _text(text: str) -> str:
    return escape(printable(text))


def _attribute(text: str) -> str:
    return quoteattr(printable(text))
