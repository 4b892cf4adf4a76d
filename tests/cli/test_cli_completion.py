# SPDX-License-Identifier: Apache-2.0
"""The script for completion, in a real shell."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from cannery.cli.commands import SUMMARIES
from cannery.matrix.project import Project
from tests.cli.checkout import Checkout

pytestmark = pytest.mark.slow

TARGET = "py39-torch231-cann8t39"

# $1 the script, the others are the words that were typed; the last one is being completed.
COMPLETE = """
source "$1" && shift
spec="$(complete -p build.py)" && [[ $spec == *" -F "* ]] || exit 9
function="${spec##* -F }"
COMP_WORDS=(./build.py "$@")
COMP_CWORD=$#
COMPREPLY=()
"${function%% *}" ./build.py "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="session")
def script(program: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Path:
    result = program.start("completion", "bash")
    result.accepted()
    path = tmp_path_factory.mktemp("completion") / "build.py.bash"
    path.write_text(result.out, encoding="utf-8")
    return path


def completed(script: Path, *words: str, cwd: Path | None = None) -> list[str]:
    argv = ["bash", "--norc", "-c", COMPLETE, "bash", str(script), *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=cwd)
    assert done.stderr == ""
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]


def test_commands(script: Path) -> None:
    assert {*completed(script, "")} >= {*SUMMARIES, "help"}
    assert completed(script, "promo") == ["promote"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["list", "--format", "j"], ["json"]),
        (["--simu"], ["--simulate"]),
        (["completion", "z"], ["zsh"]),
        (["help", "ren"], ["render"]),
    ],
)
def test_options_and_their_values(script: Path, words: list[str], found: list[str]) -> None:
    assert completed(script, *words) == found


@pytest.mark.parametrize(
    "words",
    [["--target"], ["list", "--target"], ["explain"], ["push", "--target"], ["diff", "--target"]],
)
def test_targets_are_those_of_the_matrix(
    script: Path, program: Checkout, tmp_path: Path, words: list[str]
) -> None:
    ids = Project(root=program.root).matrix().targets
    wanted = [name for name in ids if name.startswith("py39-torch231")]
    assert completed(script, *words, "py39-torch231", cwd=tmp_path) == wanted
    assert TARGET in wanted


def test_no_targets_and_no_noise_where_the_matrix_is_broken(
    installed: Checkout, tmp_path: Path
) -> None:
    script = tmp_path / "script"
    script.write_text(installed.start("completion", "bash").out, encoding="utf-8")
    (installed.root / "matrix.yaml").write_text("[", encoding="utf-8")
    assert completed(script, "list", "--target", "py39") == []


def test_files_and_folders(script: Path, tmp_path: Path) -> None:
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor.pem").touch()
    assert completed(script, "build", "--artifacts", "ven", cwd=tmp_path) == ["vendor"]
    found = completed(script, "lock", "--ca", "ven", cwd=tmp_path)
    assert sorted(found) == ["vendor", "vendor.pem"]


def test_the_script_for_zsh(program: Checkout, tmp_path: Path) -> None:
    result = program.start("completion", "zsh")
    result.accepted()
    assert result.out.startswith("#compdef build.py\n")
    for name in SUMMARIES:
        assert f"_shtab_build_py_{name.replace('-', '_')}_options=" in result.out
    assert "_build_py_targets()" in result.out
    path = tmp_path / "_build.py"
    path.write_text(result.out, encoding="utf-8")
    if zsh := shutil.which("zsh"):
        subprocess.run([zsh, "-n", str(path)], check=True)
