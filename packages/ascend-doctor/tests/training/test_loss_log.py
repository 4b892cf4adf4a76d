# SPDX-License-Identifier: Apache-2.0
"""Losses are read from the logs of all programs, and from damaged ones as far as they go."""

from __future__ import annotations

import gzip
import math
import time
from pathlib import Path

import pytest

from ascend_doctor.problems import FileError
from ascend_doctor.training.loss_log import LossLog, read_loss_log
from tests.training.training_logs import (
    LOSSES,
    NORM,
    RATE,
    WRITERS,
    hf_trainer,
    hf_trainer_4,
    llama_factory,
    megatron,
    trainer_state,
    written,
)

ROUNDED = 0.0006
"""Of the program that logs the fewest digits."""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "train.log"


def losses(found: LossLog) -> list[float]:
    return [loss.entry.loss for loss in found.losses]


def steps(found: LossLog) -> list[int]:
    return [loss.step for loss in found.losses]


@pytest.mark.parametrize("name", WRITERS)
def test_each_form_is_read(name: str, log: Path) -> None:
    found = read_loss_log(written(log, WRITERS[name](LOSSES)))
    assert losses(found) == pytest.approx(LOSSES, abs=ROUNDED)
    assert steps(found) == [*range(1, 11)]
    assert found.numbered is (name != "hf_trainer_4")
    assert found.losses[0].entry.learning_rate == pytest.approx(RATE)
    if name not in ("llama_factory", "mindformers_2023"):
        assert found.losses[0].entry.grad_norm == NORM
    program = {"trainer_state": "hf_trainer"}.get(name, name).replace("_", "")
    assert program.startswith(found.form.lower().replace(" ", "").replace("-", ""))
    assert bool(found.notes) is (name == "hf_trainer_4")


@pytest.mark.parametrize("name", WRITERS)
def test_a_log_cut_anywhere_gives_no_wrong_number(name: str, log: Path) -> None:
    text = WRITERS[name](LOSSES[:2]).encode()
    whole = [*map(repr, losses(read_loss_log(written(log, text.decode()))))]
    for end in range(len(text) - 250, len(text)):
        log.write_bytes(text[:end])
        try:
            found = [*map(repr, losses(read_loss_log(log)))]
        except FileError:
            continue
        assert found == whole[: len(found)]


@pytest.mark.parametrize("prefix", ["[rank0]: ", "[default0]:", "0: ", "[0]: "])
def test_ranks_before_lines_are_told_apart(prefix: str, log: Path) -> None:
    lines = hf_trainer_4(LOSSES).splitlines()
    other = prefix.replace("0", "1")
    space = "" if prefix.endswith(" ") else " "
    text = "".join(f"{prefix}{space}{line}\n{other}{space}{line}\n" for line in lines)
    found = read_loss_log(written(log, text))
    assert losses(found) == [*LOSSES]
    assert "losses of 2 ranks; those of rank 0 are used" in found.notes[0]


def test_several_losses_of_a_step_are_noted(log: Path) -> None:
    lines = llama_factory(LOSSES).splitlines(keepends=True)
    text = "".join(line + line.replace('"loss": 2.', '"loss": 3.') for line in lines)
    found = read_loss_log(written(log, text))
    assert steps(found) == [*range(1, 11)]
    assert losses(found)[0] == 3.918
    assert found.notes[0].startswith("10 steps with several losses")


def test_a_resumed_run_replaces_repeated_steps(log: Path) -> None:
    text = hf_trainer(LOSSES[:8]) + "Traceback\n" + hf_trainer([1.0, 0.5], first=6)
    found = read_loss_log(written(log, text))
    assert losses(found) == pytest.approx([*LOSSES[:5], 1.0, 0.5], abs=ROUNDED)
    assert steps(found) == [*range(1, 8)]
    assert "starts again 1 time, last at epoch 0.06 (line" in found.notes[0]


def test_a_run_from_the_start_replaces_the_one_before(log: Path) -> None:
    text = megatron(LOSSES) + megatron([9.0, 8.0])
    found = read_loss_log(written(log, text))
    assert losses(found) == [9.0, 8.0]
    [note] = found.notes
    assert note.startswith("The run starts again 1 time, last at step 1 (line 11);")


def test_losses_without_steps_start_again_where_the_epoch_does(log: Path) -> None:
    first, second = (
        [f"{{'loss': {a}, 'epoch': {a / 10}}}" for a in each] for each in ([1, 2, 3], [2, 5])
    )
    found = read_loss_log(written(log, "\n".join([*first, *second, ""])))
    assert losses(found) == [1.0, 2.0, 5.0]


