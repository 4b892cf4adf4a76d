# SPDX-License-Identifier: Apache-2.0
"""What people copy from the catalogue: the commands and files that bring an image to life."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cannery import deploy
from cannery.catalog.entries import Entry

CARDS = (1, 8)
"""For how many NPUs of one host there is a text: one, and all that a server of eight has."""

_NODES = {"shell": 1, "compose": 1, "k8s": 1, "volcano": 2}
"""Format to the hosts that its text is for. Several hosts are taken whole, with all their NPUs."""


@dataclass(frozen=True, kw_only=True)
class Command:
    """One text. ``use`` says what it is for, as the sentence ``use.USE`` does.

    ``cards`` and ``runtime`` are for what it holds; 0 and empty where it holds for all.
    """

    use: str
    text: str
    cards: int = 0
    runtime: str = ""


def commands(entry: Entry, *, simulated_host: Path | None = None) -> tuple[Command, ...]:
    """Everything to copy for one image: how to get it, then how to run it.

    ``simulated_host`` is the simulated driver tree, without which a simulated image cannot be run.
    """
    return (_get(entry), *_run(entry, simulated_host), *_check(entry))


def _get(entry: Entry) -> Command:
    if entry.record is None:
        return Command(use="build", text=f"python build.py --target {entry.id}")
    platform = entry.target.platform
    return Command(use="pull", text=f"docker pull --platform {platform} {entry.by_digest}")


def _run(entry: Entry, simulated_host: Path | None) -> Iterator[Command]:
    if entry.simulated:
        yield from _run_simulated(entry, simulated_host)
        return
    for use, nodes in _NODES.items():
        here = entry.local if use in ("shell", "compose") else entry.future
        for cards in CARDS if nodes == 1 else CARDS[-1:]:
            for runtime in deploy.RUNTIMES:
                text = deploy.text(
                    use,
                    deploy.Workload(
                        image=entry.by_digest or here,
                        target=entry.target,
                        cards=tuple(range(cards)),
                        nodes=nodes,
                        runtime=runtime,
                    ),
                )
                shown = cards if nodes == 1 else 0
                yield Command(use=use, text=text.rstrip("\n"), cards=shown, runtime=runtime)


def _run_simulated(entry: Entry, host: Path | None) -> Iterator[Command]:
    """Only on this machine: a simulated image has no use in a cluster."""
    for use in ("shell", "compose") if host else ():
        text = deploy.text(
            use, deploy.Workload(image=entry.by_digest, target=entry.target, simulate_host=host)
        )
        yield Command(use=use, text=text.rstrip("\n"))


def _check(entry: Entry) -> Iterator[Command]:
    """How to see for oneself what an image is made of, and who made it."""
    if entry.record is None:
        return
    for use, field in (("sbom", "SBOM"), ("provenance", "Provenance")):
        if use in entry.record.attestations:
            form = f"'{{{{json .{field}}}}}'"
            inspect = f"docker buildx imagetools inspect {entry.by_digest} --format {form}"
            yield Command(use=use, text=inspect)
    if entry.record.signed:
        # The log is not looked at, as an image may have been signed without writing into it.
        verify = f"cosign verify --key cosign.pub --insecure-ignore-tlog=true {entry.by_digest}"
        yield Command(use="signature", text=verify)
