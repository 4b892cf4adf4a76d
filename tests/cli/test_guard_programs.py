# SPDX-License-Identifier: Apache-2.0
"""What the guard does in pip, in the builds that pip starts, and at ``import torch_npu``.

pip runs in an environment of its own, on an index that is a folder with wheels made here.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pip
import pytest

from tests.unit.matrices import CHECKOUT

pytestmark = pytest.mark.slow

GUARD = CHECKOUT / "cannery" / "image" / "context" / "guard"
HOW = "To change one of them anyway, which may break the image, unset PIP_CONSTRAINT and try again."
HELD = "torch==2.1.0 (torch_npu is compiled for it)"


@dataclass(frozen=True, kw_only=True)
class Image:
    """A Python with the guard, as an image has it."""

    python: Path
    index: Path
    constraints: Path
    shared: Path
    """The folder in PYTHONPATH that has the guard for other Pythons."""

    def run(self, *words: str | Path, **env: str) -> tuple[int, str]:
        """Exit code and output; ``env`` adds to an environment that has little else."""
        own = {"PATH": os.environ["PATH"], "HOME": str(self.index), "PIP_NO_INPUT": "1"}
        own |= {"PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        done = subprocess.run(
            [str(word) for word in words],
            env={**own, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=60,
        )
        return done.returncode, done.stdout

    def install(self, *wanted: str, program: tuple[str | Path, ...] = (), held: bool = True) -> str:
        """What a refused ``pip install --dry-run`` says."""
        program = program or (self.python, "-m", "pip")
        options = ("install", "--dry-run", "--no-index", "--find-links", self.index)
        code, said = self.run(*program, *options, *wanted, **(self.held if held else {}))
        assert code == 1, said
        return said

    @property
    def held(self) -> dict[str, str]:
        return {"PIP_CONSTRAINT": str(self.constraints)}


START_PIP = "import sys\nfrom pip._internal.cli.main import main\nsys.exit(main())\n"
"""What the programs pip and pip3 hold that pip installs."""


def make_wheel(folder: Path, name: str, version: str, *needs: str) -> None:
    info = f"{name}-{version}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {each}" for each in needs]
    files = {
        f"{name}/__init__.py": "",
        f"{info}/METADATA": "\n".join(lines) + "\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(path, text)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    root = tmp_path_factory.mktemp("guarded")
    venv.create(root / "python", symlinks=True)
    [site] = root.glob("python/lib/python3*/site-packages")
    shutil.copytree(Path(pip.__file__).parent, site / "pip")
    for name in ("pip", "pip3"):
        script = root / "python" / "bin" / name
        script.write_text(f"#!{root}/python/bin/python\n{START_PIP}", encoding="utf-8")
        script.chmod(0o755)
    constraints = root / "constraints.txt"
    guard = (GUARD / "cannery_guard.py").read_text(encoding="utf-8")
    guard = guard.replace("/usr/local/share/cannery/constraints.txt", str(constraints))
    (site / "cannery_guard.py").write_text(guard, encoding="utf-8")
    shutil.copy2(GUARD / "cannery_guard.pth", site)
    shared = root / "shared"
    shared.mkdir()
    (shared / "cannery_guard.py").symlink_to(site / "cannery_guard.py")
    shutil.copy2(GUARD / "sitecustomize.py", shared)
    index = root / "index"
    index.mkdir()
    make_wheel(index, "torch", "2.1.0")
    make_wheel(index, "torch", "2.7.1")
    make_wheel(index, "torchvision", "0.22.1", "torch==2.7.1")
    make_wheel(index, "six", "1.17.0")
    constraints.write_text(
        "# held\ntorch==2.1.0  # torch_npu is compiled for it\nprotobuf==3.20.3\n", encoding="utf-8"
    )
    python = root / "python/bin/python"
    return Image(python=python, index=index, constraints=constraints, shared=shared)


@pytest.mark.parametrize(
    "wanted",
    [("torch==2.7.1",), ("torchvision==0.22.1",), ("six", "torch>2.1.0")],
    ids=["another torch", "what brings another torch", "a newer torch beside another package"],
)
def test_pip_explains_the_torch_constraint_and_how_to_move(
    image: Image, wanted: tuple[str, ...]
) -> None:
    said = image.install(*wanted)
    assert "(constraint) torch==2.1.0" in said
    assert said.count(f"This image holds these versions, in {image.constraints}:\n  {HELD}\n") == 1
    assert HOW in said
    assert "protobuf" not in said


@pytest.mark.parametrize("program", ["pip", "pip3", "-I", "absolute"])
def test_pip_says_it_however_it_is_started(image: Image, program: str) -> None:
    folder = image.python.parent
    words: dict[str, tuple[str | Path, ...]] = {
        "-I": (image.python, "-I", "-m", "pip"),
        "absolute": (image.python, folder / "pip3"),
    }
    said = image.install("torch==2.7.1", program=words.get(program, (folder / program,)))
    assert f"{image.constraints}:\n  {HELD}\n" in said


@pytest.mark.parametrize("how", ["--python", "PIP_PYTHON", "a virtual environment"])
def test_pip_for_another_python_is_no_way_around(image: Image, tmp_path: Path, how: str) -> None:
    """pip starts itself once more then, with the program by which it also builds sdists."""
    python = image.python
    if how == "a virtual environment":
        venv.create(tmp_path, symlinks=True)
        python = tmp_path / "bin" / "python"
    named = ("--python", str(python)) if how != "PIP_PYTHON" else ()
    variables = {"PIP_PYTHON": str(python)} if how == "PIP_PYTHON" else {}
    options = ("install", "--dry-run", "--no-index", "--find-links", image.index, "torch==2.7.1")
    variables |= {"PYTHONPATH": str(image.shared), **image.held}
    code, said = image.run(image.python, "-m", "pip", *named, *options, **variables)
    assert code == 1, said
    assert said.count(f"{image.constraints}:\n  {HELD}\n") == 1
    assert HOW in said


def test_uv_with_other_constraints_is_told_at_import(image: Image, tmp_path: Path) -> None:
    """uv's option replaces UV_CONSTRAINT, and nothing in the image can refuse that."""
    venv.create(tmp_path, symlinks=True)
    (tmp_path / "own.txt").write_text("six\n", encoding="utf-8")
    uv, python = Path(sys.executable).with_name("uv"), tmp_path / "bin" / "python"
    options = ("--no-index", "--find-links", image.index, "--cache-dir", tmp_path / "cache")
    install = (uv, "pip", "install", "--python", python, *options, "torch==2.7.1")
    held = {"UV_CONSTRAINT": str(image.constraints)}
    assert image.run(*install, **held)[0] == 1
    code, said = image.run(*install, "--constraint", tmp_path / "own.txt", **held)
    assert code == 0, said
    code, said = image.run(python, "-c", IMPORT, PYTHONPATH=str(image.shared))
    assert (code, said.count(WARNING)) == (0, 1)


