# SPDX-License-Identifier: Apache-2.0
"""The command line of the doctor: what it prints, and its exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ascend_doctor.host import Space
from tests.hosts import SimulatedHost, good_host, run_doctor


def document(host: SimulatedHost, capsys: pytest.CaptureFixture[str], *argv: str) -> Any:
    run_doctor(host, "--json", *argv)
    return json.loads(capsys.readouterr().out)


def test_a_good_host(host: SimulatedHost, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_doctor(host) == 0
    assert capsys.readouterr().out == "ascend-doctor: no findings.\n"


def test_the_worst_comes_first_and_decides_the_exit_code(
    host: SimulatedHost, capsys: pytest.CaptureFixture[str]
) -> None:
    host.environment["ASCEND_LAUNCH_BLOCKING"] = "1"
    assert run_doctor(host) == 0
    host.shm = Space(4 << 30, 4 << 30)
    assert run_doctor(host) == 1
    host.devices.pop("/dev/hisi_hdc")
    (host.root / "dev/hisi_hdc").unlink()
    capsys.readouterr()
    assert run_doctor(host) == 8
    said = capsys.readouterr().out
    assert said.startswith("error: /dev/hisi_hdc is missing, although there are cards. [device-mi")
    assert "  fix:    Start the container with --device /dev/hisi_hdc." in said
    assert said.endswith("ascend-doctor: 1 error, 1 warning, 1 note.\n")


def test_the_document(host: SimulatedHost, capsys: pytest.CaptureFixture[str]) -> None:
    host.edit("hccn_tool -i 5 -link -g", "UP", "DOWN")
    found = document(host, capsys)
    assert found["schema"] == 2
    assert found["host"]["name"] == "node-1"
    assert found["host"]["chips"] == ["910B3"] * 8
    assert found["host"]["addresses"]["7"] == "10.0.0.43"
    [finding] = found["findings"]
    assert finding["id"] == "link-down"
    assert finding["severity"] == "error"
    assert finding["values"] == {"card": 5, "state": "DOWN"}
    assert {"what", "why", "mend", "sure", "sources"} < finding.keys()


def test_the_driver_is_judged_for_a_cann(
    host: SimulatedHost, capsys: pytest.CaptureFixture[str]
) -> None:
    def ids(cann: str) -> list[str]:
        return [each["id"] for each in document(host, capsys, "--cann", cann)["findings"]]

    assert ids("8.0.RC1") == []
    assert ids("8.0.T39") == []
    assert ids("8.5.0") == ["driver-old"]
    assert ids("7.0.0") == ["driver-new"]
    assert ids("9.9.9") == ["driver-old-inferred"]
    assert ids("6.0.0") == []
    assert ids("custom") == ["driver-unsourced"]
    host.edit("/usr/local/Ascend/driver/version.info", "24.1.rc1.b030", "25.1.0")
    host.edit("npu-smi info", "24.1.rc1.b030", "25.1.0")
    assert ids("8.5.0") == ["driver-disputed"]
    host.edit("/usr/local/Ascend/driver/version.info", "25.1.0", "next")
    host.edit("npu-smi info", "25.1.0", "next")
    assert ids("8.5.0") == ["driver-form"]
    host.edit("/usr/local/Ascend/driver/version.info", "next", "25.1.0-sim")
    assert ids("8.5.0") == ["driver-simulated"]


@pytest.mark.parametrize(
    ("code", "name"),
    [
        *(("-8005", "dcmi"), ("8005", "dcmi"), ("dcmi-8005", "dcmi-8005")),
        ("npu-smi: ... ret is -8005", "dcmi"),
    ],
)
def test_a_code_is_explained(
    host: SimulatedHost, code: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    [finding] = document(host, capsys, f"--explain={code}")["findings"]
    assert finding["id"] == name


def test_all_sources_are_shown_in_the_width_of_the_terminal(
    host: SimulatedHost, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for width in (60, 90):
        monkeypatch.setenv("COLUMNS", str(width))
        run_doctor(host, "--explain", "507899")
        said = capsys.readouterr().out
        [finding] = document(host, capsys, "--explain", "507899")["findings"]
        assert "; ".join(finding["sources"]) in " ".join(said.split())
        assert width - 20 < max(map(len, said.splitlines())) <= width


def test_advice_without_an_error_is_explained(
    host: SimulatedHost, capsys: pytest.CaptureFixture[str]
) -> None:
    for word, advice in (
        ("precision", "DeepSpeed 0.14.3 or 0.15.0"),
        ("stuck", "watch npu-smi info"),
        ("slow", "copy models and data to a local disk"),
        ("timeout", "HCCL_CONNECT_TIMEOUT=7200"),
    ):
        assert run_doctor(host, "--explain", word) == 0
        assert advice in " ".join(capsys.readouterr().out.split())


def test_a_name_gets_the_nearest_and_a_code_does_not(
    host: SimulatedHost, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_doctor(host, "--explain", "hccp-stort") == 2
    assert "'hccp-stort' is unknown. Did you mean 'hccp-start'" in capsys.readouterr().err
    assert run_doctor(host, "--explain", "EJ0011") == 2
    assert capsys.readouterr().err == "ascend-doctor: 'EJ0011' is unknown.\n"
    assert run_doctor(host, "--explain", "\0\u4e00") == 2


def test_a_log(host: SimulatedHost, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "train.log"
    log.write_text("a\nEJ0001: x\nEJ0001: y\n", encoding="utf-8")
    assert run_doctor(host, "--log", str(log)) == 8
    said = capsys.readouterr().out
    assert "train.log:2, 2 times\n          EJ0001: x\n" in said
    assert host.asked == []
    found = document(host, capsys, "--log", str(log))
    assert found["logs"] == {"paths": [str(log)], "size": 22, "failed": True, "left_out": []}
    assert found["findings"][0]["count"] == 2
    log.write_text("fine\n", encoding="utf-8")
    assert run_doctor(host, "--log", str(log)) == 0
    assert run_doctor(host, "--log", str(tmp_path / "nothing")) == 9


def report_of(folder: Path, name: str, capsys: pytest.CaptureFixture[str], **changes: Any) -> str:
    found = document(good_host(folder / name), capsys)
    found["host"].update({"name": name, **changes})
    path = folder / f"{name}.json"
    path.write_text(json.dumps(found), encoding="utf-8")
    return str(path)


def test_nodes_are_compared(
    tmp_path: Path, host: SimulatedHost, capsys: pytest.CaptureFixture[str]
) -> None:
    one = report_of(tmp_path, "one", capsys)
    other = {str(card): f"10.0.1.{card + 1}" for card in range(8)}
    two = report_of(tmp_path, "two", capsys, addresses=other)
    assert run_doctor(host, "--nodes", one, two) == 0
    capsys.readouterr()
    changes: dict[str, Any] = {
        "driver": "25.5.0",
        "firmware": "7.7.0",
        "cann": "8.5.0",
        "cards": [0, 1],
        "time": 1_700_000_500.0,
        "variables": {"HCCL_CONNECT_TIMEOUT": "600"},
    }
    three = report_of(tmp_path, "three", capsys, **changes)
    found = document(host, capsys, "--nodes", one, two, three)
    assert [each["id"] for each in found["findings"]] == [
        *("nodes-driver", "nodes-firmware", "nodes-cann", "nodes-cards"),
        *("nodes-variable", "nodes-variable", "nodes-time"),
        *["nodes-address"] * 8,
    ]
    assert "24.1.rc1.b030 (one, two); 25.5.0 (three)" in found["findings"][0]["what"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"host": 1}', '{"host": {}}', "[" * 9999, "\xff"])
def test_an_invalid_report_is_named(
    tmp_path: Path, host: SimulatedHost, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "node.json"
    path.write_text(text, encoding="latin-1")
    assert run_doctor(host, "--nodes", str(path)) == 9
    assert f"{path} is not a report of the doctor" in capsys.readouterr().err


@pytest.mark.parametrize("unbuffered", ["1", ""])
def test_a_closed_pipe_is_no_error(unbuffered: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    argv = [sys.executable, "-m", "ascend_doctor", "--explain", "EJ0001"]
    root = Path(__file__).resolve().parents[1]
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(
        argv, stdout=writer, stderr=subprocess.PIPE, cwd=root, env=env, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_failing_check_does_not_stop_the_others(
    host: SimulatedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ascend_doctor import examine

    def check_broken(_machine: object) -> None:
        raise ZeroDivisionError("x")

    monkeypatch.setattr(examine, "CHECKS", (check_broken, *examine.CHECKS))
    host.devices.pop("/dev/hisi_hdc")
    found = examine.examine(host.machine())
    assert [each.id for each in found] == ["check-failed", "device-missing"]
    assert found[0].values == {"check": "check_broken", "error": "ZeroDivisionError: x"}


def test_no_card(host: SimulatedHost) -> None:
    host.devices.clear()
    assert host.ids() == {"no-device"}
    card = "/sys/bus/pci/devices/0000:c1:00.0"
    host.files |= {f"{card}/vendor": "0x19e5\n", f"{card}/class": "0x120000\n"}
    assert host.ids() == {"driver-not-loaded"}


def test_unset_timeouts_are_a_note(host: SimulatedHost) -> None:
    host.environment.clear()
    assert [(e.id, e.values["default"]) for e in host.findings()] == [
        ("hccl-timeout-default", 120),
        ("hccl-timeout-default", 1800),
    ]


def test_a_container_is_known_by_several_signs(tmp_path: Path) -> None:
    host = good_host(tmp_path / "host")
    assert not host.machine().in_container
    for number, (path, text) in enumerate(
        [
            ("/.dockerenv", ""),
            ("/run/.containerenv", ""),
            ("/proc/1/cgroup", "5:cpu:/kubepods/burstable/pod1\n"),
            ("/proc/mounts", "overlay / overlay rw,lowerdir=/a 0 0\n"),
        ]
    ):
        host = good_host(tmp_path / str(number))
        host.files[path] = text
        assert host.machine().in_container, path
    host = good_host(tmp_path / "pod")
    host.environment["KUBERNETES_SERVICE_HOST"] = "10.96.0.1"
    assert host.machine().in_container


def test_commands_give_the_same_as_options(
    host: SimulatedHost, capsys: pytest.CaptureFixture[str]
) -> None:
    host.environment["ASCEND_LAUNCH_BLOCKING"] = "1"
    for with_word, without in (
        (["check", "--json"], ["--json"]),
        (["explain", "507018"], ["--explain", "507018"]),
    ):
        said = [
            (run_doctor(host, *words), capsys.readouterr().out) for words in (with_word, without)
        ]
        assert said[0] == said[1]


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("alig", "Did you mean 'align'?"),
        ("log", "It is an option: --log."),
        ("\x1b[2J", "Known: align, check, explain, nan-hunt, ranktable, smoke, stuck."),
    ],
)
def test_an_unknown_command(
    host: SimulatedHost, capsys: pytest.CaptureFixture[str], word: str, hint: str
) -> None:
    assert run_doctor(host, word, "x") == 2
    said = capsys.readouterr().err
    assert said.startswith("ascend-doctor: unknown command ")
    assert said.endswith(f" {hint}\n")
    assert "\x1b" not in said
