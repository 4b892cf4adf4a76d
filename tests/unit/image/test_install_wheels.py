# SPDX-License-Identifier: Apache-2.0
"""The program of the build context that unpacks wheels: by the real uv, for another interpreter."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.unit.image.context_programs import load

RECORD = "dist-info/RECORD"
FILES = {
    "tiny/__init__.py": "x = 1\n",
    "tiny-1.0.data/data/share/tiny/page.html": "page",
    "tiny-1.0.data/data/etc/tiny/tiny.conf": "conf",
    "tiny-1.0.data/headers/tiny.h": "header",
    "tiny-1.0.data/scripts/tiny-script": "#!python\nprint('script')\n",
    "tiny-1.0.data/scripts/tiny-binary": "\x7fELF #!python",
    "tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
    "tiny-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "tiny-1.0.dist-info/entry_points.txt": "[console_scripts]\ntiny = tiny:main\n",
}
DEBIAN_12 = ("/usr/bin/python3.11", "/usr/local/lib/python3.11/dist-packages")
DEBIAN = ("/usr/bin/python3.9", "/usr/local/lib/python3.9/dist-packages")
STANDALONE = (
    "/usr/local/python3.10/bin/python3.10",
    "/usr/local/python3.10/lib/python3.10/site-packages",
)

Install = Callable[..., dict[str, bytes]]
"""Runs the program for an interpreter; returns path to content of the layer's files."""


def make_wheel(folder: Path, files: Mapping[str, str] = FILES, name: str = "tiny") -> Path:
    """A wheel of version 1.0 with these files."""
    wheel = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        record = ""
        for path, text in files.items():
            archive.writestr(path, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())
            record += f"{path},sha256={digest.decode().rstrip('=')},{len(text.encode())}\n"
        archive.writestr(f"{name}-1.0.{RECORD}", f"{record}{name}-1.0.{RECORD},,\n")
    return wheel


