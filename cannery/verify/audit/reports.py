# SPDX-License-Identifier: Apache-2.0
"""The report on an image of any origin as text, JSON and JUnit's XML, and its record for tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from cannery.common.console import columns
from cannery.common.model import MACHINE_OF
from cannery.common.outside import json_text, printable
from cannery.verify.audit.found import ImageConfig, ImageFacts, Origin
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


_COMPONENTS = {
    "torch": "torch",
    "torch_npu": "torch-npu",
    "apex": "apex",
    "deepspeed": "deepspeed",
    "mindspore": "mindspore",
}
"""Component of the image tests to its Python package."""

_VERSIONS = ("triton", "triton-ascend", "vllm", "vllm-ascend", "transformers", "numpy")


def describe(found: ImageFacts, config: ImageConfig) -> dict[str, str]:
    """What the image is, for people, in the order of a report."""
    cann = found.cann
    what = {
        "image": _origin(config),
        "architecture": found.machine or config.architecture,
        "system": found.os.get("pretty_name") or found.os.get("id", ""),
        "libc": found.libc,
        "python": f"{found.python} ({found.interpreter})" if found.python else "",
        "CANN toolkit": f"{cann.toolkit} ({cann.folder})" if cann else "",
        "kernels": f"{cann.kernels} for {', '.join(cann.chips)}".strip() if cann else "",
        "NNAL": cann.nnal if cann else "",
        "stand-ins": "CANN is simulated" if cann and cann.stand_ins else "",
        **{name: found.versions.get(each, "") for name, each in _COMPONENTS.items()},
        **{name: found.versions.get(name, "") for name in _VERSIONS},
        "user": config.user or "root",
        "entrypoint": " ".join(config.entrypoint),
        "not found out": "; ".join(f"{n}: {why}" for n, why in found.failed.items()),
    }
    return {name: text for name, text in what.items() if text}


def _origin(config: ImageConfig) -> str:
    target = config.label("target")
    if config.origin is Origin.FOREIGN:
        return "not made by cannery"
    if config.origin is Origin.OURS:
        return f"target {target} of cannery"
    steps = config.later_steps
    if steps is None:
        return f"made from target {target} of cannery, or it; the history does not say"
    return f"made from target {target} of cannery, with {len(steps)} more steps"


def record_of(found: ImageFacts, config: ImageConfig) -> dict[str, Any]:
    """The record with which the image tests compare the image.

    That of a cannery image is in it, and is what it, and images made from it, must have; that of
    another image says what was found, so that only what can be used is tested.
    """
    if found.own_record and config.origin is not Origin.FOREIGN:
        return dict(found.own_record)
    cann = found.cann
    components = {name: found.versions.get(each, "") for name, each in _COMPONENTS.items()}
    components |= {"toolkit": cann.toolkit if cann else ""}
    torch = components["torch"].partition("+")[0]
    return {
        "id": config.reference,
        "platform": config.platform,
        "machine": MACHINE_OF.get(config.architecture, config.architecture),
        "components": {n: v for n, v in (components | {"torch": torch}).items() if v},
        "operators": cann.operators[0] if cann and cann.operators else "",
        "site_packages": found.folders.get("torch", ""),
    }
