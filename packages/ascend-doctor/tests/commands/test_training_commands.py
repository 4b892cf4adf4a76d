# SPDX-License-Identifier: Apache-2.0
"""``ascend-doctor align`` and ``ascend-doctor nan-hunt`` on the command line."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tests.commands.exit_codes import main
from tests.training.precision_dumps import OVERFLOW, dump, forward
from tests.training.training_logs import LOSSES, hf_trainer, megatron, mindformers, written

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def reference(tmp_path: Path) -> str:
    return str(written(tmp_path / "a800.log", hf_trainer(LOSSES)))


def test_an_aligned_run_is_reported(reference: str, tmp_path: Path, capsys: Captured) -> None:
    run = str(written(tmp_path / "910b.log", mindformers(LOSSES)))
    assert main(["align", reference, run]) == 0
    said = capsys.readouterr().out
    assert said.startswith("910b.log is aligned: its first 10 losses agree")
    assert "(MindFormers, 10 losses, steps 1-10)" in said
    assert "o reference, x run, * both" in said


def test_a_diverging_run_fails(reference: str, tmp_path: Path, capsys: Captured) -> None:
    run = str(written(tmp_path / "910b.log", megatron([*LOSSES[:4], 3.0, math.nan, *LOSSES[6:]])))
    assert main(["align", reference, run]) == 8
    said = capsys.readouterr().out
    assert said.startswith("910b.log parts from the reference at step 5: loss 3, reference 2.616")
    assert "source: 910B team notes" in said
    assert main(["align", reference, run, "--json"]) == 8
    document = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert (document["verdict"], document["parted_at"]) == ("parted", 5)
    assert document["compared"][5]["run"] == "nan"
    assert [each["within"] for each in document["compared"]].index(False) == 4


def test_too_short_a_run(reference: str, tmp_path: Path, capsys: Captured) -> None:
    run = str(written(tmp_path / "910b.log", megatron(LOSSES[:2])))
    assert main(["align", reference, run]) == 1
    assert "cannot be judged" in capsys.readouterr().out


def test_names_do_not_control_the_terminal(tmp_path: Path, capsys: Captured) -> None:
    run = str(written(tmp_path / "\x1b[2Jrun.log", megatron(LOSSES)))
    assert main(["align", run, run]) == 0
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["align"], 2, "REFERENCE, RUN"),
        (["align", "a.log"], 2, "RUN"),
        (["align", "a.log", "b.log"], 9, "a.log"),
        (["align", ".", "."], 9, "is not a regular file"),
        (["align", "empty", "empty"], 9, "has no training loss"),
        (["align", "a", "b", "--steps", "0"], 2, "invalid number '0'"),
        (["align", "a", "b", "--tolerance", "nan"], 2, "invalid percentage 'nan'"),
        (["align", "a", "b", "--tolerance", "101"], 2, "invalid percentage '101'"),
        (["nan-hunt"], 2, "DUMP"),
        (["nan-hunt", "nothing.json"], 9, "nothing.json"),
        (["nan-hunt", "empty"], 9, "has no operators"),
        (["nan-hunt", "."], 9, "has no dump.json"),
        (["nan-hunt", "/dev/zero"], 9, "neither a regular file nor a folder"),
        (["nan-hut", "."], 2, "Did you mean 'nan-hunt'?"),
    ],
)
def test_wrong_words(
    words: list[str],
    code: int,
    said: str,
    tmp_path: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").touch()
    assert main(words) == code
    assert said in capsys.readouterr().err


def test_the_operator_is_named(tmp_path: Path, capsys: Captured) -> None:
    stack = {"0": [["Torch.exp.0.forward"], ["File train.py, line 7, in step, \n y = x.exp()"]]}
    path = dump(tmp_path / "step3" / "rank1", OVERFLOW, construct={}, stack=stack)
    assert main(["nan-hunt", str(path)]) == 8
    said = capsys.readouterr().out
    assert said.startswith("step 3, rank 1: Torch.exp.0.forward makes inf of finite inputs")
    assert "called by:  File train.py, line 7, in step, y = x.exp()" in said
    assert "torch.empty, output[0], 1 time: the memory is not initialized" in said
    assert main(["nan-hunt", str(tmp_path), "--json"]) == 8
    document = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    first = document["first"]
    assert (first["operator"], first["direction"], first["side"]) == (
        "Torch.exp.0.forward",
        "forward",
        "output",
    )
    assert (first["kind"], first["value"], first["step"], first["rank"]) == ("born", "inf", 3, 1)
    assert document["dumps"][0]["passed_on"] == 1


def test_nan_hunt_on_dumps_without_nan(tmp_path: Path, capsys: Captured) -> None:
    path = dump(tmp_path, {"Torch.abs.0.forward": forward(1.0)})
    assert main(["nan-hunt", str(path)]) == 0
    assert "no inf or NaN except where it is normal" in capsys.readouterr().out
    path.write_text(path.read_text(encoding="utf-8")[:-5], encoding="utf-8")
    assert main(["nan-hunt", str(path)]) == 1
    assert "in the part that was read" in capsys.readouterr().out
    dump(tmp_path, {"Torch.exp.0.forward": forward(1.0, output=3.4028234663852886e38)})
    assert main(["nan-hunt", str(path)]) == 1
    assert "values that may stand for inf" in capsys.readouterr().out
