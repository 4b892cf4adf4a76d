# SPDX-License-Identifier: Apache-2.0
"""Runs that are interrupted or killed: nothing is left broken, and what was finished stays so."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import docker
import pytest

from cannery.engine.containers import LABEL_TEST

from .bases import allow_stand_ins
from .conftest import MAIN, ROOT, Built, rename_images
from .small_copy import HELD, write_checks

NAMES = "cannery-killed"
"""How images are called here, so that those of other tests stay what they are."""


@dataclass(frozen=True, kw_only=True)
class Copy:
    """A checkout of its own, whose images have names of their own."""

    root: Path

    @property
    def state(self) -> Path:
        return self.root / ".cannery"

    @property
    def half_made(self) -> list[Path]:
        return [*self.state.glob("simulator/.making-*")]

    def argv(self, *words: str) -> list[str]:
        return [sys.executable, str(self.root / "build.py"), *words]

    def build(self, *words: str) -> str:
        """The messages of a build without failures."""
        argv = self.argv("--target", MAIN, "--simulate", *words)
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stderr

    def stop(self, name: str, when: Callable[[int], bool], *words: str) -> str:
        """Send ``name`` to a run as soon as ``when`` holds of its process; what it said."""
        # Not a pipe: what a killed run has started goes on, and would hold its end of it.
        log = self.root / "said.log"
        with log.open("w") as said:
            process = subprocess.Popen(
                # A shell's background jobs ignore SIGINT, and so does what they start.
                ["env", "--default-signal=INT", *self.argv("--target", MAIN, "--simulate", *words)],
                env={**os.environ, "PYTHONFAULTHANDLER": "1", HELD: "yes"},
                stderr=said,
                start_new_session=True,
            )
        try:
            deadline = time.monotonic() + 240
            while not when(process.pid):
                assert process.poll() is None and time.monotonic() < deadline, log.read_text()
                time.sleep(0.01)
            process.send_signal(signal.Signals[name])
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=60)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGABRT)  # it says where every thread is
            process.wait()
        text = log.read_text()
        if name == "SIGKILL":
            assert process.returncode == -signal.SIGKILL
        else:
            assert process.returncode == 130, text
            assert "interrupted" in text and "Traceback" not in text
        return text

    def named(self) -> list[str]:
        # An image that was built from the same things elsewhere is the same, and has other names.
        tags = [tag for image in docker.from_env().images.list(NAMES) for tag in image.tags]
        return [tag for tag in tags if tag.startswith(f"{NAMES}:")]


@pytest.fixture(scope="module")
def copy(main: Built, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    assert main.target.id == MAIN
    root = tmp_path_factory.mktemp("killed") / "checkout"
    root.mkdir()
    for name in ("cannery", "images", "packages/ascend-sim"):
        shutil.copytree(ROOT / name, root / name)
    for name in ("build.py", "matrix.yaml"):
        shutil.copy2(ROOT / name, root / name)
    allow_stand_ins(root)
    write_checks(root)
    rename_images(root, NAMES)
    found = Copy(root=root)
    yield found
    for tag in found.named():
        docker.from_env().images.remove(tag, force=True)


@pytest.fixture(autouse=True)
def _tidy(copy: Copy) -> Iterator[None]:
    shutil.rmtree(copy.state / "reports", ignore_errors=True)
    yield
    for tag in copy.named():
        docker.from_env().images.remove(tag, force=True)


def _test_containers(process: int) -> list[str]:
    """Those that the run with the number ``process`` has made."""
    found = docker.from_env().containers.list(all=True, filters={"label": LABEL_TEST})
    mark = f":{process}:"
    return [str(each.id) for each in found if mark in str(each.labels[LABEL_TEST])]


def _checking(process: int) -> bool:
    # Running ones only: an image is first read in a container that never starts.
    found = docker.from_env().containers.list(filters={"label": LABEL_TEST})
    return any(f":{process}:" in str(each.labels[LABEL_TEST]) for each in found)


@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_a_stop_while_simulating(copy: Copy, name: str) -> None:
    shutil.rmtree(copy.state / "simulator", ignore_errors=True)
    copy.stop(name, lambda _: bool(copy.half_made), "--no-test")
    assert copy.named() == []
    finished = [p for p in (copy.state / "simulator").iterdir() if p not in copy.half_made]
    assert finished == []
    assert "compiling the software device" in copy.build("--no-test")
    assert copy.half_made == []
    assert copy.named() == [f"{NAMES}:{MAIN}-sim"]
    assert f"{NAMES}:{MAIN}-sim is up to date" in copy.build("--no-test")


@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_a_stop_while_building(copy: Copy, name: str) -> None:
    log = copy.state / "logs" / f"{MAIN}.log"
    log.unlink(missing_ok=True)
    copy.stop(name, lambda _: log.exists(), "--no-test")
    assert copy.named() == []
    assert f"{MAIN}: building" in copy.build("--no-test")
    assert copy.named() == [f"{NAMES}:{MAIN}-sim"]
    assert f"{NAMES}:{MAIN}-sim is up to date" in copy.build("--no-test")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_stop_while_checking_cleans_up(copy: Copy, name: str) -> None:
    seen: list[int] = []

    def when(process: int) -> bool:
        seen.append(process)
        return _checking(process)

    copy.stop(name, when)
    assert _test_containers(seen[-1]) == []
    assert copy.named() == []


def test_a_build_after_a_kill_while_checking_checks_the_image(copy: Copy) -> None:
    seen: list[int] = []

    def when(process: int) -> bool:
        seen.append(process)
        return _checking(process)

    copy.stop("SIGKILL", when)
    assert _test_containers(seen[-1])
    assert copy.named() == []
    assert f"{MAIN}: verifying" in copy.build()
    assert _test_containers(seen[-1]) == []
    image = docker.from_env().images.get(f"{NAMES}:{MAIN}-sim")
    [report] = copy.state.glob("reports/*.json")
    assert json.loads(report.read_text(encoding="utf-8"))["image_id"] == image.id
    assert "is up to date" in copy.build()
