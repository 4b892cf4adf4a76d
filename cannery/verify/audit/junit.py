# SPDX-License-Identifier: Apache-2.0
"""The report on an image of any origin as JUnit XML, which CI services show.

The form is that of pytest's ``--junit-xml``: a suite for each group, a case for each check.
"""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from cannery.common.printable import printable
from cannery.verify.audit.result import Audit, Result, Standing


def to_junit(audit: Audit) -> str:
    """A failure for each result that fails; what is neither known nor failed is skipped."""
    groups = dict.fromkeys(each.group for each in audit.results)
    lines = ['<?xml version="1.0" encoding="utf-8"?>']
    lines.append(f"<testsuites {_counts(audit, audit.results)} name={_attribute(audit.reference)}>")
    for group in groups:
        own = [each for each in audit.results if each.group == group]
        lines.append(f"  <testsuite name={_attribute(group)} {_counts(audit, own)}>")
        for each in own:
            lines += _case(audit, each)
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>", ""])


def _counts(audit: Audit, results: Iterable[Result]) -> str:
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
