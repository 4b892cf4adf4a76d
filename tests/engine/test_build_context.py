# SPDX-License-Identifier: Apache-2.0
"""What BuildKit is handed of the shared build context is what content keys are computed from."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from cannery.image.content_key import read_context, with_mode
from cannery.matrix.project import Project

DOCKERFILE = "FROM scratch\nCOPY --from=cannery . /\n"


def test_the_engine_gets_what_is_in_the_content_key(project: Project, tmp_path: Path) -> None:
    copy = Project(root=tmp_path / "checkout")
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
