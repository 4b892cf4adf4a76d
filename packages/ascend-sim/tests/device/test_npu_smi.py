# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess

import pytest

from .hosts import Host

NO_DRIVER = "dcmi module initialize failed. ret is -8005\n"
MEBIBYTE = 1 << 20


def shown(host: Host, *arguments: str, **changes: str | None) -> list[str]:
    answer = host.npu_smi(*arguments, **changes)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.splitlines()


def values(lines: list[str], name: str) -> list[str]:
    pairs = [line.split(" : ") for line in lines if " : " in line]
    return [value for key, value in pairs if key.strip() == name]


def test_info_shows_a_row_pair_for_each_device(host: Host) -> None:
    lines = shown(host, "info")
    assert {len(line) for line in lines} == {98}
    assert lines[1].split() == ["|", "npu-smi", "24.1.rc3-sim", "Version:", "24.1.rc3-sim", "|"]
    assert lines[1].index("Version:") == 35
    for device in range(8):
        assert any(line.startswith(f"| {device}     910B3 ") for line in lines)
    assert sum("/ 65536 " in line for line in lines) == 8
    assert lines[7].split()[3:5] == ["0000:C1:00.0", "|"]
    assert sum("No running processes found in NPU" in line for line in lines) == 8


def test_info_of_cards_with_two_chips(host: Host) -> None:
    host.describe("a3", count=4)
    lines = shown(host, "info")
    assert {len(line) for line in lines} == {98}
    assert lines[4].startswith("| Chip  Phy-ID              | Bus-Id ")
    first, second = lines[6:8], lines[9:11]
    assert [line.split("|")[1].split() for line in first] == [["0", "Ascend910"], ["0", "0"]]
    assert [line.split("|")[1].split() for line in second] == [["0", "Ascend910"], ["1", "1"]]
    assert second[0].split("|")[3].split()[0] == "-"
    assert (lines[8], lines[11]) == (
        f"+{'-' * 96}+",
        f"+{'=' * 27}+{'=' * 15}+{'=' * 52}+",
    )


def test_info_of_inference_cards(host: Host) -> None:
    """As driver 25.5 shows the Atlas 300I Duo: memory without HBM, and the ids of the devices."""
    host.describe("310p", count=4)
    lines = shown(host, "info")
    assert {len(line) for line in lines} == {106}
    assert lines[4].startswith("| Chip    Device                | Bus-Id          | AICore(%)    ")
    rows = [line.split("|")[1].split() for line in (*lines[6:8], *lines[9:11], lines[12])]
    assert rows == [["0", "310P3"], ["0", "0"], ["0", "310P3"], ["1", "1"], ["1", "310P3"]]
    assert lines[7].split("|")[3].split() == ["0", "0", "/", "44280"]
    assert (lines[8], lines[11]) == (
        f"+{'-' * 31}+{'-' * 17}+{'-' * 54}+",
        f"+{'=' * 31}+{'=' * 17}+{'=' * 54}+",
    )
    assert values(shown(host, "info", "-t", "memory", "-i", "0"), "DDR Capacity(MB)") == [
        "44280",
        "44280",
    ]


def test_info_of_the_950(host: Host) -> None:
    """As driver 25.7 shows it: without chips, and with a border between the id and the name."""
    host.describe("950", count=2)
    lines = shown(host, "info")
    assert {len(line) for line in lines} == {99}
    assert lines[6].startswith("| 0      | Ascend950PR      | OK            | 0.0 ")
    assert lines[7].startswith("|        |                  | 0000:C1:00.0  | 0           0    /")
    assert lines[7].endswith(" 0     / 131072        |")
    board = shown(host, "info", "-t", "board", "-i", "0")
    assert (values(board, "NPU Name"), values(board, "Chip Name")) == (["9579"], ["Ascend950PR"])


def test_info_of_the_first_910(host: Host) -> None:
    host.describe("910", count=1)
    lines = shown(host, "info")
    assert lines[6].startswith("| 0     910A                | OK ")
    assert lines[7].endswith(" 0    / 32768         |")


def test_processes_and_memory_are_really_there(host: Host) -> None:
    visible = {"ASCEND_RT_VISIBLE_DEVICES": "5"}
    holder = host.start("hold_memory", str(300 * MEBIBYTE), **visible)
    assert holder.stderr is not None
    while "holding" not in holder.stderr.readline():
        pass
    lines = shown(host, "info")
    usages = shown(host, "info", "-t", "usages", "-i", "5")
    free, total = host.ask("free_memory_after_allocating", str(100 * MEBIBYTE), **visible)
    holder.kill()
    holder.communicate()
    row = next(line for line in lines if line.startswith("| 5       0 "))
    number, name, memory = (cell.strip() for cell in row.split("|")[2:5])
    assert (number, memory) == (str(holder.pid), "300")
    assert name.startswith("python")
    assert any("| 0000:02:00.0  | 0           0    / 0          300  / 65536 " in x for x in lines)
    assert values(usages, "HBM Usage Rate(%)") == ["0"]
    assert total - free == 400 * MEBIBYTE
    assert not any(line.startswith("| 5       0 ") for line in shown(host, "info"))


