# SPDX-License-Identifier: Apache-2.0
"""A registry for the bench on 127.0.0.1, and the blobs of images in it."""

from __future__ import annotations

import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.engine import must
from cannery.common import console
from cannery.common.errors import EngineError, Problem
from cannery.registry.client import Repository
from cannery.registry.transfer import blobs_of, closure

_CONFIG = """\
version: 0.1
log: {{level: error, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: {storage}}}, cache: {{blobdescriptor: inmemory}}}}
http: {{addr: "127.0.0.1:{port}"}}
"""


@dataclass(frozen=True, kw_only=True)
class RunningRegistry:
    """A registry that listens on ``address`` and stores its data in ``storage``."""

    address: str
    storage: Path

    def push(self, image: str, tag: str) -> dict[str, int]:
        """Push a local image; returns digest to bytes of all blobs that a pull needs.

        Raises:
            EngineError: the image cannot be pushed.
        """
        name = f"{self.address}/bench:{tag}"
        console.say(f"pushing {image} to the bench's registry")
        must("docker", "tag", image, name)
        must("docker", "push", "--quiet", name)
        must("docker", "image", "rm", name)
        return pulled_bytes(Repository(self.address, "bench"), tag)

    def stored(self) -> int:
        """The bytes of all blobs in the registry."""
        files = (self.storage / "docker/registry/v2/blobs").rglob("data")
        return sum(path.stat().st_size for path in files)


def pulled_bytes(repository: Repository, tag: str) -> dict[str, int]:
    """Digest to bytes of the layers and the config of an image.

    Raises:
        EngineError: the registry does not answer, or has no such image.
    """
    documents = closure(repository, repository.resolve(tag))
    return {digest: blob.size for digest, blob in blobs_of(documents).items()}


def new_bytes(second: dict[str, int], first: dict[str, int]) -> int:
    """The bytes of ``second`` that are not in ``first``."""
    return sum(size for digest, size in second.items() if digest not in first)


@contextmanager
def registry(folder: Path) -> Iterator[RunningRegistry]:
    """Run an empty registry below ``folder``.

    Raises:
        EngineError: it is not installed, or does not answer.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = folder / "registry.yml"
    config.write_text(_CONFIG.format(storage=folder / "registry", port=port), encoding="utf-8")
    try:
        process = subprocess.Popen(
            ["docker-registry", "serve", str(config)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        what = "docker-registry is not installed."
        fix = "On Debian, install it with: apt-get install docker-registry"
        raise EngineError(Problem(what=what, fix=fix)) from error
    try:
        _wait(process, f"127.0.0.1:{port}")
        yield RunningRegistry(address=f"127.0.0.1:{port}", storage=folder / "registry")
    finally:
        process.terminate()
        process.wait()


def _wait(process: subprocess.Popen[bytes], address: str) -> None:
    for _ in range(60):
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"http://{address}/v2/", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.25)
    raise EngineError(f"the bench's registry does not answer on {address}.")
