# SPDX-License-Identifier: Apache-2.0
"""The place in which faults happen: an engine, a registry and a checkout, on disks of their own."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cannery.matrix.project import Project
from cannery.registry.client import Repository
from tests.engine.engines import Engine, engine, unmount_below
from tests.faults import base
from tests.faults.small_checkout import (
    TARGET,
    TOOLKIT,
    commit,
    make_small_checkout,
    toolkit,
    wheel,
    wheels_in,
)
from tests.package_index import index_of_folder
from tests.publish.servers import (
    PASSWORD,
    USER,
    Authority,
    Between,
    Server,
    between,
    make_authority,
    registry,
)

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = range(31, 40)
"""Those of the engines of these tests, of which several can run at once."""

IMAGE = f"cannery:{TARGET}"
MARK = "HOME"
"""The variable in the environment of all processes of a run."""

_DISKS = {"storage": 300, "checkout": 48, "checkout/.cannery": 48, "tmp": 48, "registry/data": 200}
"""Folder to the size of its disk in MB."""


@dataclass(frozen=True, kw_only=True)
class Ended:
    """What a run of build.py ended with."""

    code: int
    said: str
    seconds: float


@dataclass
class Running:
    """A run of build.py, with the file of its output."""

    process: subprocess.Popen[bytes]
    log: Path
    began: float = field(default_factory=time.monotonic)

    def wait(self, seconds: float = 120) -> Ended:
        """Wait for its end.

        Raises:
            TimeoutExpired: it does not end; it is killed.
        """
        try:
            code = self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        said = self.log.read_text(encoding="utf-8", errors="replace")
        return Ended(code=code, said=said, seconds=time.monotonic() - self.began)


@dataclass(kw_only=True)
class Site:
    """Everything that a fault can happen to."""

    folder: Path
    engine: Engine
    server: Server
    line: Between
    authority: Authority
    index: str
    project: Project = field(init=False)
    number: int = 0
    """The number of the vendor's file."""
    base: str = "12"
    """The tag of the base, which is also the text of its file /base."""
    command: str = ""
    """The command to which a fault happens."""

    @property
    def root(self) -> Path:
        return self.folder / "checkout"

    @property
    def home(self) -> Path:
        """The value of MARK."""
        return self.folder / "home"

    def environment(self) -> dict[str, str]:
        """The environment of a run."""
        own = {
            "DOCKER_HOST": self.engine.host,
            "DOCKER_CONFIG": str(self.folder / "docker"),
            MARK: str(self.home),
            "TMPDIR": str(self.folder / "tmp"),
            "XDG_CACHE_HOME": str(self.folder / "home" / "cache"),
            "UV_DEFAULT_INDEX": self.index,
            "PYTHONPATH": str(ROOT),
            "PYTHONFAULTHANDLER": "1",
        }
        return {**os.environ, **own}

    def start(self, *words: str) -> Running:
        """Start build.py with ``words`` in the checkout, in a session of its own."""
        log = self.folder / "logs" / f"{time.monotonic_ns()}.log"
        # A shell's background jobs ignore SIGINT, and so does what they start.
        argv = ["env", "--default-signal=INT", sys.executable, "-m", "tests.faults.child"]
        with log.open("wb") as out:
            process = subprocess.Popen(
                [*argv, str(self.root), *words],
                cwd=ROOT,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return Running(process=process, log=log)

    def run(self, *words: str) -> Ended:
        """Run build.py with ``words``."""
        return self.start(*words).wait()

    def done(self, *words: str) -> None:
        """Run build.py with ``words``, which must end well."""
        ended = self.run(*words)
        assert ended.code == 0, ended.said

    def repository(self, name: str) -> Repository:
        """A repository of the registry, without any fault on the way there."""
        return Repository(self.line.host, name, ca=self.authority.file)

    def new_toolkit(self) -> None:
        """Replace the vendor's file, so that there is something to build."""
        self.number += 1
        (self.project.artifacts / TOOLKIT).write_bytes(toolkit(self.number))

    def published_base(self, tag: str) -> str:
        """The pinned name of a new base."""
        digest = base.publish(self.repository("hub/debian"), tag)
        return f"{self.line.host}/hub/debian:{tag}@{digest}"

    def copy_repository(self, source: str, name: str) -> None:
        """Make the repository ``name`` a copy of ``source``."""
        repositories = self.folder / "registry/data/docker/registry/v2/repositories"
        shutil.rmtree(repositories / name, ignore_errors=True)
        shutil.copytree(repositories / source, repositories / name)

    @property
    def to_registry(self) -> tuple[str, ...]:
        return ("--ca", str(self.authority.file))


@contextmanager
def disk(folder: Path, megabytes: int) -> Iterator[None]:
    """A small disk in memory at ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    argv = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "cannery-faults", str(folder)]
    subprocess.run(argv, check=True, capture_output=True)
    try:
        yield
    finally:
        unmount_below(folder)


@contextmanager
def serving_wheels(folder: Path, lock: str) -> Iterator[str]:
    """The address of a package index that has the wheels of ``lock``."""
    folder.mkdir()
    for name in wheels_in(lock):
        (folder / name).write_bytes(wheel(name))
    with index_of_folder(folder) as address:
        yield address


@contextmanager
def make_site(folder: Path) -> Iterator[Site]:
    """A site with two published images, ``old`` and ``seed``, and a newer one in the engine."""
    with ExitStack() as stack:
        for name, megabytes in _DISKS.items():
            stack.enter_context(disk(folder / name, megabytes))
        for name in ("docker", "engine", "home", "logs"):
            (folder / name).mkdir()
        authority = make_authority(folder)
        server = stack.enter_context(registry(folder / "registry", login=True))
        line = stack.enter_context(between(server, authority, folder / "between"))
        auth = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        config = json.dumps({"auths": {line.host: {"auth": auth}}})
        (folder / "docker" / "config.json").write_text(config, encoding="utf-8")
        site = Site(
            folder=folder,
            engine=stack.enter_context(_engine_of_free_number(folder)),
            server=server,
            line=line,
            authority=authority,
            index="",
        )
        with patched_environment(site):
            site.project = make_small_checkout(site.root, site.published_base("12"))
            lock = (site.project.images / TARGET / "requirements.lock").read_text(encoding="utf-8")
            site.index = stack.enter_context(serving_wheels(folder / "wheels", lock))
            _publish(site)
            yield site


@contextmanager
def _engine_of_free_number(folder: Path) -> Iterator[Engine]:
    with (
        (Path(tempfile.gettempdir()) / "cannery-engine-numbers").open("w") as lock,
        ExitStack() as stack,
    ):
        # Sites of several programs may be made at a time.
        fcntl.flock(lock, fcntl.LOCK_EX)
        number = next(n for n in NUMBERS if not Path(f"/sys/class/net/cannery-t{n}").exists())
        data = folder / "storage" / "engine"
        started = stack.enter_context(
            engine(folder / "engine", number, containerd=False, data=data)
        )
        fcntl.flock(lock, fcntl.LOCK_UN)
        yield started


@contextmanager
def patched_environment(site: Site) -> Iterator[None]:
    """This process's own requests use the site's engine and login."""
    names = ("DOCKER_HOST", "DOCKER_CONFIG")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update({name: site.environment()[name] for name in names})
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def _publish(site: Site) -> None:
    """Build three images, of which the first two are published."""
    words = ("push", "--target", TARGET, "--allow", "differs", *site.to_registry)
    site.done("--target", TARGET)
    site.done(*words, "--registry", f"{site.line.host}/old")
    shutil.rmtree(site.project.releases)
    site.copy_repository("old/ascend", "seed/ascend")
    site.new_toolkit()
    site.done("--target", TARGET)
    site.done(*words, "--registry", f"{site.line.host}/seed")
    commit(site.root)
    site.new_toolkit()
    site.done("--target", TARGET)
