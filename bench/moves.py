# SPDX-License-Identifier: Apache-2.0
"""Updates one library in a lock, which is the smallest change that needs a rebuild.

The lock of the checkout is not changed: the changed text is written to a copy.
"""

from __future__ import annotations

import hashlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name, parse_wheel_filename

from cannery.common.errors import MatrixError, UsageError
from cannery.common.process import run
from cannery.lock.lock_file import LockedFile, parse_lock, with_files

LIBRARY = "tqdm"
"""Pure Python, small, and in a late layer of every target with DeepSpeed."""


@dataclass(frozen=True, kw_only=True)
class NewVersion:
    """A version of a package, and its wheel."""

    name: str
    version: str
    file: LockedFile


def locked_version(lock: str, name: str) -> str:
    """The version of ``name`` in ``lock``.

    Raises:
        UsageError: the lock does not have it.
    """
    if version := parse_lock(lock).version(canonicalize_name(name)):
        return version
    raise UsageError(f"{name} is not in the lock, so its version cannot be changed.")


def moved(lock: str, move: NewVersion) -> str:
    """``lock`` with the version and the file of one package replaced.

    Raises:
        MatrixError: the lock does not have the package exactly once.
    """
    pattern = rf"^{re.escape(move.name)}==\S+ \\\n(?:    --hash=\S+(?: \\)?\n|    # file: \S+\n)+"
    pin = f"{move.name}=={move.version}\n"
    new = with_files(pin, {move.name: [move.file]})
    text, count = re.subn(pattern, lambda _: new, lock, flags=re.MULTILINE)
    if count != 1:
        raise MatrixError(f"the lock has {move.name} {count} times instead of once.")
    return text


def earlier(lock: str, name: str, python: str, count: int, folder: Path) -> list[NewVersion]:
    """The ``count`` versions of ``name`` before the locked one, the newest first.

    pip downloads them, as wheels for any platform that Python ``python`` can install.

    Raises:
        UsageError: the package index does not have that many.
    """
    moves: list[NewVersion] = []
    before = locked_version(lock, name)
    for number in range(count):
        place = folder / f"move-{number}"
        argv = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest"]
        argv += [str(place), "--only-binary", ":all:", "--platform", "any", "--abi", "none"]
        argv += ["--implementation", "py", "--python-version", python, f"{name}<{before}"]
        code, said = run(argv)
        found = [*place.glob("*.whl")]
        if code or len(found) != 1:
            what = f"the package index has no {name} before {before}. pip says:\n{said.strip()}"
            raise UsageError(what)
        before = str(parse_wheel_filename(found[0].name)[1])
        digest = hashlib.sha256(found[0].read_bytes()).hexdigest()
        file = LockedFile(name=found[0].name, sha256=digest)
        moves.append(NewVersion(name=canonicalize_name(name), version=before, file=file))
    return moves
