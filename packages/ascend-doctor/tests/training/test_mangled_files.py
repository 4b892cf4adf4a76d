# SPDX-License-Identifier: Apache-2.0
"""Whatever has happened to a log or a dump, there is a report or a clear error."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from ascend_doctor.problems import FileError
from ascend_doctor.training.align import align
from ascend_doctor.training.alignment_report import alignment_json, alignment_text
from ascend_doctor.training.loss_log import read_loss_log
from ascend_doctor.training.nan_hunt import hunt
from ascend_doctor.training.nan_hunt_report import hunt_json, hunt_text
from tests.training.precision_dumps import OVERFLOW, dump, text
from tests.training.training_logs import LOSSES, WRITERS, trainer_state, written

INSERTED = (
    *(b"NaN", b"-Infinity", b"1e308", b"-1e400", b"9" * 400, b"null", b"true", b"{}", b"[["),
    *(b'"', b"\r", b"\n", b"\0", b"\xff\xfe", b"\x1b[2J", b"iteration 3/ 4 |", b'{"type": 5}'),
)


def mangled(content: str, chance: random.Random) -> bytes:
    """``content`` with some places cut out, doubled or filled with something else."""
    found = bytearray(content.encode())
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(found) + 1)
        end = at + chance.randint(0, 200)
        found[at:end] = chance.choice([b"", found[at:end] * 2, *INSERTED])
    return bytes(found[: chance.randint(0, 3 * len(found))])


@pytest.mark.parametrize("seed", range(10))
def test_mangled_logs(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    reference = read_loss_log(written(tmp_path / "reference", trainer_state(LOSSES)))
    path = tmp_path / "run"
    for writer in WRITERS.values():
        path.write_bytes(mangled(writer(LOSSES), chance))
        try:
            found = align(reference, read_loss_log(path))
        except FileError:
            continue
        assert alignment_text(found)
        json.loads(alignment_json(found), parse_constant=pytest.fail)


@pytest.mark.parametrize("seed", range(10))
def test_mangled_dumps(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    path = dump(tmp_path, OVERFLOW)
    companion = json.dumps({"Torch.exp.0.forward": "Module.net.Net.forward.0"})
    for _ in range(10):
        path.write_bytes(mangled(text(OVERFLOW), chance))
        for name in ("construct.json", "stack.json"):
            (tmp_path / name).write_bytes(mangled(companion, chance))
        try:
            found = hunt(path)
        except FileError:
            continue
        assert hunt_text(found)
        json.loads(hunt_json(found), parse_constant=pytest.fail)
