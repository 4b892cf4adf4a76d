# SPDX-License-Identifier: Apache-2.0
"""The file of a bundle: a tar archive, whose last member says what the others are for.

Members and links that lead out of the folder are refused, and the manifest is checked like any
input: a bundle comes from another machine.
"""

from __future__ import annotations

import errno
import json
import os
import re
import tarfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from cannery.common import console
from cannery.common.errors import ArtifactError, Problem, file_error
from cannery.common.files import extract, sha256_of, temporary_beside, temporary_folder
from cannery.common.outside import MOST_CONFIG, parse_json

MANIFEST = "manifest.json"
"""The last member, so that an incomplete archive has none."""

_SCHEMA = 3
_TARGET = re.compile(r"[\w.-]{1,200}", re.ASCII)
_KEY = re.compile(r"(sha256:)?[0-9a-f]{64}")
_LINE = re.compile(r"[ -~]{0,200}")


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What a bundle is for.

    Attributes:
        simulate: it has simulated packages in place of the vendor's.
        targets: id to content key by the committed files; see ``KeyInputs.committed``.
        commit: of the checkout that made it; empty if that was no git checkout.
        engine: the version of the engine that made it.
    """

    simulate: bool
    targets: Mapping[str, str]
    commit: str
    engine: str


def invalid(path: Path, why: str) -> ArtifactError:
    """The error for a bundle or a file in it."""
    fix = "Copy the bundle again, or make it again with 'build.py bundle'."
    return ArtifactError(Problem(what=f"{path} is not a valid bundle: {why}.", fix=fix))


def require_place(out: Path) -> None:
    """Check that ``out`` can be written, before hours go into it."""
    try:
        os.scandir(out.absolute().parent).close()
        if out.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    except OSError as error:
        raise file_error("write", out, error) from error


def pack(folder: Path, contents: Contents, out: Path) -> str:
    """Write the bundle ``out`` from all files in ``folder``, and return its sha256.

    ``out`` appears under its name once it is complete.
    """
    temporary = None
    try:
        manifest = json.dumps({"schema": _SCHEMA, **asdict(contents)}, indent=1)
        (folder / MANIFEST).write_text(manifest, encoding="utf-8")
        temporary = temporary_beside(out)
        with temporary.open("xb") as stream:
            with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
                paths = sorted(path for path in folder.rglob("*") if path != folder / MANIFEST)
                for path in [*paths, folder / MANIFEST]:
                    name = str(path.relative_to(folder))
                    archive.add(path, name, recursive=False, filter=_without_owner)
            stream.flush()
            os.fsync(stream.fileno())
        digest = sha256_of(temporary)
        os.replace(temporary, out)
    except OSError as error:
        raise file_error("write", out, error) from error
    finally:
        with suppress(OSError):
            if temporary:
                temporary.unlink()
    return digest


def _without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.mtime = member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def unpack(bundle: Path, parent: Path) -> tuple[Path, Contents]:
    """Unpack ``bundle`` into a folder below ``parent``, unless that was done before."""
    try:
        digest = sha256_of(bundle)
    except OSError as error:
        raise file_error("read", bundle, error) from error
    console.say(f"{bundle}: sha256 {digest}")
    place = parent / digest
    try:
        if not place.is_dir():
            with temporary_folder(parent) as temporary:
                tree = temporary / "tree"
                # Plain tar: an archive that is compressed may be of any size.
                with tarfile.open(bundle, "r:") as archive:
                    extract(archive, tree)
                _contents(bundle, tree)
                os.replace(tree, place)
        return place, _contents(bundle, place)
    except (tarfile.TarError, ValueError, RecursionError, MemoryError) as error:
        raise invalid(bundle, str(error) or type(error).__name__) from error
    except OSError as error:
        raise file_error("write", place, error) from error


def _contents(bundle: Path, tree: Path) -> Contents:
    path = tree / MANIFEST
    if path.is_symlink() or not path.is_file():
        raise invalid(bundle, f"it has no {MANIFEST}, so it is incomplete")
    with path.open("rb") as stream:
        manifest = parse_json(stream.read(MOST_CONFIG + 1), most=MOST_CONFIG)
    if not isinstance(manifest, dict):
        raise invalid(bundle, f"{MANIFEST} is not an object")
    if manifest.get("schema") != _SCHEMA:
        what = f"{bundle} is of another version of cannery ({str(manifest.get('schema'))[:20]!r})."
        raise ArtifactError(Problem(what=what, fix="Make it again with this checkout."))
    simulate, targets = manifest.get("simulate"), manifest.get("targets")
    commit, engine = manifest.get("commit"), manifest.get("engine")
    if not isinstance(simulate, bool):
        raise invalid(bundle, "'simulate' is not true or false")
    if not isinstance(targets, dict) or not all(
        _TARGET.fullmatch(name) and isinstance(key, str) and _KEY.fullmatch(key)
        for name, key in targets.items()
    ):
        raise invalid(bundle, "'targets' does not map targets to content keys")
    if not all(isinstance(text, str) and _LINE.fullmatch(text) for text in (commit, engine)):
        raise invalid(bundle, "'commit' or 'engine' is not a line of text")
    return Contents(simulate=simulate, targets=targets, commit=str(commit), engine=str(engine))
