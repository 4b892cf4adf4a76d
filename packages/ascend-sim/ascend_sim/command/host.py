# SPDX-License-Identifier: Apache-2.0
"""Makes the files of a simulated host: CANN and the driver below a folder that stands for ``/``."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path

from ..packages.packer.cann import build_package
from ..packages.packer.host import host_tree
from ..packages.packer.layout import load_layout
from ..packages.packer.spec import DriverSpec, PackageSpec, Spec
from ..packages.packer.tree import File, Tree
from .errors import UnusableError
from .facts import PACKAGE, Facts
from .options import Machine

ASCEND = "usr/local/Ascend"
PROGRAMS = "usr/local/bin"
_UNSAFE = re.compile(r"[\"'`$\\:;\n]")
_REAL_SMI = "usr/local/lib/ascend-sim/npu-smi"
_RECORD = "ascend-sim.json"
_SMI = """#!/bin/sh
echo 'ascend-sim: the NPUs below are simulated' >&2
exec '@ROOT@/{real}' "$@"
"""


def prepared(machine: Machine, facts: Facts, folder: Path | None) -> Path:
    """The folder with the files of ``machine``, made if it is not there yet.

    Raises:
        UnusableError: it has other files, or cannot be written.
    """
    record = json.dumps({"wheel": facts.content, **asdict(machine)}, sort_keys=True, indent=1)
    root = folder or _cache() / hashlib.sha256(record.encode()).hexdigest()[:16]
    root = root.absolute()
    if _UNSAFE.search(str(root)):
        raise UnusableError(
            f"{root} has a character that CANN's scripts or lists of folders cannot have (one of "
            "\"'`$\\:; or a line's end). Choose another folder with --folder."
        )
    if _is(root, record):
        return root
    if root.is_dir() and any(root.iterdir()):
        why = "another simulated host" if (root / _RECORD).exists() else "other files"
        raise UnusableError(f"{root} has {why}: remove it, or choose another folder with --folder.")
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".ascend-sim-", dir=root.parent))
        try:
            _write(machine, facts, made, root)
            (made / _RECORD).write_text(record, encoding="utf-8")
            made.chmod(0o755)
            made.rename(root)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        if _is(root, record):  # another process was quicker
            return root
        reason = (error.strerror or str(error)).lower()
        raise UnusableError(
            f"cannot write {root}: {reason}. Choose another folder with --folder."
        ) from error
    return root


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "ascend-sim"
    except RuntimeError as error:
        raise UnusableError("there is no home folder. Choose a folder with --folder.") from error


def _is(root: Path, record: str) -> bool:
    try:
        return (root / _RECORD).read_text(encoding="utf-8") == record
    except (OSError, UnicodeDecodeError):
        return False


def _write(machine: Machine, facts: Facts, to: Path, root: Path) -> None:
    """Write all files into ``to``, which will be renamed to ``root``."""
    spec = _spec(machine, facts)
    layout = load_layout(spec.layout)
    device = PACKAGE / "device"
    for entry in spec.packages:
        package = build_package(spec, entry, layout, device)
        if entry.component == "toolkit":
            for name, target in facts.links.items():
                path = name[len("toolkit/") :]
                package.tree.add_link(f"{package.home}/{spec.arch}-linux/{path}", target)
        for path in package.templates:
            _replace(package.tree, path, "@INSTALL_PATH@", f"{root}/{ASCEND}")
        package.tree.write_to(to / ASCEND)
    if spec.driver:
        tree = host_tree(spec.driver, spec.arch, device)
        smi = f"{PROGRAMS}/npu-smi"
        tree.add_file(_REAL_SMI, tree.files[smi].content, mode=0o755)
        tree.add_file(smi, _SMI.format(real=_REAL_SMI), mode=0o755)
        _replace(tree, smi, "@ROOT@", str(root))
        tree.write_to(to)


def _replace(tree: Tree, path: str, old: str, new: str) -> None:
    file = tree.files[path]
    tree.files[path] = File(file.content.replace(old.encode(), os.fsencode(new)), file.mode)


def _spec(machine: Machine, facts: Facts) -> Spec:
    release = machine.release
    packages = [
        PackageSpec("toolkit", release.toolkit, None),
        PackageSpec("kernels", release.kernels[machine.chip], machine.chip),
    ]
    if release.nnal:
        packages.append(PackageSpec("nnal", release.nnal, None, variables=release.variables))
    return Spec(
        arch=facts.architecture,
        cann=release.version,
        layout=release.layout,
        packages=tuple(packages),
        apex=None,
        driver=DriverSpec(machine.driver, machine.chip, machine.cards, machine.memory_mb),
        lacks=tuple(release.lacks),
    )
