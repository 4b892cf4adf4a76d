# SPDX-License-Identifier: Apache-2.0
"""Every form of npu-smi's output that is known is read, and no text breaks the reader."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from ascend_doctor.host import Output
from ascend_doctor.npu_smi import read_info, read_topology
from tests.hosts import RECORDED, good_host, recorded

FORMS = sorted(path.stem for path in RECORDED.glob("npu-smi-*.txt"))
MANGLED = 1000


LATEST = """\
| npu-smi 25.7.rc1.6                               Version: 25.7.rc1.6                            |
| NPU ID | Name             | Health        | Power(W)    Temp(C)           Hugepages-Usage(page) |
|        |                  | Bus-Id        | NPU Util(%) Memory-Usage(MB)  HBM-Usage(MB)         |
| 0      | Ascend950PR      | Alarm         | 207.6       65                0     / 0             |
|        |                  | 0000:71:00.0  | 7           0    / 0          5249  / 131072        |
| 3      | Ascend950PR      | OK            | 191.3       56                0     / 0             |
|        |                  | 0000:F1:00.0  | 0           0    / 0          5255  / 131072        |
| NPU ID                    | Process id    | Process name             | Process memory(MB)       |
| 3                         | 123           | python3                  | 100                      |
"""
"""The rows of driver 25.7, which has no chips on a card, and a border between id and name."""


def test_the_table_of_the_950() -> None:
    smi = read_info(LATEST)
    assert [(c.npu, c.chip, c.name, c.health, c.bus, c.used, c.total) for c in smi.chips] == [
        (0, 0, "Ascend950PR", "Alarm", "0000:71:00.0", 5249, 131072),
        (3, 0, "Ascend950PR", "OK", "0000:F1:00.0", 5255, 131072),
    ]
    assert (smi.half, smi.version) == (0, "25.7.rc1.6")
    assert [(p.npu, p.chip, p.pid, p.memory) for p in smi.processes] == [(3, 0, 123, 100)]


def test_a_910b1_with_driver_23() -> None:
    smi = read_info(recorded("npu-smi-23.0.rc2-910b1"))
    assert smi.version == "23.0.rc2.b090"
    assert [(c.npu, c.number, c.name, c.health, c.bus) for c in smi.chips] == [
        (0, 0, "910B1", "OK", "0000:C1:00.0"),
        (7, 7, "910B1", "OK", "0000:42:00.0"),
    ]
    assert [(c.used, c.total) for c in smi.chips] == [(64293, 65536), (64114, 65536)]
    assert [(p.npu, p.pid, p.name, p.memory) for p in smi.processes] == [
        (0, 2441447, "python", 59618),
        (1, 2441448, "python", 59834),
        (7, 2441454, "python", 59802),
    ]
    assert (smi.code, smi.half) == (0, 0)


def test_a_910b3_with_driver_24() -> None:
    smi = read_info(recorded("npu-smi-24.1.rc1-910b3"))
    assert smi.version == "24.1.rc1.b030"
    assert [chip.number for chip in smi.chips] == [*range(8)]
    assert {(chip.name, chip.health, chip.total) for chip in smi.chips} == {("910B3", "OK", 65536)}
    assert smi.chips[0].used == 3318
    assert not smi.processes


@pytest.mark.parametrize("name", ["npu-smi-24.1.rc3.7-a3", "npu-smi-25.2.1-a3-busy"])
def test_an_a3_has_two_chips_a_card_and_physical_numbers(name: str) -> None:
    smi = read_info(recorded(name))
    assert [(c.npu, c.chip, c.number) for c in smi.chips] == [(n // 2, n % 2, n) for n in range(16)]
    assert {chip.name for chip in smi.chips} == {"Ascend910"}
    busy = [(p.npu, p.chip, p.pid, p.name, p.memory) for p in smi.processes]
    expected = [(0, 0, 3328327, "", 50000), (0, 1, 3328328, "", 50001), (1, 1, 3328330, "", 50003)]
    assert busy == (expected if "busy" in name else [])
    assert smi.number_of(1, 1) == 3


def test_a_wide_table_tells_the_number_in_the_container() -> None:
    smi = read_info(recorded("npu-smi-26.0-a3-wide"))
    assert [(c.number, c.health, c.used) for c in smi.chips] == [
        (14, "OK", 15503),
        (15, "Warning", 15242),
    ]
    assert [(p.pid, p.inner) for p in smi.processes] == [(692318, 0), (692319, 4242)]


def test_a_table_with_memory_instead_of_hbm() -> None:
    smi = read_info(recorded("npu-smi-24.1-310p"))
    assert [(c.npu, c.chip, c.number, c.name) for c in smi.chips] == [
        (2, 0, 0, "310P3"),
        (2, 1, 1, "310P3"),
    ]
    assert [(c.used, c.total) for c in smi.chips] == [(1582, 44216), (1294, 43757)]


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("dcmi module initialize failed. ret is -8005", -8005),
        ("dcmi model initialized failed, because the device is used. ret is -8020", -8020),
        ("npu get board type failed. ret is -9005", -9005),
        ("npu get board type failed -9005", -9005),
        (recorded("npu-smi-24.1.rc1-910b3"), 0),
        ("", 0),
    ],
)
def test_codes_of_the_management_library(said: str, code: int) -> None:
    assert read_info(said).code == code


def test_the_cpus_near_a_card() -> None:
    near = read_topology(recorded("npu-smi-topo-910b3"))
    assert near[0] == near[1] == "144-167"
    assert near[7] == "48-71"
    assert len(near) == 8
    assert read_topology(recorded("npu-smi-24.1.rc1-910b3")) == {}


def cut(text: str, chance: random.Random) -> str:
    return text[: chance.randrange(len(text))]


def without_lines(text: str, chance: random.Random) -> str:
    return "\n".join(line for line in text.splitlines() if chance.random() < 0.7)


def other_letters(text: str, chance: random.Random) -> str:
    letters = list(text)
    for _ in range(chance.randrange(1, 200)):
        letters[chance.randrange(len(letters))] = chance.choice(
            "|/+-=0129 \n\t\0\u4e00\u0663\U0001f600"
        )
    return "".join(letters)


def shuffled(text: str, chance: random.Random) -> str:
    lines = text.splitlines()
    chance.shuffle(lines)
    return "\n".join(lines)


def long_numbers(text: str, chance: random.Random) -> str:
    return text.replace(chance.choice("0123456789"), "9" * chance.randrange(2, 30))


def twice(text: str, chance: random.Random) -> str:
    start = chance.randrange(len(text))
    return text[:start] + text + text[start:]


MANGLE: list[Callable[[str, random.Random], str]] = [
    *(cut, without_lines, other_letters, shuffled, long_numbers, twice)
]


@pytest.mark.parametrize("name", FORMS)
def test_mangled_outputs_are_read_without_an_error(name: str, tmp_path: Path) -> None:
    text = recorded(name)
    chance = random.Random(name)
    names = {chip.name for chip in read_info(text).chips}
    for number in range(-(-MANGLED // len(FORMS))):
        mangled = MANGLE[number % len(MANGLE)](text, chance)
        smi = read_info(mangled)
        assert all(0 <= chip.used < 10**9 and chip.npu >= 0 for chip in smi.chips)
        assert len({(chip.npu, chip.chip) for chip in smi.chips}) == len(smi.chips)
        assert all(process.pid >= 0 for process in smi.processes)
        assert smi.half <= mangled.count("|")
        assert all(isinstance(cpus, str) for cpus in read_topology(mangled).values())
        if MANGLE[number % len(MANGLE)] is cut:
            assert {chip.name for chip in smi.chips} <= names
    assert len(FORMS) >= 7


@pytest.mark.parametrize("seed", range(60))
def test_the_doctor_survives_mangled_outputs(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    host = good_host(tmp_path)
    for command, output in host.outputs.items():
        mangled = MANGLE[seed % len(MANGLE)](output.text, chance)
        host.outputs[command] = Output(chance.choice(["ok", "failed"]), mangled)
    assert "check-failed" not in host.ids()


def test_a_cut_table_is_called_cut(tmp_path: Path) -> None:
    host = good_host(tmp_path)
    text = recorded("npu-smi-24.1.rc1-910b3")
    host.outputs["npu-smi info"] = Output("ok", text[: text.index("0000:42:00.0") - 40])
    assert host.ids() == {"smi-cut"}


def test_colours_and_ends_of_lines_of_windows_do_not_matter() -> None:
    text = "\r\n".join(f"\x1b[1;36m{line}\x1b[0m" for line in LATEST.splitlines())
    assert read_info(text) == read_info(LATEST)
