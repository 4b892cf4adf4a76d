# SPDX-License-Identifier: Apache-2.0
"""What is said to those who would move torch: by pip through the guard, by uv through its shim.

pip runs in an environment of its own, on an index that is a folder with wheels made here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.unit.matrices import CHECKOUT

GUARD = CHECKOUT / "cannery" / "image" / "context" / "guard"
HOW = "To move one of them on purpose, which may break the image: unset {}, and try again."


@dataclass(frozen=True, kw_only=True)
class Image:
    """A Python with the guard, as an image has it."""

    python: Path
    index: Path
    constraints: Path

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


def make_wheel(folder: Path, name: str, version: str, *needs: str) -> None:
    info = f"{name}-{version}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {each}" for each in needs]
    files = {
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
    venv.create(root / "python", with_pip=True, symlinks=True)
    [site] = root.glob("python/lib/python3*/site-packages")
    for name in ("cannery_guard.py", "cannery_guard.pth"):
        shutil.copy2(GUARD / name, site / name)
    index = root / "index"
    index.mkdir()
    make_wheel(index, "torch", "2.1.0")
    make_wheel(index, "torch", "2.7.1")
    make_wheel(index, "torchvision", "0.22.1", "torch==2.7.1")
    make_wheel(index, "six", "1.17.0")
    constraints = root / "constraints.txt"
    constraints.write_text("# held\ntorch==2.1.0\n", encoding="utf-8")
    return Image(python=root / "python/bin/python", index=index, constraints=constraints)


@pytest.mark.parametrize(
    "wanted",
    [("torch==2.7.1",), ("torchvision==0.22.1",), ("six", "torch>2.1.0")],
    ids=["another torch", "what brings another torch", "a newer torch beside another package"],
)
def test_pip_says_what_holds_torch_and_how_to_move(image: Image, wanted: tuple[str, ...]) -> None:
    said = image.install(*wanted)
    assert "(constraint) torch==2.1.0" in said
    assert said.count(f"are held by\n{image.constraints}.\n") == 1
    assert HOW.format("PIP_CONSTRAINT") in said


@pytest.mark.parametrize("program", ["pip", "pip3", "-I", "absolute"])
def test_pip_says_it_however_it_is_started(image: Image, program: str) -> None:
    folder = image.python.parent
    words: dict[str, tuple[str | Path, ...]] = {
        "-I": (image.python, "-I", "-m", "pip"),
        "absolute": (image.python, folder / "pip3"),
    }
    said = image.install("torch==2.7.1", program=words.get(program, (folder / program,)))
    assert f"{image.constraints}.\n" in said


def test_a_requirements_file_is_no_way_around(image: Image, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("six\ntorchvision==0.22.1\n", encoding="utf-8")
    said = image.install("-r", str(tmp_path / "requirements.txt"))
    assert f"{image.constraints}.\n" in said


def test_what_moves_nothing_is_installed_without_a_word(image: Image) -> None:
    options = ("install", "--dry-run", "--no-index", "--find-links", image.index)
    for wanted in (("six",), ("torch",), ("torch==2.1.0",)):
        code, said = image.run(image.python, "-m", "pip", *options, *wanted, **image.held)
        assert code == 0, said
        assert "held by" not in said


def test_what_the_message_says_to_do_works(image: Image) -> None:
    options = ("install", "--dry-run", "--no-index", "--find-links", image.index)
    code, said = image.run(image.python, "-m", "pip", *options, "torchvision==0.22.1")
    assert code == 0, said
    assert "Would install torch-2.7.1 torchvision-0.22.1" in said


def test_a_failure_that_no_constraint_is_the_cause_of(image: Image) -> None:
    said = image.install("nowhere-to-be-found")
    assert "held by" not in said


def test_a_constraint_that_is_not_the_images(image: Image) -> None:
    said = image.install("torch==2.7.1", "-c", str(image.constraints), held=False)
    assert "are held by\na constraints file.\n" in said


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


def test_the_guard_runs_on_the_oldest_python_of_the_matrix() -> None:
    text = (GUARD / "cannery_guard.py").read_text(encoding="utf-8")
    code = "import ast, sys; ast.parse(sys.stdin.read(), feature_version=(3, 7))"
    subprocess.run([sys.executable, "-c", code], input=text, text=True, check=True)


@dataclass(frozen=True, kw_only=True)
class Shim:
    """The shim in a folder of its own, and the program that it stands before."""

    script: Path
    uv: Path

    def run(self, *words: str, **env: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [str(self.script), *words],
            env={"PATH": os.environ["PATH"], **env},
            capture_output=True,
            text=True,
            check=False,
            timeout=20,
        )
        return done.returncode, done.stdout, done.stderr

    def install(self, code: int) -> None:
        text = f'#!/bin/sh\nprintf "[%s]" "$@"\necho own message >&2\nexit {code}\n'
        self.uv.write_text(text, encoding="utf-8")
        self.uv.chmod(0o755)


@pytest.fixture
def shim(tmp_path: Path) -> Shim:
    uv = tmp_path / "real" / "uv"
    uv.parent.mkdir()
    text = (GUARD / "uv").read_text(encoding="utf-8")
    assert text.startswith("#!/bin/bash\n")
    script = tmp_path / "uv"
    script.write_text(text.replace("/usr/local/bin/uv", str(uv)), encoding="utf-8")
    script.chmod(0o755)
    return Shim(script=script, uv=uv)


HELD = {"UV_CONSTRAINT": "/some/where/constraints.txt"}


def test_uv_that_is_not_installed(shim: Shim) -> None:
    code, out, err = shim.run("pip", "install", "torch", **HELD)
    assert (code, out) == (127, "")
    assert err == "uv is not installed in this image. Install it with: pip install uv\n"


def test_uv_pip_that_fails_is_explained(shim: Shim) -> None:
    shim.install(1)
    code, out, err = shim.run("pip", "install", "a b", "torch==2.7.1", **HELD)
    assert (code, out) == (1, "[pip][install][a b][torch==2.7.1]")
    assert err.startswith("own message\ntorch, torch_npu and numpy fit this image's CANN")
    assert "are held by\n/some/where/constraints.txt.\n" in err
    assert err.endswith(HOW.format("UV_CONSTRAINT") + "\n")


@pytest.mark.parametrize(
    ("exit_code", "words", "env"),
    [
        (0, ("pip", "install", "six"), HELD),
        (2, ("venv", "x"), HELD),
        (2, ("run", "pip"), HELD),
        (2, (), HELD),
        (2, ("pip", "install", "six"), {}),
        (2, ("pip", "install", "six"), {"UV_CONSTRAINT": ""}),
    ],
    ids=["it works", "another command", "pip further on", "nothing", "not held", "not held now"],
)
def test_nothing_is_added_where_no_constraint_is_the_cause(
    shim: Shim, exit_code: int, words: tuple[str, ...], env: dict[str, str]
) -> None:
    shim.install(exit_code)
    code, out, err = shim.run(*words, **env)
    assert (code, err) == (exit_code, "own message\n")
    assert out == "".join(f"[{word}]" for word in words) or not words
