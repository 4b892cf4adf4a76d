# SPDX-License-Identifier: Apache-2.0
"""Every command, started as users do, with each Python, from the packed file and from the wheel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from ascend_doctor.smoke.model import to_json
from tests.log_cases import case_log
from tests.pythons import REQUIRED, interpreter
from tests.ranktable.tables import conf
from tests.smoke.smokes import document_of, good_items
from tests.stuck.runs import ALL_REDUCE, LOADER, training_run
from tests.training.precision_dumps import OVERFLOW, dump
from tests.training.training_logs import LOSSES, hf_trainer, megatron, written

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.7", "3.9", "3.11", "3.13")

Program = Callable[..., tuple[int, str]]


class Form(NamedTuple):
    """A way in which the program is installed."""

    python: str
    kind: str


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packed file and the wheel."""
    folder = tmp_path_factory.mktemp("built")
    pack = [sys.executable, "tools/pack.py", "ascend_doctor", str(folder / "ascend-doctor")]
    subprocess.run(pack, cwd=ROOT, check=True)
    words = ["wheel", "--quiet", "--no-deps", f"--wheel-dir={folder}", str(ROOT)]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True, cwd=folder)
    return folder


@pytest.fixture(scope="module", params=[Form(p, k) for p in PYTHONS for k in ("file", "wheel")])
def program(
    request: pytest.FixtureRequest, built: Path, tmp_path_factory: pytest.TempPathFactory
) -> Program:
    """Runs the program, and returns its exit code and what it printed."""
    form: Form = request.param
    if REQUIRED and form.python not in REQUIRED:
        pytest.skip(f"Python {form.python} cannot be had here")
    python = interpreter(form.python)
    argv = [python, "-I", str(built / "ascend-doctor")]
    if form.kind == "wheel":
        argv = [installed(python, built, tmp_path_factory.mktemp("venv"))]

    def run(*words: object) -> tuple[int, str]:
        done = subprocess.run(
            [*argv, *map(str, words)],
            env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout + done.stderr

    return run


def installed(python: str, built: Path, folder: Path) -> str:
    """The console script of the wheel, in an environment of its own."""
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
    [wheel] = built.glob("*.whl")
    # A pip that runs on this Python may not run on that one.
    pip = ["-m", "uv", "pip", "install", "--python", str(folder / "bin" / "python"), "--quiet"]
    subprocess.run([sys.executable, *pip, "--no-index", "--no-config", wheel], check=True)
    return str(folder / "bin" / "ascend-doctor")


def test_a_host_and_a_log(program: Program, tmp_path: Path) -> None:
    code, said = program("check", "--json")
    assert code in (0, 1, 8)
    assert {"check-failed"}.isdisjoint(each["id"] for each in json.loads(said)["findings"])
    code, said = program("--log", case_log("own", "ranks-03", tmp_path))
    assert code == 8
    assert "log:    " in said
    code, said = program("explain", "507018")
    assert (code, "[aicpu-failed]" in said) == (0, True)


def test_align_and_nan_hunt(program: Program, tmp_path: Path) -> None:
    reference = written(tmp_path / "a800.log", hf_trainer(LOSSES))
    run = written(tmp_path / "910b.log", megatron([*LOSSES[:4], 3.0, *LOSSES[5:]]))
    assert program("align", reference, reference)[0] == 0
    code, said = program("align", reference, run)
    assert code == 8
    assert said.startswith("910b.log parts from the reference at step 5: loss 3")
    code, said = program("nan-hunt", dump(tmp_path / "step3" / "rank1", OVERFLOW))
    assert code == 8
    assert said.startswith("step 3, rank 1: Torch.exp.0.forward makes inf of finite inputs")


def test_stuck(program: Program, tmp_path: Path) -> None:
    with training_run(tmp_path, [ALL_REDUCE, LOADER]) as run:
        code, said = program("stuck", run.launcher, "--interval", 0)
        assert code == 0, said
        assert said.startswith("data: Rank 0: in a collective, waiting for rank 1.")


def test_smoke(program: Program, tmp_path: Path) -> None:
    """Without torch it says so; the comparison needs none."""
    code, said = program("smoke", "--seconds", 20)
    assert code == 9
    assert "no card could be used: ModuleNotFoundError: No module named 'torch'" in said
    for name in ("node1", "node2"):
        text = to_json(document_of(good_items(), name))
        (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    code, said = program("smoke", "--compare", tmp_path / "node1.json", tmp_path / "node2.json")
    assert code == 0
    assert "node1 and node2: 0 differences" in said


def test_ranktable(program: Program, tmp_path: Path) -> None:
    hccn, table = tmp_path / "hccn.conf", tmp_path / "hccl.json"
    hccn.write_text(conf(["10.0.0.1", "10.0.0.2"]), encoding="utf-8")
    assert program("ranktable", "generate", "--server", f"a={hccn}", "--out", table)[0] == 0
    assert program("ranktable", "check", table) == (0, f"{table}: 1 server, 2 ranks\n")
    table.write_text(table.read_text(encoding="utf-8").replace("10.0.0.2", "10.0.0.x"))
    code, said = program("ranktable", "check", table)
    assert code == 8
    assert "without an address: device_ip is '10.0.0.x'" in said


def test_the_wheel_says_which_pythons_it_is_for(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        [name] = [each for each in archive.namelist() if each.endswith("/METADATA")]
        assert b"\nRequires-Python: >=3.7\n" in archive.read(name)
