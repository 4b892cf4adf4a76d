# SPDX-License-Identifier: Apache-2.0
"""What people copy from the catalogue: the commands and files that bring an image to life."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cannery import hosting
from cannery.catalog.entries import Entry

CARDS = (1, 8)
"""For how many NPUs of one host there is a text: one, and all that a server of eight has."""

RUNTIMES = ("devices", "ascend")
"""By what a host hands its NPUs over, as ``hosting.text`` names it."""

_NODES = 2


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
    host = simulated_host if entry.simulated else None
    if entry.simulated and host is None:
        return
    here = entry.by_digest or entry.local
    for use in ("shell", "compose"):
        for runtime in RUNTIMES[:1] if host else RUNTIMES:
            for cards in CARDS:
                text = hosting.text(
                    use,
                    image=here,
                    target=entry.target,
                    cards=cards,
                    runtime=runtime,
                    simulate_host=host,
                )
                runtime_of = "" if host else runtime
                yield Command(use=use, text=text.rstrip("\n"), cards=cards, runtime=runtime_of)
    if entry.simulated:
        return
    for use, nodes in (("k8s", 1), ("volcano", _NODES)):
        for cards in CARDS:
            text = hosting.text(
                use,
                image=entry.by_digest or entry.future,
                target=entry.target,
                cards=cards,
                nodes=nodes,
            )
            yield Command(use=use, text=text.rstrip("\n"), cards=cards)


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
        verify = f"cosign verify --key cosign.pub {entry.by_digest}"
        yield Command(use="signature", text=verify)
