# SPDX-License-Identifier: Apache-2.0
"""``ascend-sim install`` in a bare virtual environment, with indexes of made-up wheels."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tools import archive

from .conftest import MACHINE
from .documented import install_lines

CPU = {"torch": ["2.9.0+cpu", "2.10.0+cpu", "2.13.0+cpu"]}
OF_PACKAGES = {
    "torch": ["2.1.0", "2.3.1", "2.9.0", "2.10.0", "2.12.0", "2.13.0"],
    "torch_npu": [
        "2.1.0",
        "2.3.1",
        "2.9.0",
        "2.9.0rc1",
        "2.9.0.post2",
        "2.9.1",
        "2.10.0.post6",
        "2.10.0.post7",
        "2.12.0",
        "2.12.0.post3",
        "2.13.0",
    ],
    "numpy": ["1.26.4", "2.2.6"],
    "pyyaml": ["6.0"],
    "filelock": ["3.0"],
    "scipy": ["1.0"],
}
REQUIRES = {
    "torch_npu 2.3.1": ["torch (==2.3.1+cpu)"],
    "torch_npu 2.9.0": ["torch==2.9.0+cpu"],
    "torch_npu 2.9.0.post2": [
        *("torch ==2.9.0+cpu", "scipy", "pyyaml ; extra == 'pyyaml'", "none ; extra == 'none'"),
    ],
    "torch_npu 2.10.0.post6": ["torch ==2.10.0+cpu"],
    "torch_npu 2.10.0.post7": ["torch ==2.10.0+cpu"],
    "torch_npu 2.12.0": ["torch ==2.12.0"],
    "torch_npu 2.12.0.post3": ["torch ==2.12.0"],
    "torch_npu 2.13.0": ["torch==2.13.0.*", "numpy", "pyyaml"],
}
"""As the wheels for x86_64 write it; that of 2.1.0 asks for nothing."""
INDEX, FOLDER = "cpu", "cpu/torch"
WITHOUT_CPU_WHEELS = ["cannot be used: no torch==", "torch 2.9.0 of the package index", "--no-deps"]


def _index(root: Path, packages: dict[str, list[str]]) -> Path:
    """A simple index (PEP 503) of wheels that are empty."""
    for name, versions in packages.items():
        folder = root / name.replace("_", "-")
        folder.mkdir(parents=True)
        for version in versions:
            own = [] if name != "torch" else ["filelock"]
            requires = REQUIRES.get(f"{name} {version}", own)
            _wheel(folder, name, version, requires)
        links = (f'<a href="{path.name}">{path.name}</a>' for path in folder.iterdir())
        (folder / "index.html").write_text("\n".join(["<!DOCTYPE html>", *links]))
    return root


def _wheel(folder: Path, name: str, version: str, requires: Iterable[str]) -> None:
    info = f"{name}-{version}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {each}" for each in requires]
    lines += ["Provides-Extra: none", "Provides-Extra: pyyaml"]
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as file:
        file.writestr(f"{info}/METADATA", "\n".join(lines) + "\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")


@pytest.fixture(scope="session")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folders ``packages`` and ``cpu``, and ``none``, which has no wheel."""
    root = tmp_path_factory.mktemp("indexes")
    _index(root / "packages", OF_PACKAGES)
    _index(root / "cpu", CPU)
    (root / "none").mkdir()
    return root


