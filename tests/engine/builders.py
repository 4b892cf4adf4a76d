# SPDX-License-Identifier: Apache-2.0
"""Builders as a pool has them: buildkitd processes on TCP ports, which ask for a certificate."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from .engines import free_port


@dataclass(frozen=True, kw_only=True)
class Authority:
    """A certificate authority below ``folder``."""

    folder: Path

    def __post_init__(self) -> None:
        self.folder.mkdir()
        self._openssl(
            "req", "-x509", "-subj", "/CN=pool", *self._new("ca"), "-out", self.cert("ca")
        )

    def cert(self, name: str) -> Path:
        return self.folder / f"{name}.pem"

    def key(self, name: str) -> Path:
        return self.folder / f"{name}.key"

    def issue(self, name: str) -> None:
        """Make the certificate ``name`` for 127.0.0.1."""
        self._openssl(
            *("req", "-x509", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-addext", "basicConstraints=critical,CA:FALSE", *self._new(name)),
            *("-CA", self.cert("ca"), "-CAkey", self.key("ca"), "-out", self.cert(name)),
        )

    def _new(self, name: str) -> tuple[str | Path, ...]:
        return ("-newkey", "ed25519", "-noenc", "-days", "2", "-keyout", self.key(name))

    def _openssl(self, *words: str | Path) -> None:
        subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


@dataclass(frozen=True, kw_only=True)
class BuildKit:
    """A running buildkitd with storage of its own."""

    address: str
    root: Path

    def stored(self) -> int:
        """The number of blobs that it has."""
        return sum(each.is_file() for each in self.root.rglob("content/blobs/*/*"))


@contextmanager
def buildkitd(root: Path, authority: Authority) -> Iterator[BuildKit]:
    """A buildkitd below ``root`` that only clients of ``authority`` may use."""
    root.mkdir()
    address = f"tcp://127.0.0.1:{free_port()}"
    argv = ["buildkitd", "--addr", address, "--root", str(root), "--config", "/dev/null"]
    argv += ["--oci-worker-net=host", "--containerd-worker=false"]
    argv += ["--tlscacert", str(authority.cert("ca")), "--tlscert", str(authority.cert("server"))]
    argv += ["--tlskey", str(authority.key("server"))]
    with root.with_suffix(".log").open("wb") as log:
        process = subprocess.Popen(argv, stdout=log, stderr=log, start_new_session=True)
    try:
        while b"running server" not in root.with_suffix(".log").read_bytes():
            assert process.poll() is None, root.with_suffix(".log").read_text()
            time.sleep(0.05)
        yield BuildKit(address=address, root=root)
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=30)
        process.kill()
        process.wait()
        shutil.rmtree(root, ignore_errors=True)


def buildx(*words: str) -> str:
    done = subprocess.run(["docker", "buildx", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def builder(name: str, *nodes: tuple[BuildKit, str], tls: dict[str, Path]) -> Iterator[str]:
    """The name of a builder of buildx with ``nodes``, each for one platform; all use ``tls``."""
    options = ",".join(f"{word}={path}" for word, path in tls.items())
    option = ("--driver-opt", options) if options else ()
    try:
        for number, (node, platform) in enumerate(nodes):
            append = ("--append",) if number else ()
            own = ("--name", name, "--driver", "remote", "--platform", platform, *option)
            buildx("create", *append, *own, node.address)
        yield name
    finally:
        buildx("rm", name)
