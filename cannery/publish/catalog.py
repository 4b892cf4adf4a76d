# SPDX-License-Identifier: Apache-2.0
"""The table of all images, between two markers of a page, and facts for other programs.

docs/reference.md has the fields of the facts, which ``list --format json --verbose`` prints.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from cannery.common import program
from cannery.common.cann_version import CannVersion
from cannery.common.console import code, escaped
from cannery.common.errors import MatrixError, Problem, Span, counted
from cannery.common.model import Target
from cannery.common.references import image_name
from cannery.compat.check_report import finding_document
from cannery.compat.facts import Driver
from cannery.compat.finding import unjudged
from cannery.deploy import formats
from cannery.deploy.workload import RUNTIMES, Workload
from cannery.fetch.needs import download_options, real_needs
from cannery.image.plan import read_plans
from cannery.matrix.project import Project
from cannery.publish.policy import Trial, load
from cannery.registry.records import Record, latest, read_records
from cannery.verify.results import WHERE, Basis, KeyOf, Result, known_results, verdicts

MARKERS = ("<!-- catalogue -->", "<!-- /catalogue -->")
"""The lines between which the table is."""

_PAGE = "docs/targets.md"
_README = "README.md"

_HEAD = "| target | platform | contents | verified on |\n|--|--|--|--|\n"

_BASIS = {
    Basis.CURRENT: "",
    Basis.OLDER: ", older than this state",
    Basis.PUBLISHED: ", the published image",
}

_EXAMPLE = "registry.example.com"
_REPOSITORY = "images"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A target with its newest release, the results of its checks, and where to try it.

    ``verdicts`` has at most one result for each kind of packages. ``reference`` is a name in a
    registry, for examples while the image is not published. ``unjudged`` says of what no source
    says anything, and what a source would have to name.
    """

    target: Target
    record: Record | None
    verdicts: tuple[Result, ...]
    trial: Trial | None
    reference: str
    unjudged: tuple[str, ...] = ()


def gather(project: Project, key_of: KeyOf) -> tuple[Entry, ...]:
    """An entry for each target of ``project``, in the order of the matrix.

    ``key_of`` returns the content keys by the files of the checkout.
    """
    matrix = project.matrix()
    publishing = load(project.publish_file, matrix)
    repository = f"{_EXAMPLE}/{publishing.repository or _REPOSITORY}"
    records = read_records(project.releases)
    results = known_results(project, matrix.targets.values(), records, key_of)
    return tuple(
        Entry(
            target=target,
            record=latest(records, name),
            verdicts=verdicts(results[name]),
            trial=publishing.trials.get(name),
            reference=f"{repository}:{publishing.moving_tags(name, simulate=False)[0]}",
            unjudged=unjudged(matrix.findings.get(name, ())),
        )
        for name, target in matrix.targets.items()
    )


def table(entries: Sequence[Entry]) -> str:
    """The targets with a result or a release, and below them, folded, the others.

    It ends in a line end.
    """
    shown = [entry for entry in entries if entry.verdicts or entry.record]
    others = [entry for entry in entries if entry not in shown]
    if not shown or not others:
        return _rows(entries)
    count = counted(len(others), "more target")
    return (
        f"{_rows(shown)}\n<details>\n<summary>{count}, not verified yet</summary>\n\n"
        f"{_rows(others)}\n</details>\n"
    )


def _rows(entries: Sequence[Entry]) -> str:
    """The head, and one row for all targets with equal contents and results."""
    merged: dict[tuple[str, str], list[Target]] = {}
    for entry in entries:
        verified = "<br>".join(map(_verdict, entry.verdicts)) or "not yet"
        row = ("<br>".join(_contents(entry)), verified)
        merged.setdefault(row, []).append(entry.target)
    rows = ""
    for (contents, verified), targets in merged.items():
        ids = "<br>".join(code(target.id) for target in targets)
        platforms = [target.docker_arch for target in targets]
        shown = "<br>".join(platforms if len({*platforms}) > 1 else platforms[:1])
        rows += f"| {ids} | {shown} | {contents} | {verified} |\n"
    return _HEAD + rows


def page_with_table(root: Path) -> str:
    """The file of the checkout ``root`` that has the table: docs/targets.md, or else README.md."""
    return _PAGE if os.path.lexists(root / _PAGE) else _README


def inserted(text: str, content: str, file: str, markers: tuple[str, str]) -> str:
    """``text``, the page called ``file``, with ``content`` between the two lines ``markers``."""
    lines = text.splitlines(keepends=True)
    places = {
        marker: [number for number, line in enumerate(lines, 1) if line.strip() == marker]
        for marker in markers
    }
    wrong = []
    for marker, numbers in places.items():
        if not numbers:
            wrong.append((max(len(lines), 1), f"there is no line {marker}."))
        wrong += [(n, f"{marker} is in line {numbers[0]} already.") for n in numbers[1:]]
    starts, ends = places.values()
    if not wrong and starts > ends:
        wrong.append((ends[0], f"{markers[1]} comes before {markers[0]}."))
    if wrong:
        fix = f"What is generated goes between one line {markers[0]} and, after it, one line "
        raise MatrixError(
            [
                Problem(
                    what=what, fix=f"{fix}{markers[1]}.", where=Span(file=file, line=line, column=1)
                )
                for line, what in wrong
            ]
        )
    [start], [end] = starts, ends
    line_end = "\r\n" if lines[start - 1].endswith("\r\n") else "\n"
    middle = ["", *content.splitlines(), ""]
    return "".join([*lines[:start], *(line + line_end for line in middle), *lines[end - 1 :]])


