# SPDX-License-Identifier: Apache-2.0
"""The steps of 'test --image', with containers that only write down what is asked of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cannery.common.errors import EngineError
from cannery.common.model import DeviceKind
from cannery.common.process import OutputError
from cannery.deploy.run_spec import RunSpec
from cannery.engine import client, containers
from cannery.verify import auditing, devices
from cannery.verify.audit.facts import ImageConfig, ImageFacts
from cannery.verify.audit.profiles import read_profiles
from cannery.verify.audit.report import Audit, Result, Standing
from cannery.verify.audit.user_checks import Ran, UserCheck
from cannery.verify.auditing import NoFactsError, Request, audit, probe, read_config, run_check
from cannery.verify.run_checks import CheckedImage
from cannery.verify.verification import Check
from tests.unit.audits import DERIVED, FOREIGN, OURS, PROJECT, dists, found_with, user_check

REAL = found_with(ascend={"simulated": []})

PASSED = Check(name="torch/test_torch.py::test_a", title="a", outcome="passed", why="")


class Machine:
    """An engine with one image."""

    def __init__(self, config: ImageConfig, found: ImageFacts | Exception) -> None:
        self.config, self.found = config, found
        self.pytest: list[tuple[str, list[str], dict[str, Any]]] = []
        self.ran: list[str] = []
        self.networks: list[str] = []
        self.checks = [
            Check(name="torch/test_torch.py::test_a", title="a", outcome="passed", why="")
        ]
        self.fails: EngineError | None = None

    @contextmanager
    def container(
        self, _: str, __: str, spec: RunSpec, __ca: Path | None, network: str
    ) -> Iterator[str]:
        self.networks.append(network)
        if self.fails:
            raise self.fails
        yield f"container-{spec.kind}"

    def probe(self, _: str) -> ImageFacts:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found

    def pytest_in(
        self,
        _: object,
        checked: CheckedImage,
        words: Sequence[str],
        *___: object,
        **____: object,
    ) -> tuple[Check, ...]:
        record = {}
        if "--record" in words:
            record = json.loads(Path(words[words.index("--record") + 1]).read_text())
        self.pytest.append((str(checked.kind), [*words], record))
        return tuple(self.checks)

    def run_check(self, _: str, check: UserCheck, __: str) -> Ran:
        self.ran.append(check.name)
        return Ran(code=0, output="", seconds=1, timed_out=False, peak_kib=1)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(OURS, found_with())
    monkeypatch.setattr(containers, "container", made.container)
    monkeypatch.setattr(auditing, "look_without_running", lambda _: ImageFacts())
    monkeypatch.setattr(auditing, "read_config", lambda _: made.config)
    monkeypatch.setattr(auditing, "hardware", lambda *_: "a machine")
    monkeypatch.setattr(auditing, "image_tests_in", made.pytest_in)
    for name in ("probe", "pytest_in", "run_check"):
        monkeypatch.setattr(auditing, name, getattr(made, name))
    monkeypatch.setattr(devices, "_host_for", lambda *_: Path("/host"))
    monkeypatch.setattr(devices, "npu_device", lambda: None)
    return made


def run(simulate: bool = True, **more: Any) -> Audit:
    return audit(PROJECT, Request(reference="mine:1", simulate=simulate, **more))


def on_cards(cards: int, command: str = "x") -> UserCheck:
    return user_check(f"on {cards}", command, seconds=20, cards=cards)


def failing(found: Audit) -> set[str]:
    return {each.check for each in found.failures}


def one(found: Audit, check: str) -> Result:
    [result] = [each for each in found.results if each.check == check]
    return result


@pytest.mark.parametrize(
    ("config", "origin"), [(OURS, "ours"), (DERIVED, "derived"), (FOREIGN, "foreign")]
)
def test_the_tests_for_each_origin(machine: Machine, config: ImageConfig, origin: str) -> None:
    machine.config = config
    found = run()
    assert (found.origin, found.standing) == (origin, Standing.PASSED)
    assert [kind for kind, *_ in machine.pytest] == ["none", "simulated"]
    for _, words, record in machine.pytest:
        assert words[words.index("--origin") + 1] == origin
        assert "--simulated" in words
        assert ("held" in record) == (origin != "foreign")
        assert record["components"]["torch"] == "2.3.1"
    assert {*found.hardware} == {DeviceKind.NONE, DeviceKind.SIMULATED}


def test_an_own_image_without_its_record_is_tested_as_any_other(machine: Machine) -> None:
    machine.found = found_with(own_record=[])
    run()
    assert "foreign" in machine.pytest[0][1]


def test_the_vendor_s_cann_needs_a_real_device(machine: Machine) -> None:
    machine.found = REAL
    found = run()
    assert [kind for kind, *_ in machine.pytest] == ["none"]
    assert "cannot use the simulated driver" in one(found, "device/used").text
    assert "This machine has no NPU" in one(run(simulate=False), "device/used").text


def test_a_real_device(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    npu = RunSpec(kind=DeviceKind.NPU, devices=("/dev/davinci0", "/dev/davinci_manager"))
    monkeypatch.setattr(devices, "npu_device", lambda: npu)
    machine.found = REAL
    run(simulate=False)
    assert [kind for kind, *_ in machine.pytest] == ["none", "npu"]
    machine.found = found_with()
    found = run(simulate=False)
    assert one(found, "device/used").fix == "Add --simulate."


def test_a_failed_image_test(machine: Machine) -> None:
    bad = Check(name="torch/test_torch.py::test_b", title="b", outcome="failed", why="no\nmore")
    other = "is checked in a container without a device"
    later = Check(
        name="torch/test_torch.py::test_c",
        title="c",
        outcome="not run",
        why=other,
        left_out="elsewhere",
    )
    absent = replace(later, name="x/test_x.py::test_d", left_out="component")
    machine.checks = [bad, later, absent]
    found = run(simulate=False)
    assert failing(found) == {"image/torch/test_torch.py::test_b"}
    assert not [each for each in found.results if "test_c" in each.check or "test_d" in each.check]


def test_users_checks(machine: Machine, tmp_path: Path) -> None:
    found = run(checks=tuple(map(on_cards, (0, 2, 99))), tests=tmp_path)
    assert machine.ran == ["on 0", "on 2"]
    assert one(found, "own/mine.yaml/on 99").standing is Standing.NOT_RUN
    folders = [words[0] for _, words, _ in machine.pytest]
    assert folders.count(str(tmp_path)) == 2
    assert {each.device for each in found.results if each.group == "own"} == {
        DeviceKind.NONE,
        DeviceKind.SIMULATED,
    }


def test_user_checks_without_a_device_are_not_run(machine: Machine, tmp_path: Path) -> None:
    machine.found = REAL
    why = "needs a device, and this run has none"
    waits = Check(name="test_x.py::test_d", title="d", outcome="not run", why=why, left_out="waits")
    machine.checks = [waits]
    found = run(checks=(on_cards(2),), tests=tmp_path)
    assert one(found, "own/mine.yaml/on 2").standing is Standing.NOT_RUN
    assert one(found, "own/test_x.py::test_d").standing is Standing.NOT_RUN


@pytest.mark.parametrize(("components", "folder"), [((), "."), (("torch",), "torch")])
def test_the_checks_of_all_components_or_of_one(
    machine: Machine, components: tuple[str, ...], folder: str
) -> None:
    run(components=components)
    assert machine.pytest[0][1][0] == str(PROJECT.root / "tests" / "image" / folder)


def test_a_hung_probe_is_a_failure(machine: Machine) -> None:
    machine.found = NoFactsError("the probe did not end in 300 s")
    found = run()
    assert found.standing is Standing.NOT_OURS
    assert "did not end in 300 s" in one(found, "image/probe").text
    assert failing(found) == {"image/probe"}
    assert machine.pytest == []


@pytest.mark.parametrize("starts", [True, False])
def test_an_image_without_a_shell(machine: Machine, starts: bool) -> None:
    # docker-init starts, and then finds no 'sleep'; without it, docker itself does.
    if starts:
        machine.found = NoFactsError("its last words: container 1 is not running")
    else:
        machine.fails = EngineError('exec: "sleep": executable file not found in $PATH')
    profile = read_profiles()["docker"]
    found = run(profiles=(profile,))
    assert "no program 'sleep'" in one(found, "image/probe").text
    assert failing(found) == {"image/probe", "profile/docker/sh"}


def test_a_failed_engine_is_an_error(machine: Machine) -> None:
    machine.fails = EngineError("the engine stopped answering")
    with pytest.raises(EngineError, match="stopped answering"):
        run()


def test_an_image_without_anything_for_an_npu_does_not_pass(machine: Machine) -> None:
    machine.config = FOREIGN
    machine.found = found_with(distributions=dists(torch_npu=None), ascend={"homes": {}})
    found = run(simulate=False)
    assert (found.standing, found.failures) == (Standing.NOT_OURS, ())


def test_a_chip_and_strictness_reach_the_checks(machine: Machine) -> None:
    machine.found = found_with(distributions=dists(torch_npu="2.3.1.post99"))
    machine.config = replace(FOREIGN, reference="x")
    assert failing(run(chip="a3")) == {"kernels/chip"}
    assert failing(run(chip="910b", strict=True)) == {"compat/torch_npu"}


MEASURED = on_cards(2, "echo $ASCEND_RT_VISIBLE_DEVICES; exit 4")
Docker = Callable[[str], None]


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Docker:
    def install(script: str) -> None:
        path = tmp_path / "docker"
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)

    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return install


EXEC = """
shift
while [ "${1#--env}" != "$1" ]; do export "$2"; shift 2; done
shift
exec "$@"
"""
"""Does on this machine what 'docker exec' would do in a container."""


def test_a_whole_probe(docker: Docker) -> None:
    docker(EXEC)
    assert probe("c").programs["sh"]


def test_no_shell(docker: Docker) -> None:
    docker("""echo 'exec: "sh": executable file not found in $PATH' >&2; exit 127""")
    with pytest.raises(NoFactsError, match="executable file not found"):
        probe("c")


def test_a_probe_has_a_time_limit(docker: Docker) -> None:
    docker("echo begun; exec sleep 60")
    with pytest.raises(NoFactsError, match="did not end in 0 s"):
        probe("c", seconds=0.3)


def test_a_command_is_measured(docker: Docker) -> None:
    docker(EXEC)
    ran = run_check("c", MEASURED, sys.executable)
    assert (ran.code, ran.output, ran.timed_out) == (4, "0,1\n", False)
    assert ran.peak_kib > 0


def test_a_command_in_an_image_without_python(docker: Docker) -> None:
    docker(EXEC)
    ran = run_check("c", MEASURED, "")
    assert (ran.code, ran.output, ran.peak_kib) == (4, "0,1\n", -1)


def test_a_lost_container_fails_the_check(docker: Docker) -> None:
    docker("echo 'No such container: c' >&2; exit 1")
    ran = run_check("c", MEASURED, "python3")
    assert (ran.code, ran.output) == (1, "No such container: c\n")


def test_docker_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match="docker is not installed"):
        probe("c")


def test_a_missing_image_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "image_details", lambda _: {})
    with pytest.raises(EngineError, match=r"there is no image mine:1 here\. .*docker pull mine:1"):
        read_config("mine:1")


def test_an_endless_answer_of_the_image_is_no_fact(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*_: object) -> None:
        raise OutputError("docker")

    monkeypatch.setattr(auditing, "run_within", endless)
    with pytest.raises(NoFactsError, match="the probe printed without end"):
        probe("c1")
    ran = run_check("c1", user_check("a", "yes"), "")
    assert ran.code == -1
    assert "printed more than 64 MB" in ran.output


def test_a_foreign_image_has_no_network_unless_one_is_named(machine: Machine) -> None:
    audit(PROJECT, Request(reference="x"))
    audit(PROJECT, Request(reference="x", network="bridge"))
    assert {*machine.networks[: len(machine.networks) // 2]} == {"none"}
    assert machine.networks[-1] == "bridge"
