# SPDX-License-Identifier: Apache-2.0
"""Puts the wheel together: from a compiled device to the bytes of a .whl file."""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomllib

from ascend_sim.command.facts import FILE as FACTS
from ascend_sim.packages.packer.archives import record_text
from ascend_sim.packages.packer.errors import PackError
from ascend_sim.packages.packer.tree import ELF_MACHINES, require_arch

FOLDER = Path(__file__).resolve().parents[1]
LICENSE = FOLDER.parents[1] / "LICENSE"
PACKAGE = "ascend_sim"
SUMMARY = "Simulated Ascend NPUs for the tests of programs that use torch_npu"
MACHINES = tuple(sorted(ELF_MACHINES.values()))
PYTHON = "3.9"
_OF_THE_PACKER = ("chips", "layouts", "packer", "templates", "toolkit")
_SHIPPED = ("command", *(f"packages/{name}" for name in _OF_THE_PACKER))
_COMPILED = (
    "toolkit/lib64/libascendcl.so",
    "toolkit/devlib/libascend_hal.so",
    "nnal/cxx_abi_0/libatb.so",
    "nnal/cxx_abi_1/libatb.so",
    "driver/lib64/driver/libascend_hal.so",
    "driver/bin/npu-smi",
)
_NOT_SHIPPED = ("oldest_cann", "order")
"""What releases.json has for the measurements alone."""


def version() -> str:
    """That in pyproject.toml."""
    text = (FOLDER / "pyproject.toml").read_text(encoding="utf-8")
    return str(tomllib.loads(text)["project"]["version"])


def file_name(machine: str) -> str:
    """The name of the wheel for ``machine``."""
    return f"{PACKAGE}-{version()}-py3-none-{'.'.join(_platforms(machine))}.whl"


def _platforms(machine: str) -> tuple[str, ...]:
    """Two names of one thing: glibc 2.17 or later. Old versions of pip know the second only."""
    return f"manylinux_2_17_{machine}", f"manylinux2014_{machine}"


def known(machine: str) -> dict[str, Any]:
    """What releases.json says of CANN's releases, for one machine."""
    package = FOLDER / PACKAGE
    text = (package / "releases.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text.replace("{machine}", machine))
    symbols = json.loads((package / "cann_symbols.json").read_text(encoding="utf-8"))
    for release in found["releases"]:
        later = release.pop("lacks_those_of")
        release["lacks"] = sorted(line for each in later for line in symbols[each])
    return {name: value for name, value in found.items() if name not in _NOT_SHIPPED}


def wheel(device: Path, machine: str) -> bytes:
    """The bytes of the wheel with what build.sh compiled into ``device``.

    Raises:
        PackError: a file of the device is missing, or for another machine.
    """
    files, links = _device(device, machine)
    files[f"{PACKAGE}/__init__.py"] = ((FOLDER / PACKAGE / "__init__.py").read_bytes(), False)
    for folder in _SHIPPED:
        for path in sorted((FOLDER / PACKAGE / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                files[path.relative_to(FOLDER).as_posix()] = (path.read_bytes(), False)
    own = {
        "version": version(),
        "architecture": machine,
        "content": _hash({name: content for name, (content, _) in files.items()}),
        "links": links,
    }
    text = json.dumps({**own, **known(machine)}, indent=1, sort_keys=True) + "\n"
    files[f"{PACKAGE}/{FACTS}"] = (text.encode(), False)
    return _zipped({**files, **_metadata(machine)})


def _device(device: Path, machine: str) -> tuple[dict[str, tuple[bytes, bool]], dict[str, str]]:
    """Each file with whether it is a program; and the links, which a wheel cannot have."""
    files: dict[str, tuple[bytes, bool]] = {}
    links: dict[str, str] = {}
    if missing := [name for name in _COMPILED if not (device / name).is_file()]:
        raise PackError(f"{device} has no {', '.join(missing)}: compile it with build.sh first.")
    for path in sorted(device.rglob("*")):
        name = path.relative_to(device).as_posix()
        if path.is_symlink():
            links[name] = str(path.readlink())
        elif path.is_file():
            content = path.read_bytes()
            require_arch(path, content, machine)
            files[f"{PACKAGE}/device/{name}"] = (content, os.access(path, os.X_OK))
    return files, links


def _metadata(machine: str) -> dict[str, tuple[bytes, bool]]:
    info = f"{PACKAGE}-{version()}.dist-info"
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    metadata = (
        f"Metadata-Version: 2.4\nName: ascend-sim\nVersion: {version()}\nSummary: {SUMMARY}\n"
        "License-Expression: Apache-2.0\nLicense-File: LICENSE\n"
        "Classifier: Operating System :: POSIX :: Linux\n"
        "Classifier: Topic :: Software Development :: Testing\n"
        f"Requires-Python: >={PYTHON}\nDescription-Content-Type: text/markdown\n\n{readme}"
    )
    tags = "".join(f"Tag: py3-none-{platform}\n" for platform in _platforms(machine))
    head = f"Wheel-Version: 1.0\nGenerator: ascend-sim ({version()})\nRoot-Is-Purelib: false\n"
    texts = {
        "METADATA": metadata,
        "WHEEL": head + tags,
        "entry_points.txt": f"[console_scripts]\nascend-sim = {PACKAGE}.command.program:main\n",
        "licenses/LICENSE": LICENSE.read_text(encoding="utf-8"),
    }
    return {f"{info}/{name}": (text.encode(), False) for name, text in texts.items()}


def _hash(files: Mapping[str, bytes]) -> str:
    whole = hashlib.sha256()
    for name, content in sorted(files.items()):
        whole.update(name.encode() + b"\0" + hashlib.sha256(content).digest())
    return whole.hexdigest()


def _zipped(files: Mapping[str, tuple[bytes, bool]]) -> bytes:
    """A zip with RECORD as its last file; the same files give the same bytes."""
    record = f"{PACKAGE}-{version()}.dist-info/RECORD"
    text = record_text({name: content for name, (content, _) in files.items()}, record)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, (content, program) in {**files, record: (text.encode(), False)}.items():
            member = zipfile.ZipInfo(name)  # of 1980-01-01
            member.compress_type = zipfile.ZIP_DEFLATED
            member.create_system = 3
            member.external_attr = (stat.S_IFREG | (0o755 if program else 0o644)) << 16
            archive.writestr(member, content)
    return buffer.getvalue()
