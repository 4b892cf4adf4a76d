# SPDX-License-Identifier: Apache-2.0
"""The kinds of faults. Each begins before or during a run, and is over when its block ends."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from tests.faults.local_faults import (
    Begin,
    engine_killed,
    engine_restarted,
    engine_stopped,
    full,
    read_only,
    second_run,
    send,
)
from tests.faults.registry_faults import (
    answering,
    lost_blob,
    registry_restarted,
    status,
)

IMAGE_COMMANDS = ("build", "rebuild", "verify", "push")
"""Those that use the engine."""
REGISTRY_COMMANDS = ("push", "promote")
ALL = (*IMAGE_COMMANDS, "promote")


@dataclass(frozen=True, kw_only=True)
class Kind:
    """``cause`` is what a failure must say, and ``share`` how often the kind is chosen.

    ``code`` is how a run ends that the fault stops. ``kills`` says that it leaves no time to tidy.
    """

    begin: Begin
    commands: tuple[str, ...]
    cause: str
    share: int = 1
    stops: bool = False
    kills: bool = False


_ENGINE = r"engine|[Dd]ocker|builder|buildkit|socket"
_DISK = r"[Nn]o space left|disk is full|[Dd]isk"
_READ_ONLY = r"[Rr]ead-only file system"
_REGISTRY = r"127\.0\.0\.1:\d+"

KINDS: Mapping[str, Kind] = {
    "kill -9": Kind(
        begin=send("SIGKILL", group=False), commands=ALL, cause="", share=8, stops=True, kills=True
    ),
    "SIGTERM": Kind(
        begin=send("SIGTERM", group=False), commands=ALL, cause="interrupted", share=7, stops=True
    ),
    "Ctrl-C": Kind(
        begin=send("SIGINT", group=True), commands=ALL, cause="interrupted", share=7, stops=True
    ),
    "engine killed": Kind(begin=engine_killed, commands=IMAGE_COMMANDS, cause=_ENGINE, share=3),
    "engine stopped": Kind(begin=engine_stopped, commands=IMAGE_COMMANDS, cause=_ENGINE),
    "engine restarted": Kind(
        begin=engine_restarted, commands=IMAGE_COMMANDS, cause=_ENGINE, share=2
    ),
    "engine's disk full": Kind(
        begin=full("storage", 3_000_000), commands=("build", "rebuild"), cause=_DISK, share=3
    ),
    "checkout's disk full": Kind(
        begin=full("checkout", 20_000), commands=("push",), cause=_DISK, share=2
    ),
    "cache's disk full": Kind(
        begin=full("checkout/.cannery", 400_000), commands=ALL, cause=_DISK, share=3
    ),
    "/tmp full": Kind(begin=full("tmp", 60_000), commands=ALL, cause=_DISK, share=3),
    "checkout read-only": Kind(
        begin=read_only("checkout"), commands=ALL, cause=_READ_ONLY, share=2
    ),
    "cache read-only": Kind(
        begin=read_only("checkout/.cannery"), commands=ALL, cause=_READ_ONLY, share=2
    ),
    "/tmp read-only": Kind(
        begin=read_only("tmp"), commands=ALL, cause=_READ_ONLY + "|temporary", share=2
    ),
    "registry's disk full": Kind(
        begin=full("registry/data", 100_000), commands=REGISTRY_COMMANDS, cause=_DISK, share=2
    ),
    "registry dies": Kind(
        begin=registry_restarted, commands=REGISTRY_COMMANDS, cause=_REGISTRY, share=2
    ),
    "registry drops": Kind(
        begin=answering(after=0), commands=REGISTRY_COMMANDS, cause=_REGISTRY, share=4
    ),
    "registry resets": Kind(
        begin=answering(), commands=REGISTRY_COMMANDS, cause=_REGISTRY, share=4
    ),
    "registry stalls": Kind(
        begin=answering(meanwhile=lambda: time.sleep(3)),
        commands=REGISTRY_COMMANDS,
        cause=_REGISTRY,
        share=2,
    ),
    "registry flips a bit": Kind(
        begin=answering(flips=True), commands=REGISTRY_COMMANDS, cause=_REGISTRY, share=6
    ),
    "registry answers 401": Kind(
        begin=answering(**status(401)), commands=REGISTRY_COMMANDS, cause="login", share=3
    ),
    "registry answers 429": Kind(
        begin=answering(**status(429)),
        commands=REGISTRY_COMMANDS,
        cause="rate limit|429|[Tt]oo [Mm]any",
        share=3,
    ),
    "registry answers 500": Kind(
        begin=answering(**status(500)), commands=REGISTRY_COMMANDS, cause="500|Internal", share=3
    ),
    "registry answers 503": Kind(
        begin=answering(**status(503)),
        commands=REGISTRY_COMMANDS,
        cause="503|Unavailable",
        share=3,
    ),
    "registry loses a blob": Kind(
        begin=lost_blob, commands=("push", "promote"), cause=_REGISTRY, share=4
    ),
    "two runs in a checkout": Kind(
        begin=second_run,
        commands=ALL,
        cause="another run|another process|[Ss]omebody|goes on",
        share=5,
    ),
}