def test_processes_of_another_host_are_not_shown(host: Host) -> None:
    holder = host.start("hold_memory", "1")
    assert holder.stderr is not None
    while "holding" not in holder.stderr.readline():
        pass
    conf = host.conf
    other = conf.with_name("other")
    other.write_text(conf.read_text())
    other.replace(conf)
    lines = shown(host, "info")
    holder.communicate("\n", timeout=60)
    assert sum("No running processes found in NPU" in line for line in lines) == 8


def test_the_version_is_always_marked_as_simulated(host: Host) -> None:
    (host.driver / "version.info").write_text("Version=24.1.rc3\n")
    assert "npu-smi 24.1.rc3-sim " in host.npu_smi("info").stdout
    assert shown(host, "-v") == ["npu-smi version: 24.1.rc3-sim"]


def test_list_and_topology(host: Host) -> None:
    host.describe("910b", count=2)
    assert values(shown(host, "info", "-l"), "NPU ID") == ["0", "1"]
    rows = shown(host, "info", "-t", "topo")
    assert [row.split() for row in rows[1:3]] == [
        ["NPU0", "X", "HCCS", "NA"],
        ["NPU1", "HCCS", "X", "NA"],
    ]


def test_list_mapping_and_topology_of_cards_with_two_chips(host: Host) -> None:
    host.describe("a3", count=4)
    listed = shown(host, "info", "-l")
    assert values(listed, "Total Count") == ["2"]
    assert values(listed, "Chip Count") == ["2", "2"]
    mapping = [line.split() for line in shown(host, "info", "-m")[1:]]
    assert mapping[:4] == [
        ["0", "0", "0", "0", "Ascend910"],
        ["0", "1", "1", "1", "Ascend910"],
        ["0", "2", "-", "-", "Mcu"],
        ["1", "0", "2", "2", "Ascend910"],
    ]
    rows = [row.split() for row in shown(host, "info", "-t", "topo")]
    assert rows[1] == ["Phy-ID0", "X", "SIO", "HCCS_SW", "HCCS_SW", "NA"]


def test_the_mapping_of_single_chips(host: Host) -> None:
    header, first, unit, *_ = (line.split() for line in shown(host, "info", "-m"))
    assert header == ["NPU", "ID", "Chip", "ID", "Chip", "Logic", "ID", "Chip", "Name"]
    assert (first, unit) == (["0", "0", "0", "Ascend", "910B3"], ["0", "1", "-", "Mcu"])


def test_the_board_of_a_card_and_of_a_chip(host: Host) -> None:
    card = shown(host, "info", "-t", "board", "-i", "2")
    assert values(card, "NPU ID") == ["2"]
    assert values(card, "Software Version") == ["24.1.rc3-sim"]
    assert values(card, "PCIe Bus Info") == ["0000:81:00.0"]
    chip = shown(host, "info", "-t", "board", "-i", "2", "-c", "0")
    assert values(chip, "Chip Name") == ["910B3"]


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("usages", "HBM Capacity(MB)", "65536"),
        ("memory", "HBM Capacity(MB)", "65536"),
        ("health", "Health Status", "OK"),
    ],
)
def test_details_of_one_card_and_of_all(host: Host, kind: str, name: str, value: str) -> None:
    assert values(shown(host, "info", "-t", kind, "-i", "3"), name) == [value]
    assert values(shown(host, "info", "-t", kind), "NPU ID") == [str(i) for i in range(8)]


def test_watch_goes_on(host: Host) -> None:
    watching = subprocess.Popen(
        [host.driver / "bin" / "npu-smi", "info", "watch", "-i", "1", "-d", "0"],
        env=host.environment({}),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert watching.stdout is not None
    lines = [watching.stdout.readline().split() for _ in range(4)]
    watching.kill()
    watching.communicate()
    assert lines[0][:2] == ["NpuID(Idx)", "ChipId(Idx)"]
    assert lines[1:] == [["1", "0", "0.0", "0", "0", "0", "0", "0", "0"]] * 3


def test_a_lost_card_is_not_shown(host: Host) -> None:
    ids = values(shown(host, "info", "-l", NPUSIM_FAULT="lost-card=3"), "NPU ID")
    assert ids == ["0", "1", "2", "4", "5", "6", "7"]


@pytest.mark.parametrize("library", [None, "devlib"])
def test_without_a_driver_it_fails_as_the_vendor_s(host: Host, library: str | None) -> None:
    path = str(host.built / "toolkit" / library) if library else None
    answer = host.npu_smi("info", LD_LIBRARY_PATH=path)
    assert (answer.returncode, answer.stdout) == (255, NO_DRIVER)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "the command is missing"),
        (["reset"], "the command is missing"),
        (["info", "-x"], "'-x' is not known here"),
        (["info", "-t"], "'-t' is not known here"),
        (["info", "-t", "volt"], "type 'volt' is not simulated"),
        (["info", "-i", "0"], "'-t' is missing"),
        (["info", "-t", "board", "-i"], "'-i' needs a number"),
        (["info", "-t", "board", "-i", "x"], "'-i' needs a number"),
        (["info", "-t", "board", "-i", "8"], "there is no such card or chip"),
        (["info", "-t", "usages", "-i", "0", "-c", "1"], "there is no such card or chip"),
    ],
)
def test_wrong_arguments_are_an_error(host: Host, arguments: list[str], complaint: str) -> None:
    answer = host.npu_smi(*arguments)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert f"Error: wrong arguments: {complaint}.\n" in answer.stderr
    assert "Usage: npu-smi info" in answer.stderr
