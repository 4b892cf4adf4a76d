# SPDX-License-Identifier: Apache-2.0
"""Faults of registries, and on the way to them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import Random

from tests.faults.local_faults import Begin, Fault
from tests.faults.site import Site
from tests.publish.servers import Fault as LineFault

_UPLOAD = (
    *("^HEAD .*/blobs/", "^PUT .*/blobs/", "^POST .*/uploads/", "^GET .*/case/.*/blobs/"),
    *("^PUT .*/manifests/sha256", "^GET .*/manifests/", "^HEAD .*/manifests/"),
    *("^PUT .*/manifests/(tiny|latest)", "^PUT .*/manifests/tiny$", "^PUT .*/manifests/latest"),
)
_REQUESTS = {
    "push": (*_UPLOAD, "^GET .*/tags/", "."),
    "promote": (*_UPLOAD, "^GET .*/seed/.*/blobs/", "^GET .*/seed/.*/manifests/", "."),
}
"""What each command asks a registry."""


def answering(**more: object) -> Begin:
    """A fault of some requests, once or for long, from the beginning or from some moment on."""

    @contextmanager
    def begin(site: Site, random: Random) -> Iterator[Fault]:
        fault = LineFault(
            random.choice(_REQUESTS[site.command]),
            times=random.choice([1, 2, 5, 5 if "meanwhile" in more else 1_000_000]),
            **more,  # type: ignore[arg-type]
        )
        if fault.after == 0:
            fault.after = random.randrange(150_000)
        with on_line(site, fault, late=random.random() < 0.3) as begun:
            yield begun

    return begin


@contextmanager
def on_line(site: Site, fault: LineFault, *, late: bool) -> Iterator[Fault]:
    site.line.faults.extend([] if late else [fault])
    strike = (lambda _: site.line.faults.append(fault)) if late else None
    try:
        yield Fault(strike=strike)
    finally:
        site.line.faults.clear()


@contextmanager
def lost_blob(site: Site, random: Random) -> Iterator[Fault]:
    """A layer that the registry has accepted is gone a little later."""
    repositories = site.folder / "registry/data/docker/registry/v2/repositories"
    layers = repositories / "case/ascend/_layers/sha256"
    old = {path.name for path in (repositories / "old/ascend/_layers/sha256").iterdir()}

    def lose() -> None:
        # Losing one of the old image would not be a fault of this push.
        new = sorted(path for path in layers.iterdir() if path.name not in old)
        if new:
            shutil.rmtree(new[-1], ignore_errors=True)

    patterns = ["^PUT .*/manifests/sha256", "^GET .*/manifests/sha256", "^HEAD .*/blobs/"]
    fault = LineFault(random.choice(patterns), times=1, meanwhile=lose)
    with on_line(site, fault, late=False) as begun:
        yield begun


@contextmanager
def registry_restarted(site: Site, _: Random) -> Iterator[Fault]:
    yield Fault(strike=lambda _: site.server.stop())
    site.server.start()


def status(code: int) -> Mapping[str, object]:
    return {"status": code, "headers": {"Retry-After": "0"} if code in (429, 503) else {}}
