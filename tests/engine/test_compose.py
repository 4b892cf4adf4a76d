# SPDX-License-Identifier: Apache-2.0
"""Compose files as Compose itself reads them, and one that runs a real image."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cannery.common.model import DeviceKind, Target
from cannery.deploy import formats
from cannery.deploy.run_spec import DRIVER_MOUNTS, MANAGEMENT_DEVICES
from cannery.deploy.workload import CHIPS, Workload
from cannery.matrix.project import Project
from cannery.verify.run_checks import Subject, checks_in
from tests.programs import need_compose

from .conftest import ROOT, Built

EVERY = Project(root=ROOT).matrix().targets
# One for each chip and each application: a Compose file has nothing of what the others differ in.
TARGETS = {
    target.id: target
    for target in {
        (each.chip, each.application.name if each.application else ""): each
        for each in EVERY.values()
    }.values()
}
SHOW_ARGUMENTS = "import json, sys; print(json.dumps(sys.argv[1:]))"
ODD = [
    *("$HOME", "${HOME}", "$$", "$", "${", "it's", '"quoted"', "a b", "line\nline", "\\n", "", " "),
    *("~", "y", "0o7", "1e3", "- a", "a: b", "#x", "{{x}}", "*", "é\u2028", "\t", "--", "$(date)"),
]


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    need_compose()


def compose(file: Path, *words: str, project: str = "") -> str:
    argv = ["docker", "compose", "--file", str(file)]
    argv += ["--project-name", project] if project else []
    done = subprocess.run([*argv, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def read(folder: Path, text: str) -> dict[str, Any]:
    """The only service of ``text``, as Compose reads it."""
    file = folder / "compose.yaml"
    file.write_text(text, encoding="utf-8")
    [service] = json.loads(compose(file, "config", "--format", "json"))["services"].values()
    found: dict[str, Any] = service
    return found


def meant(value: str) -> str:
    """What ``config``, which writes a file that can be read again, means by ``value``."""
    return value.replace("$$", "$")


@pytest.mark.parametrize("name", TARGETS)
def test_compose_accepts_every_target(tmp_path: Path, name: str) -> None:
    target = TARGETS[name]
    for cards in (1, next(iter(CHIPS[target.chip].hosts))):
        service = read(
            tmp_path,
            formats.text(
                "compose", Workload(image="a:b", target=target, cards=tuple(range(cards)))
            ),
        )
        assert service["image"] == "a:b"
        assert service["platform"] == target.platform
        assert service["shm_size"] == str(16 * 2**30)
        sources = [each["source"] for each in service["devices"]]
        assert sources == [*(f"/dev/davinci{card}" for card in range(cards)), *MANAGEMENT_DEVICES]
        mounts = {each["target"]: each for each in service["volumes"]}
        assert all(mounts[path]["read_only"] for path in DRIVER_MOUNTS)
        assert not any(
            mounts[path].get("bind", {}).get("create_host_path") for path in DRIVER_MOUNTS
        )
        folders = {*target.application.volumes.values()} if target.application else set()
        assert {*mounts} == {*DRIVER_MOUNTS, *folders}
        ports = [each["published"] for each in service.get("ports", [])]
        assert ports == [*(target.application.ports if target.application else ())]
        assert ("HCCL_CONNECT_TIMEOUT" in service.get("environment", {})) == (cards > 1)


@pytest.mark.parametrize("name", TARGETS)
def test_compose_accepts_the_runtime_and_the_simulated_host(tmp_path: Path, name: str) -> None:
    more: dict[str, Any] = {"image": "a:b", "target": TARGETS[name], "cards": (0, 1)}
    service = read(tmp_path, formats.text("compose", Workload(runtime="ascend", **more)))
    assert service["runtime"] == "ascend"
    assert service["environment"]["ASCEND_VISIBLE_DEVICES"] == "0-1"
    service = read(
        tmp_path, formats.text("compose", Workload(simulate_host=Path("/a $host"), **more))
    )
    assert meant(service["volumes"][0]["source"]) == f"/a $host{DRIVER_MOUNTS[0]}"
    assert "devices" not in service


@given(
    words=st.lists(
        st.sampled_from(ODD)
        | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=9),
        min_size=1,
        max_size=6,
    )
)
@settings(deadline=None, max_examples=60)
def test_compose_reads_the_command_unchanged(
    tmp_path_factory: pytest.TempPathFactory, words: list[str]
) -> None:
    target = EVERY["py39-torch231-cann8t39"]
    text = formats.text("compose", Workload(image="a:b", target=target, command=tuple(words)))
    service = read(tmp_path_factory.mktemp("words"), text)
    assert [meant(word) for word in service["command"]] == words


@contextmanager
def project_of(
    main: Built,
    folder: Path,
    *,
    host: Path | None = None,
    cards: int = 1,
    command: Sequence[str] = (),
) -> Iterator[tuple[Path, str]]:
    """A compose file for the simulated image, and a project's name; all is taken down."""
    file, project = folder / "compose.yaml", f"cannery-test-{os.getpid()}"
    host = host or main.simulated.host
    workload = Workload(
        image=main.image,
        target=main.target,
        simulate_host=host,
        cards=tuple(range(cards)),
        command=tuple(command),
    )
    text = formats.text("compose", workload)
    file.write_text(text, encoding="utf-8")
    try:
        yield file, project
    finally:
        compose(file, "down", "--volumes", "--timeout", "0", project=project)
        left = ["docker", "ps", "--all", "--quiet", "--filter"]
        left += [f"label=com.docker.compose.project={project}"]
        done = subprocess.run(left, capture_output=True, text=True, check=True)
        assert done.stdout == "", "a container is left"


def test_a_compose_container_passes_the_image_tests(
    main: Built, project: Project, tmp_path: Path
) -> None:
    target: Target = main.target
    with project_of(main, tmp_path, cards=8) as (file, name):
        compose(file, "up", "--detach", "--pull", "never", project=name)
        [container] = compose(file, "ps", "--quiet", project=name).split()
        subject = Subject(target=target, image=main.image, name=main.image, simulated=True)
        checks = checks_in(project, subject, container, DeviceKind.SIMULATED)
    failed = {check.name: check.why for check in checks if check.outcome == "failed"}
    assert not failed
    passed = {check.name.split("/")[0] for check in checks if check.outcome == "passed"}
    assert {"driver", "torch_npu", "deepspeed"} <= passed


def test_a_compose_container_gets_its_command_unchanged(main: Built, tmp_path: Path) -> None:
    command = ["python3", "-c", SHOW_ARGUMENTS, *ODD]
    with project_of(main, tmp_path, command=command) as (file, name):
        said = compose(file, "run", "--rm", "--no-TTY", "ascend", project=name)
    assert json.loads(said) == ODD


def test_the_driver_is_found_in_a_folder_of_any_name(main: Built, tmp_path: Path) -> None:
    host = tmp_path / """a, "b" $c 'd'"""
    shutil.copytree(main.simulated.host, host)
    more: dict[str, Any] = {"image": main.image, "target": main.target, "simulate_host": host}
    command = ["npu-smi", "info"]
    text = formats.text("shell", Workload(**more, command=tuple(command)))
    done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "910B3" in done.stdout
    with project_of(main, tmp_path, host=host, command=command) as (file, name):
        assert "910B3" in compose(file, "run", "--rm", "--no-TTY", "ascend", project=name)
