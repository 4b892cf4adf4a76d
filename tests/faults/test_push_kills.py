# SPDX-License-Identifier: Apache-2.0
"""push and build, killed at their writes: nothing is half there, and the next run succeeds.

The engine and the registry are real ones. Of points of one kind, as those of blobs, the last is
taken. ``tests/cli/test_cli_kills.py`` does so with commands that need no engine.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.faults.commands import COMMANDS, REPOSITORY
from tests.faults.site import ROOT, Site, make_site
from tests.faults.state import (
    containers,
    half_written,
    image_id,
    left_over,
    orphans,
    tags_of,
    wrong_in_registry,
)
from tests.kills import Point, one_of_each, points_in

LEAST = {"build": 6, "push": 17}
"""Command to the least number of its points."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with make_site(tmp_path_factory.mktemp("kills")) as made:
        yield made


def _run(site: Site, name: str, at: int, log: Path) -> tuple[int, str]:
    """Run a command that is killed at the point ``at``; its exit code and what it said."""
    argv = [sys.executable, "-m", "tests.kills", str(site.root), str(at), str(log)]
    done = subprocess.run(
        [*argv, *COMMANDS[name].words(site)],
        cwd=ROOT,
        env=site.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=600,
    )
    return done.returncode, done.stdout


def _is_old_or_new(site: Site, old: dict[str, str]) -> Iterator[str]:
    """What is wrong with the tags: each names its image of before or a complete one."""
    now = tags_of(site, REPOSITORY)
    yield from wrong_in_registry(site, REPOSITORY)
    yield from (f"the tag {tag} is lost" for tag in old.keys() - now.keys())
    new = {digest for tag, digest in now.items() if digest != old.get(tag)}
    if len(new) > 1:
        yield f"tags name several new images: {now}"


def _records(site: Site) -> Iterator[str]:
    """The digests in the records of the checkout."""
    for path in site.project.releases.rglob("*.json"):
        yield str(json.loads(path.read_text(encoding="utf-8"))["digest"])


def _after_kill(site: Site, name: str, tags: dict[str, str], image: str) -> list[str]:
    wrong = [f"process: {each}" for each in orphans(site)]
    wrong += half_written(site)
    if name == "push":
        wrong += _is_old_or_new(site, tags)
        old = {*tags.values()}
        recorded = {*_records(site)}
        # A record is written before the tags are moved.
        moved = {*tags_of(site, REPOSITORY).values()} - old
        wrong += [f"{digest} has a tag and no record" for digest in moved - recorded]
    elif not image_id(site, image):
        wrong.append("the image has lost its name")
    return wrong


def _prepare(site: Site, name: str, number: int) -> None:
    """Leave everything to do, also what an earlier run has kept."""
    COMMANDS[name].prepare(site, Random(number))
    for kept in ("blobs", "reports") if name == "build" else ("blobs",):
        shutil.rmtree(site.project.state / kept, ignore_errors=True)


def _tried(site: Site, name: str, point: Point, log: Path) -> list[str]:
    """What is wrong after a kill at ``point``, and after the next run."""
    command = COMMANDS[name]
    _prepare(site, name, point.number)
    tags = tags_of(site, REPOSITORY)
    code, said = _run(site, name, point.number, log)
    if code != -signal.SIGKILL:
        return [f"exit code {code}: {said}"]
    wrong = _after_kill(site, name, tags, f"cannery:{COMMANDS['build'].words(site)[1]}")
    # What is there of a killed run, nobody removes but the next run or the system.
    for path in (site.folder / "tmp").iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    again = site.run(*command.words(site))
    if again.code or "Traceback" in again.said:
        wrong.append(f"then exit code {again.code}: {again.said}")
    wrong += [f"then: {each}" for each in command.done(site)]
    wrong += [f"then: {each}" for each in wrong_in_registry(site, REPOSITORY)]
    wrong += [f"left: {each}" for each in (*left_over(site), *containers(site))]
    return wrong


@pytest.mark.parametrize("name", LEAST)
def test_a_kill_at_a_write_leaves_nothing_half_and_the_next_run_succeeds(
    site: Site, tmp_path: Path, name: str
) -> None:
    log = tmp_path / "points"
    _prepare(site, name, 0)
    code, said = _run(site, name, 0, log)
    assert code == 0, said
    points = one_of_each(points_in(log))
    assert len(points) >= LEAST[name], [each.what for each in points]
    wrong = {each.what: _tried(site, name, each, log) for each in points}
    assert not {what: found for what, found in wrong.items() if found}
    print(f"{name}: {len(points)} kills")
