# SPDX-License-Identifier: Apache-2.0
"""Self-extracting packages: a header of shell code, then a tar.gz with install.sh and files.

A package has the packages of its parts in it, whose files are thus written three times: as a part
of the outer archive, unpacked from the inner one, and where they are installed.
"""

from __future__ import annotations

import hashlib
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from . import marker
from .errors import PackError
from .file_list import add_list
from .layout import PACKAGES
from .names import INTERNAL_VERSION
from .package import Package
from .padding import add_padding
from .spec import PackageSpec
from .tree import Stream, Tree

MODE_PROGRAM = 0o755
_STORED, _FAST, _SMALL = 0, 1, 9
"""Levels of gzip: the outer archive's files are compressed already."""

_PLAIN = "/pkg_inc/"
"""In what folders the installer leaves modes to the umask."""

_LOST = "lost-by-the-packer"
"""A file that a list names and the package does not have, so that its copying fails."""


def write_run(package: Package, entry: PackageSpec, path: Path) -> None:
    """Write the package as the file ``path``; the same package gives the same bytes.

    Raises:
        PackError: it does not have a part that is named.
    """
    unknown = {*entry.without, *(entry.padding.files if entry.padding else ())} - {*package.parts}
    if unknown:
        known = ", ".join(package.parts)
        raise PackError(f"{entry.file} has no part {', '.join(sorted(unknown))}, only {known}")
    names = [name for name in package.parts if name not in entry.without]
    outer = Tree()
    with tempfile.TemporaryDirectory(dir=path.parent) as temporary:
        for name in names:
            inner = Path(temporary, name)
            _write_part(package, entry, name, inner, fails=name == names[-1])
            outer.add_directory("run_package")
            outer.streams[f"run_package/{package.part_file(name)}"] = _stored(inner)
        settings = _settings(package, names)
        outer.add_file("install.sh", _script(settings, "package.sh"), mode=MODE_PROGRAM)
        title = f"{package.name} {package.version} linux-{package.arch}"
        _write_archive(title, outer, path, _STORED)


def _stored(path: Path) -> Stream:
    return Stream(path.stat().st_size, MODE_PROGRAM, lambda: path.open("rb"))


def _settings(package: Package, names: list[str]) -> dict[str, str]:
    """What the installer of a package with these parts has to know."""
    return {
        "title": _title(package.name),
        "log_name": f"ascend_{package.log_name}_install",
        "log_directory": "ascend_seclog",
        "package_name": package.name,
        "package_version": package.version,
        "package_arch": package.arch,
        "parts": " ".join(names),
        "packages": " ".join(package.part_file(name) for name in names),
        "needs_toolkit": package.needs_toolkit,
        "exclusive": package.exclusive,
        "templates": " ".join(package.templates),
        "version_cfg": package.version_cfg,
        "version_parts": " ".join(package.version_parts),
        "internal_version": INTERNAL_VERSION,
        "record": package.record,
        "set_env": package.set_env,
    }


