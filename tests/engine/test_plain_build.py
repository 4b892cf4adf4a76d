# SPDX-License-Identifier: Apache-2.0
"""Builds by plain buildx: of a Dockerfile, and of the shared build context."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

from cannery.building.bases import bases
from cannery.image.content_key import read_context, with_mode
from cannery.matrix.project import Project
from tests.engine.bases import base_image

from .conftest import Built


def layers(image: str) -> list[str]:
    argv = ["docker", "image", "inspect", "--format", "{{json .RootFS.Layers}}", image]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    found: list[str] = json.loads(done.stdout)
    return found


def test_the_command_in_the_head_builds_the_same_image(project: Project, main: Built) -> None:
    head = (project.images / main.target.id / "Dockerfile").read_text(encoding="utf-8")
    [command] = re.findall(r"^#   (docker buildx build (?:.*\\\n#.*)+)$", head, re.MULTILINE)
    words = re.sub(r"\\\n#", " ", command).split()
    words[words.index("artifacts=DIR")] = f"artifacts={main.simulated.artifacts}"
    assert Path(words[-1]) == Path("images") / main.target.id
    more = ["--build-arg", "SIMULATED=true", "--tag", "cannery-plain:test", "--load"]
    for argument, base in bases(main.target).items():
        more += ["--build-arg", f"{argument}={base_image(*base)}"]
    subprocess.run(
        [*words[:-1], *more, words[-1]],
        cwd=project.root,
        check=True,
        capture_output=True,
        timeout=600,
    )
    try:
        assert layers("cannery-plain:test") == layers(main.image)
    finally:
        subprocess.run(["docker", "image", "rm", "cannery-plain:test"], check=True)


DOCKERFILE = "FROM scratch\nCOPY --from=cannery . /\n"


def test_the_engine_gets_the_files_of_the_content_key(project: Project, tmp_path: Path) -> None:
    copy = Project(root=tmp_path / "checkout")
    facts = copy.root / "cannery/data/compat.yaml"
    facts.parent.mkdir(parents=True)
    facts.touch()
    shutil.copytree(project.build_context, copy.build_context)
    for name in ("guard/extra.pth", "seal-layer.orig", "__pycache__/a.pyc", "new/file"):
        path = copy.build_context / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("not committed", encoding="utf-8")
    (tmp_path / "Dockerfile").write_text(DOCKERFILE, encoding="utf-8")
    argv = ["docker", "buildx", "build", "--build-context", f"cannery={copy.build_context}"]
    argv += ["--output", f"type=local,dest={tmp_path / 'out'}", str(tmp_path)]
    subprocess.run(argv, check=True, capture_output=True, timeout=120)
    handed = {
        str(path.relative_to(tmp_path / "out")): with_mode(
            path.read_bytes().decode(errors="surrogateescape"),
            executable=bool(path.stat().st_mode & 0o100),
        )
        for path in (tmp_path / "out").rglob("*")
        if path.is_file()
    }
    assert handed == read_context(copy)
