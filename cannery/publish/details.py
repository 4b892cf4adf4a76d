# SPDX-License-Identifier: Apache-2.0
"""The facts about targets that ``list --format json --verbose`` adds, for site/ and other programs.

docs/reference.md has the fields.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from cannery.common.cann_version import CannVersion
from cannery.common.references import image_name
from cannery.compat import Finding
from cannery.compat.check_report import finding_document
from cannery.compat.facts import Driver
from cannery.deploy import formats
from cannery.deploy.workload import RUNTIMES, Workload
from cannery.fetch.needs import download_options, real_needs
from cannery.image.plan import read_plans
from cannery.matrix.project import Project
from cannery.publish.table import Entry

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
        sizes: Counter[str] = Counter()
        for layer in image.layers if image else ():
            sizes[layer.name] += layer.size
        documents.append(
            {
                "application": application
                and {"name": application.component, "title": application.title},
                "cann": {
                    "version": target.cann.version,
                    "order": _order(target.cann.version),
                    "interim": target.cann.interim,
                    "nearest_public": target.cann.nearest_public,
                },
                "verdicts": [result.fields for result in entry.verdicts],
                "driver": _driver(findings),
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


def _order(version: str) -> list[int]:
    try:
        return [*CannVersion.parse(version).key]
    except ValueError:
        # A matrix without compat.yaml may have any name for its CANN.
        return []


def _driver(findings: Iterable[Finding]) -> dict[str, Any] | None:
    for finding in findings:
        for row in finding.rows:
            if isinstance(row, Driver):
                disputed = bool(finding.against)
                return {"minimum": row.minimum, "maximum": row.maximum, "disputed": disputed}
    return None


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
    return {"use": use, "cards": cards, "runtime": runtime, "text": text}


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
