# SPDX-License-Identifier: Apache-2.0
"""The last commits of this repository, read so that no file is read twice."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from cannery.building.affected import is_read
from cannery.building.git import Commit
from cannery.matrix.files import FACTS

ROOT = Path(__file__).resolve().parents[2]

_FACTS_BEFORE = "compat.yaml"
"""Where earlier commits have FACTS."""


def _git(*words: str, stdin: bytes = b"") -> bytes:
    argv = ["git", "-C", str(ROOT), *words]
    return subprocess.run(argv, input=stdin, capture_output=True, check=True).stdout


def is_shallow() -> bool:
    return _git("rev-parse", "--is-shallow-repository") == b"true\n"


def pairs(count: int) -> list[tuple[str, str]]:
    """The last ``count`` commits that have a parent, newest first: first parent and commit."""
    lines = _git("rev-list", "--parents", "--first-parent", f"-{count}", "HEAD").decode()
    rows = [line.split() for line in lines.splitlines()]
    return [(row[1], row[0]) for row in rows if len(row) > 1]


@cache
def entries(commit: str) -> Mapping[str, str]:
    """Path to mode, kind and id of every file of a commit, as git says them."""
    rows = _git("ls-tree", "-r", "-z", commit).decode().split("\0")
    return {path: about for about, _, path in (row.partition("\t") for row in rows if row)}


class Blobs:
    """The texts of files by their ids."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def need(self, ids: set[str]) -> None:
        """Read those of ``ids`` that are not here yet."""
        missing = sorted(ids - self._texts.keys())
        output = _git("cat-file", "--batch", stdin="".join(f"{i}\n" for i in missing).encode())
        start = 0
        for blob in missing:
            end = output.index(b"\n", start)
            size = int(output[start:end].split()[-1])
            content = output[end + 1 : end + 1 + size]
            self._texts[blob] = content.decode(errors="surrogateescape")
            start = end + 1 + size + 1

    def __getitem__(self, blob: str) -> str:
        return self._texts[blob]


def commit_at(name: str, blobs: Blobs) -> Commit:
    """The commit as ``affected`` takes it."""
    listed = {FACTS if path == _FACTS_BEFORE else path: at for path, at in entries(name).items()}
    wanted = {
        path: about.split()[2]
        for path, about in listed.items()
        if is_read(path) and about.split()[1] == "blob"
    }
    blobs.need({*wanted.values()})
    texts = {path: blobs[blob] for path, blob in wanted.items()}
    return Commit(entries=listed, texts=texts)