def test_uv_sync_with_another_torch_is_told_at_import_unless_that_is_off(
    image: Image, tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "p"\nversion = "1"\ndependencies = ["torch==2.7.1"]\n'
        f'[tool.uv]\npackage = false\nno-index = true\nfind-links = ["{image.index}"]\n',
        encoding="utf-8",
    )
    uv = Path(sys.executable).with_name("uv")
    options = ("--project", tmp_path, "--python", image.python, "--cache-dir", tmp_path / "cache")
    code, said = image.run(uv, "sync", *options, UV_CONSTRAINT=str(image.constraints))
    assert code == 0, said
    words = (tmp_path / ".venv" / "bin" / "python", "-c", IMPORT)
    guarded = {"PYTHONPATH": str(image.shared)}
    code, said = image.run(*words, **guarded)
    assert (code, said.count(WARNING)) == (0, 1)
    assert f"\n  {next(tmp_path.glob('.venv/lib/*/site-packages'))}\n" in said
    assert image.run(*words, CANNERY_GUARD="off", **guarded) == (0, "")


def test_pip_without_its_settings_warns_when_it_ends(image: Image, tmp_path: Path) -> None:
    venv.create(tmp_path, symlinks=True)
    [site] = tmp_path.glob("lib/python3*/site-packages")
    shutil.copytree(Path(pip.__file__).parent, site / "pip")
    options = ("--isolated", "install", "--no-index", "--find-links", image.index)
    words = (tmp_path / "bin/python", "-m", "pip", *options, "torch==2.7.1")
    code, said = image.run(*words, PYTHONPATH=str(image.shared), **image.held)
    assert (code, said.count(WARNING)) == (0, 1)


