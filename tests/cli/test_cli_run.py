# SPDX-License-Identifier: Apache-2.0
"""``build.py run`` with a program in docker's place, and something that answers as an engine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from cannery.engine.simulator import simulated
from tests.cli.checkout import Checkout
from tests.cli.standin_engine import standin_engine

TARGET = "py39-torch231-cann8t39"
IMAGE = f"cannery:{TARGET}-sim"
LABEL = {"io.cannery.simulated": "true"}
MOUNTS = [
    *("/usr/local/Ascend/driver", "/usr/local/dcmi"),
    *("/usr/local/bin/npu-smi", "/etc/ascend_install.info"),
]


@pytest.fixture
def host(checkout: Checkout) -> Path:
    """The driver tree of a simulated host, as a build with --simulate would leave it."""
    path = simulated(checkout.project, checkout.project.matrix().targets[TARGET]).host
    path.mkdir(parents=True)
    return path


@pytest.fixture
def path(tmp_path: Path) -> dict[str, str]:
    """An environment in which docker prints the words that it is given, and emulates nothing."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "docker").write_text(
        f"#!{sys.executable}\nimport sys\n"
        "if sys.argv[1] == 'buildx':\n    sys.exit(print('Platforms: linux/riscv64'))\n"
        "print(*sys.argv[1:], sep='\\n')\nsys.exit(7)\n",
        encoding="utf-8",
    )
    (folder / "docker").chmod(0o755)
    return {"PATH": str(folder)}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[dict[str, str]]:
    """An environment in which an engine has the simulated image."""
    with standin_engine(tmp_path, images={IMAGE: "arm64"}, labels=LABEL) as address:
        yield {"DOCKER_HOST": address}


def words(host: Path, *more: str, cards: int = 8) -> list[str]:
    return [
        *("run", "--rm", "--platform", "linux/arm64", "--shm-size", "16g"),
        *(
            word
            for where in MOUNTS
            for word in ("--mount", f"type=bind,source={host}{where},target={where},readonly")
        ),
        *more,
        *("--env", "ASCEND_RT_VISIBLE_DEVICES=" + ",".join(map(str, range(cards)))),
        *("--env", "HCCL_CONNECT_TIMEOUT=7200", "--env", "HCCL_EXEC_TIMEOUT=7200"),
        *(IMAGE, "python3", "-c", "print(1, 'x')"),
    ]


COMMAND = ["--target", TARGET, "--simulate", "--", "python3", "-c", "print(1, 'x')"]


def test_run_calls_docker(
    installed: Checkout, host: Path, path: dict[str, str], engine: dict[str, str]
) -> None:
    result = installed.start("run", *COMMAND, env=path | engine)
    assert (result.code, result.err) == (7, "")
    assert result.out.splitlines() == words(host)


def test_print_and_run_use_the_same_command(
    checkout: Checkout, host: Path, path: dict[str, str]
) -> None:
    result = checkout.run("run", "--print", "--cards", "2", "-v", "/a b:/c", *COMMAND)
    result.accepted()
    printed = subprocess.run(
        ["/bin/bash", "-c", result.out], env=path, capture_output=True, text=True, check=False
    )
    assert printed.stdout.splitlines() == words(host, "--volume", "/a b:/c", cards=2)


@pytest.mark.slow
@pytest.mark.usefixtures("host")
def test_docker_is_not_installed(
    installed: Checkout, tmp_path: Path, engine: dict[str, str]
) -> None:
    result = installed.start("run", *COMMAND, env={"PATH": str(tmp_path), **engine})
    result.refused(6, "docker cannot be started: no such file or directory. 'bash setup.sh'")


@pytest.mark.usefixtures("host")
def test_an_unreachable_engine_is_reported(checkout: Checkout, path: dict[str, str]) -> None:
    result = checkout.run("run", *COMMAND, env=path)
    result.refused(6, "the container engine is not running: ")


