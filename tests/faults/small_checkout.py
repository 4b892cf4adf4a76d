# SPDX-License-Identifier: Apache-2.0
"""A checkout with one target whose image is built in a second from a few files."""

from __future__ import annotations

import re
import subprocess
import zipfile
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from platform import machine
from random import Random

from cannery.common.files import write_files
from cannery.common.model import Target
from cannery.engine.base import building_architecture
from cannery.image.render import Renderer
from cannery.matrix.project import Project
from cannery.matrix.schema import load_matrix
from tests.copies import copy_tree
from tests.fetch.run_files import run_file
from tests.unit.matrices import CHECKOUT, FACTS, lock_for

TARGET = "tiny"
TOOLKIT = f"toolkit_8.0.RC2_linux-{machine()}.run"

MATRIX = """\
schema: 2
build_base: building

bases:
  debian-12: {{image: "{base}", suite: bookworm, glibc: 2.36}}
  building: {{image: "{build_base}", suite: bookworm, glibc: 2.36}}

pythons:
  base-python: {{version: 3.11.2, source: debian, base: debian-12}}

cann:
  8.0.RC2:
    layout: ascend-toolkit
    toolkit: {{file: "toolkit_8.0.RC2_linux-{{machine}}.run", origin: the vendor}}
    kernels:
      910b: {{file: kernels-910b_8.0.RC2_linux.run, origin: the vendor}}
    requirements:
      - numpy<2

targets:
  tiny:
    summary: the smallest image there is
    platform: linux/{architecture}
    base: debian-12
    python: base-python
    cann: {{toolkit: 8.0.RC2, kernels: 8.0.RC2, chip: 910b}}
    torch: 2.3.1
    torch_npu: 2.3.1.post2
"""

DOCKERFILE = """\
ARG BASE_IMAGE={{ target.base.image }}
ARG BUILD_IMAGE={{ target.build_base.image }}
FROM scratch AS artifacts
FROM scratch AS cannery
FROM --platform=$BUILDPLATFORM ${BUILD_IMAGE} AS build
{% set toolkit = target.artifacts["toolkit"].name -%}
RUN --mount=type=bind,from=artifacts,source={{ toolkit }},target=/tmp/toolkit.run \\
    --mount=type=bind,source=requirements.lock,target=/tmp/requirements.lock \\
    --mount=type=bind,source=target.json,target=/tmp/target.json \\
    set -e; sh /tmp/toolkit.run; \\
    for layer in {{ layers | map(attribute="name") | join(" ") }}; do \\
        mkdir -p /layers/$layer/opt; echo $layer >/layers/$layer/opt/$layer; \\
    done; \\
    cp /tmp/toolkit.run /layers/toolkit/opt/toolkit; \\
    mkdir -p /layers/guard/usr/local/share/cannery; \\
    cp /tmp/requirements.lock /tmp/target.json /layers/guard/usr/local/share/cannery/

FROM ${BASE_IMAGE} AS image
{% for layer in layers -%}
COPY --link --from=build /layers/{{ layer.name }}/ /
{% endfor %}
LABEL {% for name, value in plan.labels.items() %}{{ name }}="{{ value }}" {% endfor %}

FROM image AS result
"""

POLICY = """\
schema: 1
repository: ascend
tags: {immutable: "{target}-{key}", moving: "{target}"}
aliases: {latest: tiny}
"""

CHECK = """\
def test_the_files_are_there(host):
    assert host.check_output("head -n 1 /opt/toolkit") == "#!/bin/sh"
"""

OPTIONS = """\
def pytest_addoption(parser):
    parser.addoption("--record")
    parser.addoption("--simulated", action="store_true")
"""

IGNORED = "/.cannery/\n/artifacts/\n__pycache__/\n"


def toolkit(number: int, step: str = ":") -> bytes:
    """The vendor's file of the build ``number``: ``step`` runs in the build, the rest is data."""
    return run_file(Random(number).randbytes(100_000), step=step)


def wheel(file: str) -> bytes:
    """A wheel without content, by its file name."""
    name, version = file.split("-")[:2]
    info = f"{name}-{version}.dist-info"
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as made:
        for member, text in (
            ("METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"),
            ("WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
            ("RECORD", ""),
        ):
            made.writestr(zipfile.ZipInfo(f"{info}/{member}"), text)
    return stream.getvalue()


def with_hashes(lock: str) -> str:
    """``lock`` with the hashes of the wheels that it names."""
    return re.sub(
        r"sha256:[0-9a-f]{64}\n    # file: (\S+)",
        lambda found: f"sha256:{sha256(wheel(found[1])).hexdigest()}\n    # file: {found[1]}",
        lock,
    )


def wheels_in(lock: str) -> list[str]:
    """The names of the wheels that ``lock`` names."""
    return re.findall(r"# file: (\S+)", lock)


def make_small_checkout(
    root: Path, base: str, *, architecture: str = "", build_base: str = ""
) -> Project:
    """A committed checkout below ``root``, with ``base`` as the base of its only target.

    Without ``architecture`` that is for this machine; without ``build_base``, it is the base.
    """
    source = CHECKOUT / "cannery" / "image" / "context"
    copy_tree(source, root / "cannery" / "image" / "context")
    # This file makes it a checkout, with paths of its own.
    facts = root / "cannery/data/compat.yaml"
    facts.parent.mkdir(parents=True)
    facts.write_text(FACTS, encoding="utf-8")
    project = Project(root=root)
    for path, text in {
        project.publish_file: POLICY,
        project.templates / "Dockerfile.j2": DOCKERFILE,
        root / "tests" / "image" / "os" / "test_os.py": CHECK,
        root / "tests" / "image" / "conftest.py": OPTIONS,
        root / "requirements.txt": "",
        project.build_lock: "",
        root / ".gitignore": IGNORED,
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    project.artifacts.mkdir()
    target = write_matrix(project, base, architecture=architecture, build_base=build_base)
    for file in target.artifacts.values():
        (project.artifacts / file.name).write_bytes(toolkit(0))
    git(root, "init", "--quiet")
    commit(root)
    return project


def write_matrix(
    project: Project, base: str, *, architecture: str = "", build_base: str = ""
) -> Target:
    """Write the matrix with ``base``, and the rendered files of its target."""
    text = MATRIX.format(
        base=base,
        build_base=build_base or base,
        architecture=architecture or building_architecture(),
    )
    project.matrix_file.write_text(text, encoding="utf-8")
    [target] = load_matrix(project.matrix_file).targets.values()
    write_files({project.lock(target): with_hashes(lock_for(target))})
    write_files(Renderer(project).render(target).paths(project))
    return target


def git(root: Path, *words: str) -> None:
    """Run git in ``root``."""
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True)


def commit(root: Path) -> None:
    """Commit everything in ``root``."""
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "all")
