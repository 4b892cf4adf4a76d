# SPDX-License-Identifier: Apache-2.0
"""Reads what is committed, without touching the work tree."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Callable
from pathlib import Path

from cannery.errors import EngineError
from cannery.plan.affected import Commit


def resolve(root: Path, reference: str) -> str:
    """The id of the commit that ``reference`` names; empty where there is none here.

    Raises:
        EngineError: ``root`` is in no repository, or git is not installed.
    """
    name = f"{reference}^{{commit}}"
    argv = ["rev-parse", "--verify", "--quiet", "--end-of-options", name]
    code, said, complaint = _git(root, argv)
    if code and not _is_repository(root):
        raise EngineError(f"git cannot read {root}: {complaint or 'it is no repository'}.")
    return "" if code else said.decode().strip()


def _is_repository(root: Path) -> bool:
    return _git(root, ["rev-parse", "--git-dir"])[0] == 0


def uncommitted(root: Path) -> list[str]:
    """The files below ``root`` that git knows and that are not as they were committed.

    Raises:
        EngineError: git cannot tell.
    """
    said = _checked(root, ["diff", "--name-only", "--relative", "-z", "HEAD", "--", "."])
    return [name.decode(errors="surrogateescape") for name in said.split(b"\0") if name]


def read_commit(root: Path, commit: str, is_read: Callable[[str], bool]) -> Commit:
    """What is committed below ``root``, with the text of the files that ``is_read`` holds for.

    Raises:
        EngineError: git cannot read it, as in a clone that has only some of the files.
    """
    entries: dict[str, str] = {}
    wanted: dict[str, str] = {}
    for line in _checked(root, ["ls-tree", "-r", "-z", commit]).split(b"\0"):
        if line:
            about, _, name = line.partition(b"\t")
            path = name.decode(errors="surrogateescape")
            entries[path] = about.decode()
            _, kind, blob = entries[path].split()
            if kind == "blob" and is_read(path):
                wanted[path] = blob
    blobs = _blobs(root, sorted({*wanted.values()}))
    return Commit(entries=entries, texts={path: blobs[blob] for path, blob in wanted.items()})


def _blobs(root: Path, ids: list[str]) -> dict[str, str]:
    """Id to text. What is no UTF-8 differs from all that is, and from what else is none."""
    said = _checked(root, ["cat-file", "--batch"], "".join(f"{each}\n" for each in ids).encode())
    stream = io.BytesIO(said)
    found = {}
    for each in ids:
        size = stream.readline().split()[-1]
        if not size.isdigit():
            raise EngineError(f"git has not got the file {each} here.")
        found[each] = stream.read(int(size)).decode(errors="surrogateescape")
        stream.read(1)
    return found


def _checked(root: Path, arguments: list[str], sent: bytes = b"") -> bytes:
    code, said, complaint = _git(root, arguments, sent)
    if code:
        raise EngineError(f"git {arguments[0]} failed ({code}): {complaint}")
    return said


def _git(root: Path, arguments: list[str], sent: bytes = b"") -> tuple[int, bytes, str]:
    argv = ["git", "-C", str(root), *arguments]
    try:
        done = subprocess.run(argv, input=sent, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise EngineError("git is not installed, and --since needs it.") from error
    return done.returncode, done.stdout, done.stderr.decode(errors="replace").strip()