@pytest.fixture
def install(layer: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    module = load("install-wheels", monkeypatch)
    monkeypatch.setattr(module, "LAYER", layer)
    monkeypatch.setattr(module, "BUILD", Path(sys.prefix))
    monkeypatch.setenv("PATH", f"{sys.prefix}/bin:/usr/bin:/bin")

    def run(interpreter: str, site: str, *wheels: Path) -> dict[str, bytes]:
        minor = interpreter.rpartition("python")[2]
        offline = ("--no-index", "--no-cache", "--python-version", minor)
        module.unpack(interpreter, Path(site), [*offline, *map(str, wheels)], plugin=False)
        return {
            f"/{path.relative_to(layer)}": path.read_bytes()
            for path in sorted(layer.rglob("*"))
            if path.is_file()
        }

    return run


@pytest.mark.parametrize(
    ("interpreter", "site", "prefix", "headers"),
    [
        (*DEBIAN, "/usr/local", "/usr/local/include/python3.9"),
        (*DEBIAN_12, "/usr/local", "/usr/include/python3.11"),
        (*STANDALONE, "/usr/local/python3.10", "/usr/local/python3.10/include/python3.10"),
    ],
)
def test_each_file_is_where_pip_would_put_it(
    install: Install, tmp_path: Path, interpreter: str, site: str, prefix: str, headers: str
) -> None:
    found = install(interpreter, site, make_wheel(tmp_path))
    assert found[f"{site}/tiny/__init__.py"] == b"x = 1\n"
    assert found[f"{prefix}/share/tiny/page.html"] == b"page"
    assert found[f"{prefix}/etc/tiny/tiny.conf"] == b"conf"
    assert found[f"{headers}/tiny/tiny.h"] == b"header"
    # Scripts are in PATH, and name the image's interpreter.
    first = f"#!{interpreter}\n".encode()
    assert found["/usr/local/bin/tiny-script"] == first + b"print('script')\n"
    assert found["/usr/local/bin/tiny"].startswith(first)
    assert found["/usr/local/bin/tiny-binary"] == b"\x7fELF #!python"
    outside = {path for path in found if not path.startswith(f"{site}/tiny")}
    assert len(outside) == 6, "nothing else, such as uv's lock"


@pytest.mark.parametrize(("interpreter", "site"), [DEBIAN, DEBIAN_12, STANDALONE])
def test_record_names_every_file_with_its_hash(
    install: Install, tmp_path: Path, layer: Path, interpreter: str, site: str
) -> None:
    found = install(interpreter, site, make_wheel(tmp_path))
    rows = [line.split(",") for line in found[f"{site}/tiny-1.0.{RECORD}"].decode().splitlines()]
    recorded = {}
    for name, state, size in rows:
        path = f"/{(layer / site[1:] / name).resolve().relative_to(layer.resolve())}"
        recorded[path] = found[path]
        if not name.endswith("RECORD"):
            digest = base64.urlsafe_b64encode(hashlib.sha256(found[path]).digest())
            assert (state, int(size)) == (
                f"sha256={digest.decode().rstrip('=')}",
                len(found[path]),
            ), name
    assert recorded == found


@pytest.mark.slow
def test_pip_removes_all_of_it(install: Install, tmp_path: Path, layer: Path) -> None:
    """A virtual environment takes the place of an image with a standalone Python."""
    minor = "{}.{}".format(*sys.version_info)
    place = tmp_path / "layer" / "usr" / "local"
    venv.create(place, with_pip=True, symlinks=True)
    before = {path for path in place.rglob("*") if "__pycache__" not in path.parts}
    site = f"/usr/local/lib/python{minor}/site-packages"
    install(f"/usr/local/bin/python{minor}", site, make_wheel(tmp_path))
    assert (place / "share" / "tiny" / "page.html").is_file()
    argv = [f"{place}/bin/python", "-m", "pip", "uninstall", "--yes", "tiny"]
    subprocess.run(argv, check=True, capture_output=True)
    after = {path for path in place.rglob("*") if "__pycache__" not in path.parts}
    assert {path for path in after - before if path.is_file()} == set()


def test_the_program_of_pip_is_named_after_the_interpreter(
    install: Install, tmp_path: Path
) -> None:
    files = {
        path.replace("tiny", "pip"): text for path, text in FILES.items() if "data" not in path
    }
    files["pip-1.0.dist-info/METADATA"] = "Metadata-Version: 2.1\nName: pip\nVersion: 1.0\n"
    programs = "[console_scripts]\npip = pip:main\npip3 = pip:main\npip3.11 = pip:main\n"
    files["pip-1.0.dist-info/entry_points.txt"] = programs
    found = install(*DEBIAN, make_wheel(tmp_path, files, "pip"))
    names = [path for path in found if path.startswith("/usr/local/bin/")]
    assert names == [f"/usr/local/bin/{name}" for name in ("pip", "pip3", "pip3.9")]
    record = found[f"{DEBIAN[1]}/pip-1.0.{RECORD}"].decode()
    assert "../../../bin/pip3.9,sha256=" in record and "pip3.11" not in record


Program = Callable[..., str]
"""Runs the program as a build does; returns what it says if it fails."""


@pytest.fixture
def program(layer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    module = load("install-wheels", monkeypatch)
    monkeypatch.setattr(module, "LAYER", layer)
    monkeypatch.setattr(module, "BUILD", Path(sys.prefix))
    (tmp_path / "bin").mkdir()
    seal = tmp_path / "bin" / "seal-layer"
    seal.write_text(f"#!/bin/sh\ntouch {tmp_path}/sealed\n", encoding="utf-8")
    seal.chmod(0o755)
    monkeypatch.setenv("PATH", f"{seal.parent}:{sys.prefix}/bin:/usr/bin:/bin")
    monkeypatch.setenv("UV_NO_CACHE", "1")
    settings = ("INTERPRETER", "SITE_PACKAGES", "PYTHON_VERSION", "WHEEL_PLATFORM")
    values = (*DEBIAN, "3.9.2", "aarch64-manylinux_2_31")
    for name, value in zip(settings, values, strict=True):
        monkeypatch.setenv(name, value)

    def run(*words: object) -> str:
        monkeypatch.setattr("sys.argv", ["install-wheels", *map(str, words)])
        try:
            module.main()
        except SystemExit as ended:
            return str(ended.code)
        assert (tmp_path / "sealed").exists()
        return ""

    return run


def digest_of(wheel: Path) -> str:
    return hashlib.sha256(wheel.read_bytes()).hexdigest()


def test_a_file_is_compared_before_it_is_unpacked(
    program: Program, tmp_path: Path, layer: Path
) -> None:
    wheel = make_wheel(tmp_path)
    digest = digest_of(wheel)
    said = f"{wheel.name} has the sha256 {digest}, and {'ab' * 32} is expected."
    assert said in program("--file", wheel, "--sha256", "ab" * 32)
    assert not [*layer.rglob("*")]
    assert program("--file", wheel, "--sha256", digest) == ""
    assert (layer / DEBIAN[1][1:] / "tiny/__init__.py").is_file()
    wheel.write_bytes(b"")
    assert f"{wheel.name} is empty." in program("--file", wheel)


@pytest.mark.parametrize(
    ("stand_in", "simulated", "said"),
    [
        (False, "", ""),
        (True, "true", ""),
        (True, "", "is a simulated package: add --build-arg SIMULATED=true"),
        (False, "true", "is not a simulated package: leave out --build-arg SIMULATED."),
    ],
)
def test_a_simulated_wheel_is_for_a_simulated_image(
    program: Program, tmp_path: Path, stand_in: bool, simulated: str, said: str
) -> None:
    mark = {"tiny/SIMULATED": "by cannery\n"} if stand_in else {}
    wheel = make_wheel(tmp_path, {**FILES, **mark})
    found = program("--file", wheel, "--simulated", simulated)
    assert said in found
    assert bool(found) == bool(said)


def test_a_lock_without_the_right_hash_is_refused(program: Program, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path)
    lock = tmp_path / "wheels.txt"
    for digest, failed in (("ab" * 32, True), (digest_of(wheel), False)):
        lock.write_text(f"tiny==1.0 --hash=sha256:{digest}\n", encoding="utf-8")
        found = program("--lock", lock, "--no-index", "--find-links", tmp_path)
        assert bool(found) == failed, found


def test_launchers_import_the_plugin(program: Program, tmp_path: Path, layer: Path) -> None:
    scripts = "[console_scripts]\ndeepspeed = tiny:main\nds = tiny:main\n"
    wheel = make_wheel(tmp_path, {**FILES, "tiny-1.0.dist-info/entry_points.txt": scripts})
    assert program("--file", wheel, "--plugin") == ""
    for name in ("deepspeed", "ds"):
        lines = (layer / "usr/local/bin" / name).read_text(encoding="utf-8").splitlines()
        assert lines[:2] == [f"#!{DEBIAN[0]}", "import deepspeed_npu"]


def test_a_missing_wheel_ends_the_program(install: Install, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        install(*DEBIAN, tmp_path / "none-1.0-py3-none-any.whl")
    assert ended.value.code