@pytest.mark.parametrize("quiet", ["-q", "-qq"])
def test_a_quiet_pip_says_it_too(image: Image, quiet: str) -> None:
    said = image.install("torch==2.7.1", quiet)
    assert f"  {HELD}\n" in said
    assert HOW in said


@pytest.mark.parametrize(("requirement", "is_held"), [("torch==2.7.1", True), ("six==9", False)])
def test_the_message_of_pip_before_21_names_no_constraint(
    image: Image, requirement: str, *, is_held: bool
) -> None:
    code = (
        "import logging; from pip._internal.resolution.resolvelib import factory\n"
        f"factory.logger.critical('Could not find a version that satisfies %s', '{requirement}')"
    )
    assert (HELD in image.run(image.python, "-c", code, "pip", **image.held)[1]) is is_held


def test_a_package_that_is_nowhere_is_no_conflict(image: Image) -> None:
    assert "holds these" not in image.install("nowhere-to-be-found")


def test_the_advice_of_the_message_works(image: Image) -> None:
    options = ("install", "--dry-run", "--no-index", "--find-links", image.index)
    code, said = image.run(image.python, "-m", "pip", *options, "torchvision==0.22.1")
    assert code == 0, said
    assert "Would install torch-2.7.1 torchvision-0.22.1" in said


def test_an_install_with_the_held_torch_prints_no_explanation(image: Image) -> None:
    options = ("install", "--dry-run", "--no-index", "--find-links", image.index)
    for wanted in (("six", "torch"), ("torch==2.1.0",)):
        code, said = image.run(image.python, "-m", "pip", *options, *wanted, **image.held)
        assert code == 0, said
        assert "holds these" not in said


def test_a_user_s_constraint_gets_no_explanation(image: Image) -> None:
    said = image.install("torch==2.7.1", "-c", str(image.constraints), held=False)
    assert "(constraint) torch==2.1.0" in said
    assert "holds these" not in said


@pytest.mark.parametrize("python", [(), ("--python", "PYTHON")], ids=["pip", "pip --python"])
def test_the_versions_of_a_build_are_its_own(
    image: Image, tmp_path: Path, python: tuple[str, ...]
) -> None:
    """An sdist whose build needs another version of a held package is built all the same."""
    named = [str(image.python) if word == "PYTHON" else word for word in python]
    source = tmp_path / "source"
    source.mkdir()
    (source / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["torch==2.7.1"]\nbuild-backend = "backend"\n'
        'backend-path = ["."]\n',
        encoding="utf-8",
    )
    (source / "backend.py").write_text(
        "import importlib.metadata, pathlib, zipfile\n"
        "def build_wheel(folder, *_):\n"
        "    assert importlib.metadata.version('torch') == '2.7.1'\n"
        "    name = 'made-1-py3-none-any.whl'\n"
        "    with zipfile.ZipFile(pathlib.Path(folder) / name, 'w') as archive:\n"
        "        info = 'made-1.dist-info/'\n"
        "        metadata = 'Metadata-Version: 2.1\\nName: made\\nVersion: 1\\n'\n"
        "        archive.writestr(info + 'METADATA', metadata)\n"
        "        wheel = 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n'\n"
        "        archive.writestr(info + 'WHEEL', wheel)\n"
        "        archive.writestr(info + 'RECORD', '')\n"
        "    return name\n",
        encoding="utf-8",
    )
    options = ("install", "--no-index", "--find-links", image.index, "--target", tmp_path / "to")
    code, said = image.run(image.python, "-m", "pip", *named, *options, source, **image.held)
    assert code == 0, said
    assert (tmp_path / "to" / "made-1.dist-info").is_dir()


@pytest.mark.parametrize(
    "words",
    [("-c", "CODE"), ("SCRIPT",), ("SCRIPT", "install", "torch==2.7.1"), ("-m", "script")],
    ids=["-c", "a script", "a script with words", "a module"],
)
def test_no_other_program_is_touched(image: Image, tmp_path: Path, words: tuple[str, ...]) -> None:
    code = "import sys; print('cannery_guard' in sys.modules, 'logging' in sys.modules)"
    (tmp_path / "script.py").write_text(code, encoding="utf-8")
    named = {"CODE": code, "SCRIPT": str(tmp_path / "script.py")}
    words = tuple(named.get(word, word) for word in words)
    done = image.run(image.python, *words, PYTHONPATH=str(tmp_path), **image.held)
    assert done == (0, "True False\n")