def _write_part(
    package: Package, entry: PackageSpec, name: str, path: Path, *, fails: bool
) -> None:
    """Write the inner package of a part; with ``fails``, as ``entry.fails`` says."""
    own = _own(package, name)
    padding = entry.padding
    if padding:
        files = padding.files.get(name, 0)
        size = padding.size * files // max(1, sum(padding.files.values()))
        add_padding(own, f"{package.home}/padding/{name}", name, files, size)
    first, others = _rows(own, add_list(own, package, name))
    how = entry.fails if fails else ""
    if how:
        others.insert(len(others) // 2, f"file|640|{package.home}/{_LOST}|")
    rows = first + others
    wheels = {each: of for each, of in package.wheels.items() if each in own.files}
    payload = Tree()
    for each, file in own.files.items():
        payload.add_file(f"{name}/{each}", file.content, mode=file.mode)
    for each, stream in own.streams.items():
        payload.add_directory(f"{name}/{each}".rpartition("/")[0])
        payload.streams[f"{name}/{each}"] = stream
    payload.add_file("list", "".join(f"{row}\n" for row in rows))
    lines = [f"{each}|{of[0].rstrip('/')}|{' '.join(of[1:])}\n" for each, of in wheels.items()]
    payload.add_file("wheels", "".join(lines))
    is_soft = how == "softly" or (package.soft and how != "hard")
    atb = name == "atb"
    settings = {
        "title": "cann-atb" if atb else _title(name),
        "log_name": "cann_atb_install" if atb else "ascend_install",
        "log_directory": "cann_atb_log" if atb else "ascend_seclog",
        "part": name,
        "check": "no" if package.soft else "yes",
        "on_error": "soft" if is_soft else "hard",
    }
    payload.add_file("install.sh", _script(settings, "part.sh"), mode=MODE_PROGRAM)
    title = f"{name} {package.version} linux-{package.arch}"
    _write_archive(title, payload, path, _FAST if padding else _SMALL)


def _own(package: Package, name: str) -> Tree:
    """What is the part's own, without what pip will install."""
    by_pip = tuple(f"{place}{each}/" for place, *names in package.wheels.values() for each in names)
    by_length = sorted(
        ((each, part) for part, every in package.parts.items() for each in every),
        key=lambda pair: -len(pair[0]),
    )
    first, own = next(iter(package.parts)), Tree()

    def is_own(path: str) -> bool:
        owner = next((part for each, part in by_length if path.startswith(each)), first)
        return owner == name and not path.startswith(by_pip)

    tree = package.tree
    own.files = {path: file for path, file in tree.files.items() if is_own(path)}
    own.links = {path: link for path, link in tree.links.items() if is_own(path)}
    own.directories = {path for path in tree.directories if is_own(f"{path}/")}
    return own


def _rows(tree: Tree, before: set[str]) -> tuple[list[str], list[str]]:
    """The lines of the installer's list: folders with the files ``before``, then the others."""
    first = [f"folder|750|{path}|" for path in sorted(tree.directories) if _PLAIN not in f"{path}/"]
    others: list[str] = []
    for path, mode in sorted(tree.modes().items()):
        row = f"{'plain' if _PLAIN in path else 'file'}|{mode:o}|{path}|"
        (first if path in before else others).append(row)
    links = [f"link||{path}|{link.target}" for path, link in sorted(tree.links.items())]
    return first, others + links


def _title(name: str) -> str:
    """How a package calls itself in a log."""
    return name[:1].upper() + name[1:]


def _script(settings: Mapping[str, str], name: str) -> str:
    """install.sh: the settings, what every one has, and what is of the kind."""
    parts = [(PACKAGES / "installer" / each).read_text("utf-8") for each in ("common.sh", name)]
    return f"#!/bin/sh\n{marker.HEAD}\n" + _assignments(settings) + "".join(parts)


def _assignments(settings: Mapping[str, str]) -> str:
    return "".join(f"{key}={shlex.quote(value)}\n" for key, value in settings.items())


def _write_archive(title: str, tree: Tree, path: Path, level: int) -> None:
    """Write the header and the payload, whose size and sha256 the header names."""
    code = (PACKAGES / "installer" / "header.sh").read_text(encoding="utf-8")
    with tempfile.TemporaryFile(dir=path.parent) as payload:
        tree.write_tar_gz(payload, level)
        size = payload.tell()
        payload.seek(0)
        digest = hashlib.file_digest(payload, "sha256").hexdigest()
        # The names are makeself's: what reads the vendor's packages reads these, too.
        settings = {"label": title, "SHA": digest, "filesizes": str(size)}
        values = "".join(f'{key}="{value}"\n' for key, value in settings.items())
        head = f"#!/bin/sh\n{marker.HEAD}\n{values}"
        # The payload begins after the two texts and the line that says how many lines they have.
        lines = head.count("\n") + code.count("\n") + 1
        payload.seek(0)
        with path.open("wb") as file:
            file.write(f'{head}skip="{lines}"\n{code}'.encode())
            shutil.copyfileobj(payload, file)
    path.chmod(MODE_PROGRAM)
