# SPDX-License-Identifier: Apache-2.0
"""The git repository of a checkout: its commit, its origin, its changes, and committed files.

Every function raises EngineError when git fails, so an empty answer is always git's own answer.
NoRepositoryError stands apart, because some callers can do without a repository.
"""

from __future__ import annotations

import io
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cannery.common.errors import EngineError, Problem, file_error
from cannery.common.process import allowed_env


@dataclass(frozen=True, kw_only=True)
class Commit:
    """The project at a commit.

    ``entries`` maps the path of every file to an identifier of its content and mode; ``texts`` maps
    the paths that were asked for to their texts.
    """

    entries: Mapping[str, str]
    texts: Mapping[str, str]


class NoRepositoryError(EngineError):
    """The folder is in no git repository, or git is not installed."""


def resolve(root: Path, reference: str = "HEAD") -> str:
    """The id of the commit that ``reference`` names; empty if the repository has no such commit."""
    name = f"{reference}^{{commit}}"
    words = ["rev-parse", "--verify", "--quiet", "--end-of-options", name]
    # 1 is its answer for a name that it does not know; everything else is 128.
    return _checked(root, words, allowed=(0, 1)).decode().strip()


def names(root: Path) -> list[str]:
    """The names of all branches and tags."""
    output = _checked(root, ["for-each-ref", "--format=%(refname:short)"])
    return output.decode(errors="replace").splitlines()


def commit(root: Path) -> str:
    """The id of the commit that is checked out; empty if there is no commit or no repository."""
    try:
        return resolve(root)
    except NoRepositoryError:
        return ""


def origin(root: Path) -> str:
    """The URL that the checkout was cloned from; empty if there is none or no repository."""
    words = ["config", "--get", "remote.origin.url"]
    try:
        # 1 is its answer for a setting that does not exist.
        return _checked(root, words, allowed=(0, 1)).decode(errors="replace").strip()
    except NoRepositoryError:
        return ""


def changed(root: Path, paths: Sequence[str] = (".",), *, untracked: bool = True) -> list[str]:
    """The files below ``paths`` of ``root`` that differ from the commit, relative to ``root``.

    ``untracked`` includes files that git does not track and does not ignore.
    """
    files = "all" if untracked else "no"
    words = ["status", "--porcelain", "-z", "--no-renames", f"--untracked-files={files}"]
    entries = _checked(root, [*words, "--", *paths]).split(b"\0")
    # git gives paths from the top of the repository, which may be above the project.
    prefix = _checked(root, ["rev-parse", "--show-prefix"]).removesuffix(b"\n")
    names = [entry[3:].removeprefix(prefix) for entry in entries if entry]
    return [name.decode(errors="surrogateescape") for name in names]


def read_commit(root: Path, commit: str, is_read: Callable[[str], bool]) -> Commit:
    """The committed files below ``root``, with the text of those for which ``is_read`` is true."""
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
    ids = sorted({*wanted.values()})
    output = _checked(root, ["cat-file", "--batch"], "".join(f"{id_}\n" for id_ in ids).encode())
    stream = io.BytesIO(output)
    blobs = {}
    for id_ in ids:
        size = stream.readline().split()[-1]
        if not size.isdigit():
            what = f"this clone does not have the file with the id {id_}."
            raise EngineError(Problem(what=what, fix="Fetch it: git fetch --refetch"))
        # Bytes that are not UTF-8 are kept apart from all others.
        blobs[id_] = stream.read(int(size)).decode(errors="surrogateescape")
        stream.read(1)
    return Commit(entries=entries, texts={path: blobs[id_] for path, id_ in wanted.items()})


def _checked(
    root: Path, words: Sequence[str], stdin: bytes = b"", *, allowed: Sequence[int] = (0,)
) -> bytes:
    # Without optional locks, a question never writes to the repository.
    argv = ["git", "--no-optional-locks", "-C", str(root), *words]
    try:
        done = subprocess.run(
            argv, input=stdin, env=allowed_env("git"), capture_output=True, check=False
        )
    except FileNotFoundError as error:
        fix = "Install it: 'apt-get install git' on Debian."
        raise NoRepositoryError(Problem(what="git is not installed.", fix=fix)) from error
    except OSError as error:
        raise file_error("run", Path("git"), error) from error
    if done.returncode in allowed:
        return done.stdout
    # git's exit code is the same for a missing repository and for one that it cannot open.
    place = root.resolve()
    if not any((folder / ".git").exists() for folder in (place, *place.parents)):
        fix = "Run this in a clone of the project."
        raise NoRepositoryError(Problem(what=f"{root} is in no git repository.", fix=fix))
    message = done.stderr.decode(errors="replace").strip()
    what = f"git {words[0]} failed in {root} ({done.returncode}): {message}"
    raise EngineError(Problem(what=what, fix="See what 'git status' says there."))
