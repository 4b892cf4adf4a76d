# SPDX-License-Identifier: Apache-2.0
"""The report on an image of any origin as text for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from cannery.common.columns import columns
from cannery.common.printable import printable
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
