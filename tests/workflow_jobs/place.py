# SPDX-License-Identifier: Apache-2.0
"""The folder of a run: a clone of the project, the server that it comes from, a registry, keys."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import trustme

from tests.publish.keys import SECRET, Pair, make_pair
from tests.publish.servers import PASSWORD, USER, Server, registry
from tests.unit.changes import commit, git
from tests.workflow_jobs.service import ADDRESS, HOSTS, Service, serve
from tests.workflows.steps import MAIN, ROOT, project_files

FOLDER = Path("/var/tmp/cannery-workflow-jobs")
"""The path is the same in the job's container, so that the engine finds the job's files."""

REPOSITORY = "someone/cannery"
IMAGE = "cannery/workflow-runner"
KEPT = (".venv", ".cannery")
_CA = "/etc/ssl/certs/ca-certificates.crt"
_BASE = {"x86_64": "bookworm-amd64", "aarch64": "bookworm-arm64"}
TRUST = dict.fromkeys(
    ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"), _CA
)


@dataclass(frozen=True, kw_only=True)
class Place:
    """What the jobs of a run share; ``more`` are variables that only those of one scenario have."""

    root: Path
    service: Service
    registry: Server
    pair: Pair
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def workspace(self) -> Path:
        return self.root / "workspace"

    @property
    def artifacts(self) -> Path:
        return self.root / "artifacts"

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables of the repository, as docs/ci.md lists them."""
        host = self.registry.host
        vendor = str(self.root / "vendor")
        own = {"CANNERY_ARTIFACTS": vendor, "CANNERY_REGISTRY": host, "CANNERY_STAGING": host}
        return {**own, **self.more}

    @property
    def secrets(self) -> Mapping[str, str]:
        key = Path(self.pair.private).read_text(encoding="utf-8")
        names = ("REGISTRY_USERNAME", "REGISTRY_PASSWORD", "COSIGN_PRIVATE_KEY", "COSIGN_PASSWORD")
        return dict(zip(names, (USER, PASSWORD, key, SECRET), strict=True))

    @property
    def environment(self) -> Mapping[str, str]:
        """What every job has besides the variables of its service."""
        temp = str(self.root / "temp")
        folders = {
            "TMPDIR": temp,
            # A folder of the job's own, as act's ${{ runner.temp }} is.
            "RUNNER_TEMP": "/tmp",
            "UV_CACHE_DIR": f"{temp}/uv",
            "ZIG_GLOBAL_CACHE_DIR": f"{temp}/zig",
        }
        return {**TRUST, **folders, "JOBS_FOLDER": str(self.root)}

    @property
    def container(self) -> list[str]:
        """The options of ``docker run`` that a job's container has."""
        programs = sorted((Path(__file__).parent / "programs").iterdir())
        own = [f"--volume={path}:/usr/local/bin/{path.name}:ro" for path in programs]
        hosts = [f"--add-host={host}:{ADDRESS}" for host in HOSTS]
        return [
            *("--privileged", f"--volume={self.root}:{self.root}"),
            f"--volume={self.root}/ca.crt:{_CA}:ro",
            # A job that looks for an NPU finds this; the containers that it starts do not get it.
            "--device=/dev/null:/dev/davinci0",
            *(*own, *hosts),
        ]

    def start_over(self, change: Callable[[Place], None]) -> None:
        """Make the clone, the server's repository and the registry anew.

        The last commit changes the main target back, and also has what ``change`` does.
        """
        self.service.start_over()
        repository = self.root / "server" / f"{REPOSITORY}.git"
        images = self.root / "registry" / "data"
        for path in (self.workspace, repository, self.artifacts, self.root / "site", images):
            shutil.rmtree(path, ignore_errors=True)
        for path in (self.workspace, repository.parent, self.artifacts):
            path.mkdir(parents=True, exist_ok=True)
        for name in project_files():
            (self.workspace / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, self.workspace / name)
        git(self.workspace, "init", "--quiet", "--initial-branch", "main")
        lock = self.workspace / "images" / MAIN / "requirements.lock"
        text = lock.read_text(encoding="utf-8")
        for each in (f"# another comment\n{text}", text):
            lock.write_text(each, encoding="utf-8")
            for command in ("render", "catalog"):
                argv = [sys.executable, "build.py", command]
                subprocess.run(argv, cwd=self.workspace, check=True, capture_output=True)
            if each == text:
                change(self)
            commit(self.workspace)
        git(self.root, "clone", "--quiet", "--bare", str(self.workspace), str(repository))
        git(repository, "config", "uploadpack.allowAnySHA1InWant", "true")
        git(repository, "config", "http.receivepack", "true")
        address = f"https://github.com/{REPOSITORY}.git"
        git(self.workspace, "remote", "add", "origin", address)


def build_runner() -> None:
    """Build the image in which jobs run, from the stand-in that 'nox -s image' has made."""
    base = f"cannery/bootstrap:{_BASE[platform.machine()]}"
    folder = str(Path(__file__).parent / "runner")
    argv = ["docker", "build", "--quiet", "--network=host", "--tag", IMAGE, folder]
    subprocess.run([*argv, "--build-arg", f"BASE={base}"], check=True, stdout=subprocess.DEVNULL)


@contextmanager
def place() -> Iterator[Place]:
    """A place with its servers running."""
    for name in (*KEPT, "temp", "vendor"):
        (FOLDER / name).mkdir(parents=True, exist_ok=True)
    shutil.rmtree(FOLDER / "keys", ignore_errors=True)
    shutil.rmtree(FOLDER / "registry", ignore_errors=True)
    authority = trustme.CA()
    bundle = Path(_CA).read_bytes() + b"\n" + authority.cert_pem.bytes()
    (FOLDER / "ca.crt").write_bytes(bundle)
    service = Service(root=FOLDER / "server")
    with (
        registry(FOLDER / "registry", login=True) as server,
        serve(service, authority, FOLDER),
    ):
        yield Place(root=FOLDER, service=service, registry=server, pair=make_pair(FOLDER / "keys"))
