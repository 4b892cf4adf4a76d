# SPDX-License-Identifier: Apache-2.0
"""Pulls that fail; a program in docker's place keeps damaged content until a collection."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cannery.common.errors import EngineError
from cannery.engine.builder import Builder
from cannery.engine.images import export_layout, pull

BASE = "registry.test/debian@sha256:" + "ab" * 32
REPEATED = (
    "failed to solve",
    "failed to build: failed to solve",
    "failed to run Build function",
)
"""The words with which versions of buildx, and busy engines, repeat the error of a step."""

DOCKER = f"""#!{sys.executable}
import sys
from pathlib import Path
here, words = Path(__file__).parent, sys.argv[1:]
shown = words[:2] + (words[words.index("--force") :] if "--force" in words else [])
with (here / "asked").open("a") as asked:
    print(*shown, file=asked)
if words[1] == "prune":
    (here / "damaged").unlink(missing_ok=True)
    sys.exit(0)
if (here / "damaged").exists() or (here / "lies").exists():
    print('ERROR: failed to solve: {BASE}: failed commit on ref "manifest-x": unexpected commit'
          " digest sha256:1, expected sha256:2: failed precondition")
    sys.exit(1)
for words in {REPEATED}:
    if (here / words).exists():
        print(f"ERROR: {{words}}: {BASE}: not found")
        sys.exit(1)
if (here / "broken").exists():
    print("#4 sha256:1 2MB / 3MB")
    print("ERROR: failed to solve:", (here / "broken").read_text())
    sys.exit(1)
"""
BROKEN = (
    "snapshotter not loaded: overlayfs: invalid argument",
    "failed to copy: write /var/lib/docker/x: no space left on device",
    "rpc error: code = Unavailable desc = error reading from server: EOF",
)
"""What BuildKit says of an engine that has failed."""

BUILD, COLLECT = "buildx build", "buildx prune --force --filter id=^none$"


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "docker").write_text(DOCKER, encoding="utf-8")
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("state", "asked", "why"),
    [
        ("", [BUILD], ""),
        ("damaged", [BUILD, COLLECT, BUILD], ""),
        ("lies", [BUILD, COLLECT, BUILD], "unexpected commit digest"),
        *((words, [BUILD], "not found") for words in REPEATED),
    ],
)
def test_what_was_received_damaged_is_forgotten(
    docker: Path, state: str, asked: list[str], why: str
) -> None:
    if state:
        (docker / state).touch()
    refusal = pull(Builder(name="default", local=True), BASE, "arm64")
    assert (docker / "asked").read_text(encoding="utf-8").splitlines() == asked
    assert why in refusal.why if refusal else not why


@pytest.mark.parametrize("words", BROKEN)
def test_a_registry_is_not_blamed_for_an_engine_that_has_failed(docker: Path, words: str) -> None:
    (docker / "broken").write_text(words, encoding="utf-8")
    builder = Builder(name="default", local=True)
    with pytest.raises(EngineError, match=r" cannot be exported:\nERROR: failed to solve"):
        export_layout(builder, BASE, "arm64", docker / "layout")
    with pytest.raises(EngineError, match="the builder default reports") as raised:
        pull(builder, BASE, "arm64")
    (problem,) = raised.value.problems
    assert words in problem.what
    assert "2MB" not in problem.what, "the progress of the pull is not the reason"
    assert "docker buildx ls" in problem.fix
