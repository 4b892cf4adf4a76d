# SPDX-License-Identifier: Apache-2.0
"""The texts to copy from the catalogue: commands and files that pull, run and check an image."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cannery.catalog.entries import Entry
from cannery.deploy import formats
from cannery.fetch.needs import download_options, real_needs

CARDS = (1, 8)
"""There is a text for each of these numbers of NPUs of one host: one, and all of a server."""

_NODES = {"shell": 1, "compose": 1, "k8s": 1, "volcano": 2}
"""Format to the number of hosts in its text. Of several hosts, all NPUs are used."""


@dataclass(frozen=True, kw_only=True)
class Command:
    """One text. ``use`` is its purpose; the string ``use.USE`` is its heading.

    ``cards`` and ``runtime`` are those that the text is for; 0 and empty if it is for any.
    """

    use: str
    text: str
    cards: int = 0
    runtime: str = ""


def commands(entry: Entry, *, simulated_host: Path | None = None) -> tuple[Command, ...]:
    """Every text for one image: to pull or build it, to run it, and to check its origin.

    ``simulated_host`` is the simulated driver tree that running a simulated image needs.
    """
    return (*_get(entry), *_run(entry, simulated_host), *_check(entry))


def _get(entry: Entry) -> Iterator[Command]:
    if entry.record:
        platform = entry.target.platform
        yield Command(use="pull", text=f"docker pull --platform {platform} {entry.by_digest}")
        return
    build = f"python build.py --target {entry.id}"
    options = download_options(real_needs([entry.target]).values())
    yield Command(use="build", text=f"{build}{options}")
    yield Command(use="try", text=f"{build} --simulate")


def _run(entry: Entry, simulated_host: Path | None) -> Iterator[Command]:
    if entry.simulated:
        yield from _run_simulated(entry, simulated_host)
        return
    for use, nodes in _NODES.items():
        here = entry.local if use in ("shell", "compose") else entry.future
        for cards in CARDS if nodes == 1 else CARDS[-1:]:
            for runtime in formats.RUNTIMES:
                text = formats.text(
                    use,
                    formats.Workload(
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
    """Only for this machine: a simulated image is of no use in a cluster."""
    for use in ("shell", "compose") if host else ():
        text = formats.text(
            use, formats.Workload(image=entry.by_digest, target=entry.target, simulate_host=host)
        )
        yield Command(use=use, text=text.rstrip("\n"))


def _check(entry: Entry) -> Iterator[Command]:
    """Commands that show what an image was made from, and who made it."""
    if entry.record is None:
        return
    for use, field in (("sbom", "SBOM"), ("provenance", "Provenance")):
        if use in entry.record.attestations:
            form = f"'{{{{json .{field}}}}}'"
            inspect = f"docker buildx imagetools inspect {entry.by_digest} --format {form}"
            yield Command(use=use, text=inspect)
    if entry.record.signed:
        # The transparency log is ignored, because an image may have been signed without an entry.
        verify = f"cosign verify --key cosign.pub --insecure-ignore-tlog=true {entry.by_digest}"
        yield Command(use="signature", text=verify)
