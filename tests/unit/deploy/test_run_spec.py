# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cannery.common.model import DeviceKind
from cannery.deploy.run_spec import (
    DRIVER_MOUNTS,
    RunSpec,
    no_device,
    npu_device,
    shell_text,
    simulated_device,
)

BEGIN = ["docker", "run", "--rm", "--platform", "linux/arm64", "--shm-size", "16g"]


def argv(spec: RunSpec, *command: str) -> list[str]:
    return spec.docker_argv("image:tag", "linux/arm64", command)


def test_without_a_device() -> None:
    assert argv(no_device(), "true") == [*BEGIN, "image:tag", "true"]
    assert no_device().kind is DeviceKind.NONE


def test_on_a_simulated_host() -> None:
    spec = simulated_device(Path("/host"))
    assert spec.kind is DeviceKind.SIMULATED
    assert argv(spec) == [
        *BEGIN,
        *(
            word
            for path in DRIVER_MOUNTS
            for word in ("--mount", f"type=bind,source=/host{path},target={path},readonly")
        ),
        "image:tag",
    ]


def test_a_host_without_cards(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "davinci_manager").touch()
    assert npu_device(tmp_path) is None


def test_a_host_with_cards_gives_what_it_has(tmp_path: Path) -> None:
    for name in ("dev/davinci0", "dev/davinci1", "dev/davinci_manager", "dev/hisi_hdc"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    (tmp_path / "usr/local/Ascend/driver").mkdir(parents=True)
    spec = npu_device(tmp_path)
    assert spec is not None
    assert spec.kind is DeviceKind.NPU
    names = [Path(device).name for device in spec.devices]
    assert names == ["davinci0", "davinci1", "davinci_manager", "hisi_hdc"]
    assert [*spec.mounts.values()] == ["/usr/local/Ascend/driver"]
    words = argv(spec)
    assert words.count("--device") == 4
    assert words.count("--mount") == 1


COMMANDS: list[list[str]] = [
    [],
    ["python3", "-c", "import torch; print(torch.npu.is_available())"],
    ["python3", "--version"],
    ["sh", "-c", 'echo "it\'s" $HOME \\ `date`\nsecond line'],
    ["--flag with a space", "a b", "--last", "--two", "three", "four"],
    ["", "*", "~"],
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_shell_reads_what_is_printed_as_it_was_meant(command: list[str]) -> None:
    words = argv(simulated_device(Path("/a folder/it's $HOME")), *command)
    text = shell_text(words)
    done = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {text}"], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\0")[:-1] == words
    assert text.startswith("docker run \\\n  --rm \\\n  --platform linux/arm64 \\\n")