def _contents(entry: Entry) -> list[str]:
    """The summary, and if there are any: its use, what is not judged, the image and the trial."""
    lines = [escaped(entry.target.summary)]
    if entry.target.recommended:
        lines.append(f"**recommended for {escaped(entry.target.recommended)}**")
    lines += [f"not judged: {escaped(text)}" for text in entry.unjudged]
    if entry.record:
        simulated = " (simulated: no CANN)" if entry.record.simulated else ""
        lines.append(code(f"{entry.record.place}:{entry.record.tag}") + simulated)
    if entry.trial:
        url = quote(entry.trial.url, safe=":/?#@!$&+,;=%~")
        lines.append(f"[{escaped(entry.trial.title)}]({url})")
    return lines


def _verdict(result: Result) -> str:
    tested = result.tested
    where = WHERE[result.where]
    if tested.failed:
        checks = f"{tested.failed} of {tested.passed + tested.failed} checks"
        where = f"**failed** on {where}: {checks}"
    elif result.where == "npu":
        where += f" ({escaped(tested.hardware)})"
    moved = f" ({', '.join(result.moved)})" if result.moved else ""
    return f"{where}, {escaped(tested.date)}{_BASIS[result.basis]}{moved}"


CARDS = (1, 8)
"""There is a command for each of these numbers of NPUs of a host: one, and all of a server."""

_NODES = {"shell": 1, "compose": 1, "k8s": 1, "volcano": 2}
"""Format to the number of hosts in its text. Of several hosts, all NPUs are used."""


def details(project: Project, entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """The facts about the target of each of ``entries``, by their names in the document."""
    matrix = project.matrix()
    plans = read_plans(project, matrix.targets.values())
    users = Counter(layer.identity for plan in plans.values() for layer in plan.layers)
    documents = []
    for entry in entries:
        target, application = entry.target, entry.target.application
        plan, findings = plans[target.id], matrix.findings[target.id]
        image = entry.record.platforms.get(target.platform) if entry.record else None
        try:
            order = [*CannVersion.parse(target.cann.version).key]
        except ValueError:
            # A matrix without compat.yaml may have any name for its CANN.
            order = []
        drivers = (
            {"minimum": row.minimum, "maximum": row.maximum, "disputed": bool(finding.against)}
            for finding in findings
            for row in finding.rows
            if isinstance(row, Driver)
        )
        sizes: Counter[str] = Counter()
        for layer in image.layers if image else ():
            sizes[layer.name] += layer.size
        documents.append(
            {
                "application": application
                and {"name": application.component, "title": application.title},
                "cann": {
                    "version": target.cann.version,
                    "order": order,
                    "interim": target.cann.interim,
                    "nearest_public": target.cann.nearest_public,
                },
                "verdicts": [result.fields for result in entry.verdicts],
                "driver": next(drivers, None),
                "findings": [finding_document(finding) for finding in findings],
                "reference": entry.reference,
                "commands": [*_commands(entry)],
                "release": entry.record and asdict(entry.record),
                "trial": entry.trial and entry.trial.model_dump(),
                "layers": [
                    {
                        "name": layer.name,
                        "others": users[layer.identity] - 1,
                        "size": sizes.get(layer.name),
                    }
                    for layer in plan.layers
                ],
                "wheels": {
                    **plan.installed,
                    **{name: wheel.version for name, wheel in target.vendor_wheels.items()},
                },
            }
        )
    return documents


def _commands(entry: Entry) -> Iterator[dict[str, Any]]:
    """The texts that pull or build an image, run it, and check its origin.

    ``cards`` and ``runtime`` are those that a text is for; 0 and empty if it is for any.
    """
    target, record = entry.target, entry.record
    if record:
        pull = f"docker pull --platform {target.platform} {record.by_digest}"
        yield _command("pull", pull)
    else:
        build = f"python build.py --target {target.id}"
        options = download_options(real_needs([target]).values())
        yield _command("build", f"{build}{options}")
        yield _command("try", f"{build} --simulate")
    if record and record.simulated:
        run = f"python build.py run {target.id} --simulate --image {record.by_digest}"
        yield _command("try", run)
    else:
        yield from _run(entry)
    if not record:
        return
    for use, field in (("sbom", "SBOM"), ("provenance", "Provenance")):
        if use in record.attestations:
            template = f"'{{{{json .{field}}}}}'"
            inspect = f"docker buildx imagetools inspect {record.by_digest} --format {template}"
            yield _command(use, inspect)
    if record.signed:
        # The transparency log is ignored, because an image may have been signed without an entry.
        verify = "cosign verify --key cosign.pub --insecure-ignore-tlog=true"
        yield _command("signature", f"{verify} {record.by_digest}")


def _command(use: str, text: str, *, cards: int = 0, runtime: str = "") -> dict[str, Any]:
    return {"use": use, "cards": cards, "runtime": runtime, "text": program.text(text)}


def _run(entry: Entry) -> Iterator[dict[str, Any]]:
    local = image_name(entry.target.id, simulate=False)
    for use, nodes in _NODES.items():
        unpublished = local if use in ("shell", "compose") else entry.reference
        for cards in CARDS if nodes == 1 else CARDS[-1:]:
            for runtime in RUNTIMES:
                workload = Workload(
                    image=entry.record.by_digest if entry.record else unpublished,
                    target=entry.target,
                    cards=tuple(range(cards)),
                    nodes=nodes,
                    runtime=runtime,
                )
                text = formats.text(use, workload).rstrip("\n")
                yield _command(use, text, cards=cards if nodes == 1 else 0, runtime=runtime)
