# SPDX-License-Identifier: Apache-2.0
"""The options of ``run`` and ``test``, the commands that start containers of built images."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cannery.options import values
from cannery.options.option import OptionSet, changed, option
from cannery.options.shared import CA, SIMULATE, TARGET, VERBOSE, TargetOptions

RUN_FORMATS = ("shell", "compose", "k8s", "volcano")

RUNTIMES = ("devices", "ascend")
"""How docker, or a node, hands over cards: each device by name, or ascend-docker-runtime does."""

SHM_SIZE = "16g"
"""What data loaders and HCCL share; docker's own 64 MB are too little."""

MAX_CARDS = 999
MAX_NODES = 999


@dataclass(frozen=True, kw_only=True)
class RunOptions(OptionSet):
    """How one image is started, here or elsewhere."""

    simulate: bool = field(default=False, metadata=SIMULATE)
    print: bool = field(
        default=False, metadata=option(help="print the command instead of running it")
    )
    elsewhere: bool = field(
        default=False,
        metadata=option(
            help="print the command for another host, which has the whole driver; no path of this "
            "host is in it",
            needs="print",
            conflicts=("simulate",),
        ),
    )
    format: str = field(
        default=RUN_FORMATS[0],
        metadata=option(
            choices=RUN_FORMATS,
            help="run it with docker on this host (shell), or print a file for Docker Compose, "
            "Kubernetes or Volcano",
        ),
    )
    cards: int | None = field(
        default=None,
        metadata=option(
            metavar="N",
            parse=values.number(1, MAX_CARDS),
            help="the number of cards of each host",
            default_text="all of this host; 1 with --elsewhere or another --format than shell",
        ),
    )
    nodes: int = field(
        default=1,
        metadata=option(
            metavar="N",
            parse=values.number(1, MAX_NODES),
            help="the number of hosts, with --format k8s or volcano",
        ),
    )
    runtime: str = field(
        default=RUNTIMES[0],
        metadata=option(
            choices=RUNTIMES,
            help="how cards are passed: each device by name, or by ascend-docker-runtime (ascend)",
        ),
    )
    image: str = field(
        default="",
        metadata=option(
            metavar="NAME", help="the image to run", default_text="the local image of the target"
        ),
    )
    shm_size: str = field(
        default=SHM_SIZE,
        metadata=option(
            metavar="SIZE", parse=values.size, help="the size of shared memory, as in 64g"
        ),
    )
    user: str = field(
        default="",
        metadata=option(
            metavar="UID[:GID]",
            parse=values.matching(r"[0-9]{1,9}(:[0-9]{1,9})?", "user", "1000 or 1000:1000"),
            help="run as this user, without capabilities, with a home directory in /tmp",
            default_text="root",
        ),
    )
    read_only: bool = field(
        default=False,
        metadata=option(help="make the root file system read-only, except for /tmp"),
    )
    mounts: tuple[str, ...] = field(
        default=(),
        metadata=option(
            flags=("-v", "--mount"),
            metavar="HOST:CONTAINER",
            help="mount a directory of the host",
        ),
    )
    command: tuple[str, ...] = field(
        default=(),
        metadata=option(
            positional=True, metavar="COMMAND", count="*", help="the command to run in it"
        ),
    )


@dataclass(frozen=True, kw_only=True)
class CheckedTargetOptions(TargetOptions):
    """Which targets ``test`` checks images of; none for an image of any origin."""

    targets: tuple[str, ...] = field(
        default=(), metadata=changed(TARGET, default_text="none, for an image of any origin")
    )


@dataclass(frozen=True, kw_only=True)
class CheckImageOptions(OptionSet):
    """What ``test`` checks of built images."""

    simulate: bool = field(default=False, metadata=SIMULATE)
    image: str = field(
        default="",
        metadata=option(
            metavar="NAME",
            help="the image to check: as one of a single target, or without --target an image of "
            "any origin",
            default_text="the local image of each target",
        ),
    )
    components: tuple[str, ...] = field(
        default=(),
        metadata=option(
            flags=("--component",),
            metavar="NAME",
            help="check only this component",
            default_text="all",
        ),
    )
    ca: Path | None = field(default=None, metadata=CA)
    verbose: bool = field(default=False, metadata=VERBOSE)