def test_progress_bars_number_losses_not_logged_every_step(log: Path) -> None:
    text = "".join(
        f"\r 1%|█ | {step}/100 [00:01<00:09]\r{{'loss': 1.5, 'epoch': {step / 100}}}\n"
        for step in (10, 20, 30)
    )
    found = read_loss_log(written(log, text))
    assert [(loss.step, loss.width) for loss in found.losses] == [(10, 10), (20, 10), (30, 10)]


def test_nan_and_inf_are_read(log: Path) -> None:
    found = read_loss_log(written(log, megatron([1.0, math.nan, 2.0])))
    assert math.isnan(losses(found)[1])
    text = "{'loss': 0.0, 'grad_norm': nan, 'epoch': 0.1}\n{'loss': inf, 'epoch': 0.2}\n"
    first, second = read_loss_log(written(log, text)).losses
    assert first.entry.grad_norm is not None
    assert math.isnan(first.entry.grad_norm)
    assert second.entry.loss == math.inf


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no training loss."),
        (b"hello\n{'eval_loss': 1.0}\n", "no training loss."),
        (b"\0\xff\xfe" * 5000, "is no log but binary data."),
        (b'{"log_history": [', "no training loss."),
        (b'{"log_history": 5}', "no training loss."),
        (b"iteration " + b"9" * 5000 + b"/ 10 | lm loss: 1.0 |\n", "no training loss."),
    ],
)
def test_a_file_without_losses(content: bytes, said: str, log: Path) -> None:
    log.write_bytes(content)
    with pytest.raises(FileError, match=said) as caught:
        read_loss_log(log)
    assert "trainer_log.jsonl" in str(caught.value)


def test_a_wrong_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot read"):
        read_loss_log(tmp_path / "nothing.log")
    for path in (tmp_path, Path("/dev/zero")):
        with pytest.raises(FileError, match="not a regular file"):
            read_loss_log(path)


def test_half_a_trainer_state_says_so(log: Path) -> None:
    text = trainer_state(LOSSES)
    found = read_loss_log(written(log, text[: text.index('"loss": 2.6162')]))
    assert losses(found) == [*LOSSES[:4]]
    assert found.notes[0].startswith("Only a part of it was read: it ends too early")


def test_gigabytes_are_read_in_pieces(log: Path) -> None:
    with log.open("wb") as stream:
        stream.write(hf_trainer_4(LOSSES[:5]).encode())
        stream.seek(10**9)
        stream.write(b"\n{'loss': 0.5, 'epoch': 0.9}\n")
    assert log.stat().st_blocks * 512 < 10**6
    start = time.process_time()
    assert losses(read_loss_log(log)) == [*LOSSES[:5], 0.5]
    assert time.process_time() - start < 30


@pytest.mark.parametrize(
    "piece", ["| ", "9", " ", "'loss': ", "{'loss': 9", "step:[", "\x1b[", "|1/1 ["]
)
def test_long_lines_take_no_long_time(piece: str, log: Path) -> None:
    start = time.process_time()
    with pytest.raises(FileError):
        read_loss_log(
            written(log, "iteration 1/ 2 | loss {" + piece * (10**6 // len(piece)) + "\n")
        )
    assert time.process_time() - start < 10


def test_the_losses_of_mindspore(log: Path) -> None:
    text = "".join(f"epoch: 1 step: {n}, loss is {loss}\n" for n, loss in enumerate(LOSSES, 1))
    found = read_loss_log(written(log, text))
    assert (found.form, losses(found)) == ("MindSpore", [*LOSSES])


def test_the_losses_of_verl(log: Path) -> None:
    text = "".join(
        f"(TaskRunner pid=100) step:{n} - actor/pg_loss:{loss} - critic/score/mean:0.3\n"
        for n, loss in enumerate(LOSSES, 1)
    )
    found = read_loss_log(written(log, text))
    assert (found.form, losses(found), found.numbered) == ("verl", [*LOSSES], True)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8"])
def test_a_log_in_another_form_is_read(encoding: str, log: Path) -> None:
    content = hf_trainer_4(LOSSES).encode(encoding)
    log.write_bytes(content if encoding == "utf-16" else gzip.compress(content))
    assert len(losses(read_loss_log(log))) == len(LOSSES)
