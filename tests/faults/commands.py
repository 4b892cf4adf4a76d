# SPDX-License-Identifier: Apache-2.0
"""The commands that faults happen to: what each is given, and what it must have done in the end."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from tests.faults.site import IMAGE, Site
from tests.faults.small_checkout import TARGET, git, toolkit
from tests.faults.state import content_of, image_id, tags_of

REPOSITORY = "case/ascend"
"""The repository in which a command changes tags."""

Words = tuple[str, ...]


def _build(_: Site) -> Words:
    return ("--target", TARGET)


def _verify(_: Site) -> Words:
    return ("test", "--target", TARGET)


def _push(site: Site) -> Words:
    place = f"{site.line.host}/case"
    return ("push", "--target", TARGET, "--registry", place, *site.to_registry)


def _promote(site: Site) -> Words:
    host = site.line.host
    return ("promote", f"{host}/seed/ascend:{TARGET}", f"{host}/{REPOSITORY}", *site.to_registry)


def _nothing(_: Site, __: Random) -> None:
    pass


def _another_file(site: Site, _: Random) -> None:
    site.new_toolkit()


def _killed_build(site: Site, random: Random) -> None:
    """Kill a build when it has said one of three things."""
    site.new_toolkit()
    running = site.start(*_build(site))
    said = random.choice([f"{TARGET}: building", f"{TARGET}: built", f"{TARGET}: checking"])
    while said not in running.log.read_text(encoding="utf-8") and running.process.poll() is None:
        time.sleep(0.01)
    with suppress(ProcessLookupError):
        os.kill(running.process.pid, signal.SIGKILL)
    running.wait()


def _with_old_tags(site: Site, _: Random) -> None:
    git(site.root, "clean", "--quiet", "--force", "-d", "releases")
    site.copy_repository("old/ascend", REPOSITORY)


def _is_built(site: Site) -> Iterator[str]:
    if content_of(site, IMAGE, "/opt/toolkit") != toolkit(site.number):
        yield "the image has another content than the files"
    if content_of(site, IMAGE, "/base").decode() != site.base:
        yield "the image is made of another base"


def _is_pushed(site: Site) -> Iterator[str]:
    tags = tags_of(site, REPOSITORY)
    moved = {tags.get(TARGET), tags.get("latest")}
    if len(moved) != 1 or moved & {*tags_of(site, "old/ascend").values()}:
        yield f"the tags were not moved: {tags}"
    records = [*(site.project.releases / TARGET).glob("*.json")]
    if not any(str(tags.get(TARGET)) in path.read_text(encoding="utf-8") for path in records):
        yield "no record names the pushed image"


def _is_promoted(site: Site) -> Iterator[str]:
    seed, tags = tags_of(site, "seed/ascend"), tags_of(site, REPOSITORY)
    if any(tags.get(name) != seed[name] for name in (TARGET, "latest")):
        yield f"the tags were not moved: {tags}"


def _is_verified(site: Site) -> Iterator[str]:
    reports = [*(site.project.state / "reports").glob("*.json")]
    if not any(image_id(site, IMAGE) in path.read_text(encoding="utf-8") for path in reports):
        yield "no report is about the image"


@dataclass(frozen=True, kw_only=True)
class Command:
    """``seconds`` is how long it takes, and ``share`` how often it is chosen.

    ``prepare`` leaves it something to do, and ``done`` gives what is wrong after it has succeeded.
    ``moves`` says that it moves tags, and ``builds`` that it makes an image.
    """

    words: Callable[[Site], Words]
    prepare: Callable[[Site, Random], None]
    done: Callable[[Site], Iterator[str]]
    seconds: float
    share: int
    moves: bool = False
    builds: bool = False


COMMANDS = {
    "build": Command(
        words=_build, prepare=_another_file, done=_is_built, seconds=4, share=12, builds=True
    ),
    "rebuild": Command(
        words=_build, prepare=_killed_build, done=_is_built, seconds=3, share=5, builds=True
    ),
    "verify": Command(words=_verify, prepare=_nothing, done=_is_verified, seconds=3, share=7),
    "push": Command(
        words=_push, prepare=_with_old_tags, done=_is_pushed, seconds=5, share=18, moves=True
    ),
    "promote": Command(
        words=_promote, prepare=_with_old_tags, done=_is_promoted, seconds=2, share=24, moves=True
    ),
}