def torch_of(image: Image, version: str) -> tuple[int, str]:
    """Exit code and output of importing torch_npu beside a torch of this version."""
    folder = image.index / f"torch-{version}"
    for name in ("torch", "torch_npu"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "__init__.py").touch()
    (folder / f"torch-{version}.dist-info").mkdir(exist_ok=True)
    return image.run(image.python, "-c", "import torch_npu; print('ok')", PYTHONPATH=str(folder))


def test_another_torch_is_told_when_torch_npu_is_imported(image: Image) -> None:
    code, said = torch_of(image, "2.7.1")
    assert (code, said.splitlines()[-1], said.count(WARNING)) == (0, "ok", 1)


@pytest.mark.parametrize("version", ["2.1.0", "2.1.0+cpu"])
def test_the_image_s_own_torch_is_imported_without_a_word(image: Image, version: str) -> None:
    assert torch_of(image, version) == (0, "ok\n")


@pytest.mark.parametrize("version", ["2.1.0", "2.1.0+cu121"])
def test_a_build_of_torch_for_another_device_is_told(image: Image, version: str) -> None:
    held = image.constraints.read_text(encoding="utf-8")
    image.constraints.write_text(held.replace("2.1.0 ", "2.1.0+cpu "), encoding="utf-8")
    try:
        code, said = torch_of(image, version)
        assert (code, torch_of(image, "2.1.0+cpu")) == (0, (0, "ok\n"))
    finally:
        image.constraints.write_text(held, encoding="utf-8")
    told = f"cannery: torch {version} is not the torch of this image (2.1.0+cpu), which fits"
    assert (said.count(told), said.splitlines()[-1]) == (1, "ok")


def test_a_wheel_that_is_unpacked_over_another_is_told_with_a_fix_that_works(
    image: Image, tmp_path: Path
) -> None:
    """Both wheels' metadata stays then, and the module is a mixture of both."""
    venv.create(tmp_path, symlinks=True)
    [site] = tmp_path.glob("lib/python3*/site-packages")
    shutil.copytree(Path(pip.__file__).parent, site / "pip")
    python, guarded = tmp_path / "bin/python", {"PYTHONPATH": str(image.shared)}
    options = ("--no-index", "--find-links", image.index)
    pip_install = (python, "-m", "pip", "install", *options)
    assert image.run(*pip_install, "torch==2.1.0", **guarded)[0] == 0
    with zipfile.ZipFile(image.index / "torch-2.7.1-py3-none-any.whl") as wheel:
        wheel.extractall(site)
    code, said = image.run(python, "-c", IMPORT, **guarded)
    assert (code, said.count("torch is installed twice, as 2.1.0 and 2.7.1: one wheel")) == (0, 1)
    assert "torch 2.7.1 is not the torch" not in said
    assert image.run(python, "-c", IMPORT, CANNERY_GUARD="off", **guarded) == (0, "")
    [remove] = re.findall(r"^  (rm .*)$", said, re.MULTILINE)
    [install] = re.findall(r"^  pip install (.*)$", said, re.MULTILINE)
    assert image.run("sh", "-c", remove)[0] == 0
    assert image.run(*pip_install, *install.split(), **guarded)[0] == 0
    assert [path.name for path in site.glob("torch-*")] == ["torch-2.1.0.dist-info"]
    assert image.run(python, "-c", IMPORT, **guarded) == (0, "")


WARNING = "cannery: torch 2.7.1 is not the torch of this image (2.1.0), which fits its CANN."
IMPORT = "import torch, subprocess, sys; subprocess.run([sys.executable, '-c', 'import torch'])"


def test_the_sitecustomize_of_others_is_loaded_too(image: Image, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('theirs')", encoding="utf-8")
    both = f"{image.shared}{os.pathsep}{tmp_path}"
    code = "import sys; print('cannery_guard' in sys.modules)"
    assert image.run(sys.executable, "-c", code, PYTHONPATH=both) == (0, "theirs\nTrue\n")


def test_the_guard_runs_on_the_oldest_python_of_the_matrix() -> None:
    text = (GUARD / "cannery_guard.py").read_text(encoding="utf-8")
    code = "import ast, sys; ast.parse(sys.stdin.read(), feature_version=(3, 7))"
    subprocess.run([sys.executable, "-c", code], input=text, text=True, check=True)