@pytest.fixture(scope="session")
def made_venv(wheel: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bare venv with ascend-sim alone."""
    root = tmp_path_factory.mktemp("venv")
    path = root / archive.file_name(MACHINE)
    path.write_bytes(wheel)
    venv = root / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    pip = [f"{venv}/bin/python", "-m", "pip", "install", "--quiet", "--no-index", str(path)]
    subprocess.run(pip, check=True)
    return venv


@dataclass
class Venv:
    folder: Path
    packages: Path

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        settings = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "PIP_CONFIG_FILE": str(self.folder / "pip.conf"),
            "PIP_INDEX_URL": self.packages.as_uri(),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }
        return subprocess.run(
            [f"{self.folder}/bin/python", "-m", *words],
            cwd=self.folder,
            env=settings,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def install(self, *options: str) -> subprocess.CompletedProcess[str]:
        return self.run("ascend_sim.command", "install", *options)

    def installed(self) -> dict[str, str]:
        lines = self.run("pip", "list", "--format=freeze").stdout.split()
        pairs = (line.split("==") for line in lines)
        own = ("pip", "setuptools", "ascend-sim", "ascend_sim")
        return {name: version for name, version in pairs if name not in own}

    def site(self) -> Path:
        [found] = self.folder.glob("lib/python*/site-packages")
        return found


@pytest.fixture
def venv(made_venv: Path, indexes: Path, tmp_path: Path) -> Venv:
    shutil.copytree(made_venv, tmp_path / "venv", symlinks=True)
    return Venv(tmp_path / "venv", indexes / "packages")


@pytest.mark.parametrize(
    ("options", "place", "versions", "said"),
    [
        ("--torch 2.9.0", INDEX, "2.9.0+cpu 2.9.0.post2 2.2.6", ["torch 2.9.0+cpu, for the CPU"]),
        ("--torch 2.13.0", INDEX, "2.13.0+cpu 2.13.0 2.2.6", ["torch 2.13.0+cpu, for the CPU"]),
        ("--torch 2.9.0 --torch-npu 2.9.0", FOLDER, "2.9.0+cpu 2.9.0 2.2.6", ["torch_npu 2.9.0\n"]),
        ("--torch 2.9.0", "none", "2.9.0 2.9.0.post2 2.2.6", WITHOUT_CPU_WHEELS),
        ("--torch 2.12.0 --torch-npu 2.12.0", "none", "2.12.0 2.12.0 2.2.6", ["torch 2.12.0 of"]),
        ("--torch 2.10.0", "none", "2.10.0 2.10.0.post6 2.2.6", ["torch_npu 2.10.0.post7 aborts"]),
        ("--torch 2.10.0", INDEX, "2.10.0+cpu 2.10.0.post7 2.2.6", ["torch_npu 2.10.0.post7\n"]),
        ("--torch 2.3.1", "none", "2.3.1 2.3.1 2.2.6", ["asks for torch 2.3.1+cpu"]),
        ("--torch 2.1.0", "none", "2.1.0 2.1.0 1.26.4", ["torch 2.1.0 of the package index"]),
    ],
)
def test_the_installed_versions(
    venv: Venv, indexes: Path, options: str, place: str, versions: str, said: list[str]
) -> None:
    given = (indexes / place).as_uri() if place == INDEX else str(indexes / place)
    done = venv.install(*options.split(), "--wheels", given)
    assert done.returncode == 0, done.stderr
    assert all(each in done.stderr for each in said), done.stderr
    found = venv.installed()
    assert " ".join(found[name] for name in ("torch", "torch_npu", "numpy")) == versions
    extra = {"scipy"} if found["torch_npu"] == "2.9.0.post2" else set()
    assert {*found} == {"torch", "torch_npu", "numpy", "pyyaml", "filelock", *extra}
    fits = venv.run("pip", "check").returncode == 0
    assert fits != ("--no-deps" in done.stderr)


@pytest.mark.parametrize("line", install_lines())
def test_every_documented_line_installs_torch(venv: Venv, indexes: Path, line: str) -> None:
    done = venv.install(*line.split(), "--wheels", (indexes / INDEX).as_uri())
    assert done.returncode == 0, done.stderr
    found = venv.installed()
    assert found["torch"] == f"{line.split()[1]}+cpu"
    assert found["torch_npu"].startswith(line.split()[1])


def test_the_documents_have_such_lines() -> None:
    assert install_lines()


def test_a_missing_release_is_refused(venv: Venv, indexes: Path) -> None:
    done = venv.install("--torch", "2.99.0", "--wheels", str(indexes / "none"))
    assert done.returncode == 6
    here = f"Python {platform.python_version()} on {MACHINE}"
    why = "the index has none, or cannot be reached"
    assert done.stderr == f"ascend-sim: no torch_npu==2.99.0.* for {here}: {why}.\n"
    assert venv.installed() == {}


@pytest.mark.parametrize("options", ["--torch 2.13.0", "--torch 2.12.0 --torch-npu 2.12.0.post3"])
def test_a_release_aborting_beside_cuda_torch_is_refused(
    venv: Venv, indexes: Path, options: str
) -> None:
    done = venv.install(*options.split(), "--wheels", str(indexes / "none"))
    assert done.returncode == 6
    assert f"torch_npu {options.rsplit(maxsplit=1)[-1]} aborts" in done.stderr
    assert "--wheels" in done.stderr.splitlines()[-1]
    assert venv.installed() == {}


def test_a_failure_of_pip_is_reported(venv: Venv, indexes: Path, tmp_path: Path) -> None:
    shutil.copytree(indexes / "packages", tmp_path / "half")
    shutil.rmtree(tmp_path / "half" / "filelock")
    venv.packages = tmp_path / "half"
    done = venv.install("--torch", "2.9.0", "--wheels", str(indexes / "cpu" / "torch"))
    assert done.returncode == 6
    assert "No matching distribution found for filelock" in done.stderr
    assert done.stderr.endswith("ascend-sim: pip cannot install them: see above.\n")
    assert venv.installed() == {}


def test_constraints_of_the_user_s_hold(venv: Venv, indexes: Path) -> None:
    limits = venv.folder / "limits"
    limits.write_text("torch-npu<2.9\n")
    (venv.folder / "pip.conf").write_text(f"[install]\nconstraint = {limits}\n")
    done = venv.install("--torch", "2.9.0", "--wheels", str(indexes / "none"))
    assert done.returncode == 6
    assert done.stderr.startswith("ascend-sim: no torch_npu==2.9.0.* for Python ")
    assert done.stderr.count("\n") == 1
    assert "conflicting dependencies.\n" in done.stderr
    assert venv.installed() == {}


def test_a_password_is_not_shown(venv: Venv, indexes: Path) -> None:
    place = "http://me:secret@127.0.0.1:9/simple"
    done = venv.install("--torch", "2.12.0", "--torch-npu", "2.12.0", "--wheels", place)
    assert "wheels at http://127.0.0.1:9/simple cannot be used" in done.stderr
    own = [line for line in done.stderr.splitlines() if line.startswith("ascend-sim")]
    assert "secret" not in "".join(own)
    assert venv.installed()["torch"] == "2.12.0"


def test_a_python_without_pip_says_how_to_get_it(venv: Venv) -> None:
    shutil.rmtree(venv.site() / "pip")
    done = venv.install("--torch", "2.9.0")
    assert done.returncode == 6
    assert "has no pip: run 'python -m ensurepip' first." in done.stderr


def test_an_old_pip_says_so(venv: Venv) -> None:
    shutil.rmtree(venv.site() / "pip")
    (venv.site() / "pip").mkdir()
    (venv.site() / "pip" / "__init__.py").touch()
    text = "import sys\nsys.exit('\\nno such option: --dry-run\\n')\n"
    (venv.site() / "pip" / "__main__.py").write_text(text)
    done = venv.install("--torch", "2.9.0")
    assert done.returncode == 6
    assert "pip before 22.2: run 'python -m pip install --upgrade pip'" in done.stderr