@pytest.mark.usefixtures("host")
def test_all_problems_with_the_engine_are_reported_at_once(
    checkout: Checkout, tmp_path: Path, path: dict[str, str]
) -> None:
    with standin_engine(tmp_path, images={}, machine="riscv64") as address:
        result = checkout.run("run", *COMMAND, env={**path, "DOCKER_HOST": address})
    said = f"this machine has no {IMAGE}. Run: python build.py build {TARGET} --simulate"
    result.refused(6, "the engine's machine is riscv64 and does not emulate aarch64", said)


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("registry.example.com/a:arm", ""),
        ("registry.example.com/a:x86", "a:x86 has no image for linux/arm64; it has linux/amd64."),
        ("registry.example.com/a:none", "a:none does not exist. Check the name."),
    ],
)
def test_another_image(
    installed: Checkout, tmp_path: Path, path: dict[str, str], name: str, said: str
) -> None:
    registry = {"registry.example.com/a:arm": "arm64", "registry.example.com/a:x86": "amd64"}
    with standin_engine(tmp_path, images={}, registry=registry) as address:
        env = {**path, "DOCKER_HOST": address}
        result = installed.start("run", "--image", name, *COMMAND, env=env)
    if said:
        result.refused(6, said)
    else:
        assert (result.code, result.err) == (7, "")
        assert result.out.splitlines()[-4] == name


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--cards", "9"], "--cards 9 is more than this simulated host has, 8: 0, 1, 2, 3,"),
        (["--nodes", "2"], "is for one host, not for 2. Use --format k8s"),
        (["--shm-size", "lots"], "--shm-size: invalid size 'lots'."),
        (["-v", "/data"], "invalid mount '/data'. Write it as HOST:CONTAINER"),
        (["-v", "/a:/b:ro"], "Options of docker go after '--', as in: -- -v /a:/b:ro"),
        (["-v", "/a:/c", "-v", "/b:/c"], "--mount /b:/c: another --mount uses the same directory."),
        (["--image", "a b"], "invalid image name 'a b'."),
    ],
)
def test_invalid_options_are_refused(checkout: Checkout, arguments: list[str], said: str) -> None:
    before = checkout.state()
    checkout.run("run", *arguments, *COMMAND).refused(2, said)
    assert checkout.state() == before


@pytest.mark.parametrize("form", ["compose", "k8s", "volcano"])
@pytest.mark.parametrize("more", [[], ["--print"]])
def test_a_file_for_elsewhere_needs_nothing_of_this_host(
    original: Checkout, form: str, more: list[str]
) -> None:
    result = original.run("run", "--target", TARGET, "--format", form, *more, "--", "a", "$b")
    result.accepted()
    found = [*yaml.safe_load_all(result.out)]
    assert "a" in result.out
    assert found[-1].get("kind", "Job") == "Job"
    warned = "is a local name. Name an image in a registry with --image." in result.err
    assert warned == (form != "compose")


def test_a_command_for_a_shell_starts_one(original: Checkout) -> None:
    words = ["run", TARGET, "--print", "--elsewhere", "--image", "r.test/a:1"]
    assert "docker run \\\n  --interactive \\\n  --tty \\\n  --rm" in original.run(*words).out
    assert "--tty" not in original.run(*words, "--", "true").out


def test_the_command_for_another_host(original: Checkout, path: dict[str, str]) -> None:
    """It has all devices and mounts, whatever this host has, and none of this host's paths."""
    name = "registry.example.com/ascend:1"
    more = ["--cards", "2", "--image", name, "-v", "/data:/data", "--", "npu-smi"]
    result = original.run("run", "--target", TARGET, "--print", "--elsewhere", *more)
    result.accepted()
    assert result.err == ""
    printed = subprocess.run(
        ["/bin/bash", "-c", result.out], env=path, capture_output=True, text=True, check=False
    )
    assert printed.stdout.splitlines() == [
        *("run", "--rm", "--platform", "linux/arm64", "--shm-size", "16g"),
        *("--device", "/dev/davinci0", "--device", "/dev/davinci1"),
        *("--device", "/dev/davinci_manager", "--device", "/dev/devmm_svm"),
        *("--device", "/dev/hisi_hdc"),
        *(
            word
            for where in MOUNTS
            for word in ("--mount", f"type=bind,source={where},target={where},readonly")
        ),
        *("--volume", "/data:/data"),
        *("--env", "HCCL_CONNECT_TIMEOUT=7200", "--env", "HCCL_EXEC_TIMEOUT=7200"),
        *(name, "npu-smi"),
    ]
