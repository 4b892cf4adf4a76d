# SPDX-License-Identifier: Apache-2.0
"""A registry with an image in the layout of the vendor's, made from the simulated packages."""

from __future__ import annotations

import hashlib
import io
import re
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

from cannery.engine import containers

from .bases import base_image
from .conftest import Built

PATHS = ("/usr/local/Ascend", "/etc/Ascend")
"""Where CANN is in an image."""

# As Ascend/cann-container-image installs and copies CANN: the environment is set in ~/.bashrc and
# by the entry point only. Python is only where CANN's installers need its pip.
DOCKERFILE = """\
ARG BASE
FROM ${BASE} AS cann-installer
SHELL ["/bin/bash", "-euc"]
RUN apt-get update; apt-get install -qq --no-install-recommends python3-pip
RUN --mount=type=bind,from=artifacts,target=/artifacts \\
    for each in toolkit kernels; do \\
        bash /artifacts/Ascend-cann-$each*.run --quiet --install --install-for-all; \\
    done; \\
    set +u; . /usr/local/Ascend/ascend-toolkit/set_env.sh; \\
    bash /artifacts/Ascend-cann-nnal*.run --quiet --install --install-for-all

FROM ${BASE}
COPY --from=cann-installer /usr/local/Ascend /usr/local/Ascend
COPY --from=cann-installer /etc/Ascend /etc/Ascend
RUN echo ". /usr/local/Ascend/ascend-toolkit/set_env.sh" >>~/.bashrc
ENTRYPOINT ["/bin/bash", "-c", ". /usr/local/Ascend/ascend-toolkit/set_env.sh && exec \\"$@\\""]
"""


@dataclass(frozen=True, kw_only=True)
class VendorRegistry:
    """A registry at ``host``, for images of CANN."""

    host: str
    folder: Path

    def push_cann(self, main: Built) -> str:
        """The reference of an image with the CANN that ``main`` was made from."""
        base = base_image(main.target.build_base, main.target.docker_arch)
        contexts = {"artifacts": str(main.simulated.artifacts)}
        return self.push("cann", DOCKERFILE, contexts=contexts, BASE=base)

    def push(
        self, tag: str, dockerfile: str, *, contexts: dict[str, str] | None = None, **args: str
    ) -> str:
        """Build an image for linux/arm64, push it, and return its reference by digest."""
        folder = self.folder / tag
        folder.mkdir()
        (folder / "Dockerfile").write_text(dockerfile, encoding="utf-8")
        name = f"{self.host}/ascend/cann:{tag}"
        argv = ["docker", "buildx", "build", "--platform", "linux/arm64", "--provenance", "false"]
        for option, values in (("--build-context", contexts or {}), ("--build-arg", args)):
            argv += [f"{option}={key}={value}" for key, value in values.items()]
        run(*argv, "--output", f"type=docker,name={name}", str(folder))
        try:
            [digest] = re.findall(r"digest: (sha256:[0-9a-f]{64})", run("docker", "push", name))
        finally:
            run("docker", "image", "rm", "--force", name)
        return f"{self.host}/ascend/cann@{digest}"


def run(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def tree(image: str, platform: str, *paths: str) -> dict[str, tuple[object, ...]]:
    """Path to mode, owner, link and hash of everything below ``paths`` in ``image``."""
    found: dict[str, tuple[object, ...]] = {}
    with containers.unstarted(image, platform) as container:
        for path in paths:
            chunks, _ = container.get_archive(path)
            found |= _members(path, b"".join(chunks))
    return found


def _members(path: str, content: bytes) -> dict[str, tuple[object, ...]]:
    found: dict[str, tuple[object, ...]] = {}
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            opened = archive.extractfile(member) if member.isreg() else None
            digest = hashlib.sha256(opened.read()).hexdigest() if opened else ""
            about = (member.type, member.mode, member.uid, member.gid, member.mtime)
            found[f"{path}:{member.name}"] = (*about, member.linkname, digest)
    return found
