# SPDX-License-Identifier: Apache-2.0
"""new, lock, render and sync, killed at each of their writes: files are old or new, and whole."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.cli.checkout import Checkout
from tests.cli.conftest import READ, copy
from tests.kills import in_child, points_in

pytestmark = pytest.mark.slow

TARGET = "py39-torch231-cann8t39"
SECOND = "py39-torch210-cann8rc2"
NEW = ("new", "--python", "3.10", "--torch", "2.6.0", "--cann", "8.3.RC1", "--write")


def _nothing(_: Checkout) -> None:
    pass


def _old_locks(checkout: Checkout) -> None:
    """Locks with a line less, which the stand-in for uv writes anew."""
    for name in (TARGET, SECOND):
        path = checkout.root / "images" / name / "requirements.lock"
        path.write_text(path.read_text(encoding="utf-8") + "# old\n", encoding="utf-8")


def _old_images(checkout: Checkout) -> None:
    """Files that differ, one that is gone, and a folder that no target has."""
    images = checkout.root / "images"
    for name in (TARGET, SECOND):
        for file in ("Dockerfile", "target.json"):
            path = images / name / file
            path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    (images / TARGET / "compose.yaml").unlink(missing_ok=True)
    (images / SECOND).rename(images / "gone")
    (images / SECOND).mkdir()
    lock = images / SECOND / "requirements.lock"
    lock.write_bytes((images / "gone" / "requirements.lock").read_bytes())


@dataclass(frozen=True, kw_only=True)
class Case:
    """A command, what there is for it to do, and the least number of its points."""

    words: tuple[str, ...]
    prepare: Callable[[Checkout], None]
    least: int


CASES = {
    "new": Case(words=NEW, prepare=_nothing, least=3),
    "lock": Case(
        words=("lock", "--target", TARGET, "--target", SECOND), prepare=_old_locks, least=40
    ),
    "render": Case(words=("render",), prepare=_old_images, least=19),
    "sync": Case(words=("sync",), prepare=_old_images, least=19),
}


@dataclass(kw_only=True)
class Trial:
    """One case, in copies of a checkout."""

    original: Checkout
    folder: Path
    case: Case
    env: dict[str, str]
    number: int = field(default=0)

    def prepared(self) -> Checkout:
        self.number += 1
        names = [*READ, ".cannery/cache/passed"]
        made = copy(names, self.original.root, self.folder / f"copy{self.number}")
        self.case.prepare(made)
        return made

    def run(self, checkout: Checkout, at: int, log: Path) -> int:
        def action() -> int:
            return checkout.run(*self.case.words, env=self.env).code

        return in_child(action, checkout.root, at, log)


def _state(checkout: Checkout) -> dict[str, str]:
    """Its files, but for what a later run may make anew."""
    return {
        name: state for name, state in checkout.state().items() if not name.startswith(".cannery/")
    }


def _whole(now: dict[str, str], old: dict[str, str], new: dict[str, str]) -> Iterator[str]:
    """The files that are neither the old nor the new ones; temporary files are no files yet."""
    for name in {*now, *old, *new}:
        if not name.endswith(".cannery-new") and now.get(name) not in (
            old.get(name),
            new.get(name),
        ):
            yield name


@pytest.mark.parametrize("name", CASES)
def test_a_kill_at_any_write_leaves_whole_files_and_the_next_run_succeeds(
    original: Checkout, uv: dict[str, str], tmp_path: Path, name: str
) -> None:
    trial = Trial(original=original, folder=tmp_path, case=CASES[name], env=uv)
    log = tmp_path / "points"
    checkout = trial.prepared()
    old = _state(checkout)
    assert trial.run(checkout, 0, log) == 0
    new = _state(checkout)
    points = points_in(log)
    assert old != new
    assert len(points) >= CASES[name].least, points
    for point in points:
        checkout = trial.prepared()
        assert trial.run(checkout, point.number, log) == -signal.SIGKILL, point
        assert points_in(log)[-1].kind == point.kind
        assert not [*_whole(_state(checkout), old, new)], point
        again = checkout.run(*trial.case.words, env=uv)
        again.accepted()
        assert _state(checkout) == new, point
        assert not [*checkout.root.rglob("*.cannery-new")], point
    print(f"{name}: {len(points)} kills")
