# SPDX-License-Identifier: Apache-2.0
"""The problems of a host before an image runs there, on made-up hosts."""

from __future__ import annotations

import stat
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from cannery.common.errors import EngineError, Problem
from cannery.common.model import Target
from cannery.deploy.run_spec import DRIVER, MANAGEMENT_DEVICES, cards_of
from cannery.deploy.workload import Workload, run_spec
from cannery.engine import builder as buildx
from cannery.engine import client as engine
from cannery.engine import preflight as host
from cannery.engine.preflight import is_older, judge_driver
from cannery.matrix.project import Project
from tests.unit.matrices import CHECKOUT

PROJECT = Project(root=CHECKOUT)
TARGET = PROJECT.matrix().targets["py39-torch251-cann81rc1-vllm073"]
WORKLOAD = Workload(image="registry.example.com/ascend:tag", target=TARGET, cards=(0, 1))
COMPAT = PROJECT.compat()
BUILD = "python build.py --target x"


@dataclass
class Engine:
    """Answers as an engine would, in its place."""

    machine: str = "aarch64"
    platforms: tuple[str, ...] = ("linux/amd64",)
    runtimes: frozenset[str] = frozenset({"runc"})
    images: dict[str, str] = field(default_factory=lambda: {WORKLOAD.image: "arm64"})
    why: Problem | None = None
    asked: list[tuple[str, str]] = field(default_factory=list)
    dead: bool = False
    signs: tuple[str, ...] = ()
    """What says that the image is simulated."""

    def machine_and_runtimes(self) -> tuple[str, frozenset[str]]:
        if self.dead:
            raise EngineError(Problem(what="the container engine does not answer.", fix="Start it"))
        return self.machine, self.runtimes

    def image_details(self, reference: str) -> dict[str, str]:
        known = reference in self.images
        return {"Id": "sha256:1", "Architecture": self.images[reference]} if known else {}

    def stand_ins(self, *_: object) -> tuple[str, ...]:
        return self.signs

    def why_not_pulled(self, reference: str, platform: str) -> Problem | None:
        self.asked.append((reference, platform))
        return self.why


@pytest.fixture
def docker(monkeypatch: pytest.MonkeyPatch) -> Engine:
    made = Engine()
    for name in ("machine_and_runtimes", "image_details", "why_not_pulled"):
        monkeypatch.setattr(engine, name, getattr(made, name))
    monkeypatch.setattr(host, "stand_ins", made.stand_ins)
    monkeypatch.setattr(buildx, "node_platforms", lambda: (made.platforms,))
    return made


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A host with two cards and everything that goes with them."""
    (tmp_path / "dev").mkdir()
    for path in ("/dev/davinci0", "/dev/davinci1", *MANAGEMENT_DEVICES):
        (tmp_path / path[1:]).symlink_to("/dev/null")
    (tmp_path / DRIVER[1:] / "lib64").mkdir(parents=True)
    (tmp_path / DRIVER[1:] / "version.info").write_text("Version=25.0.RC1\n")
    for name in ("usr/local/dcmi", "usr/local/bin", "etc"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "usr/local/bin/npu-smi").touch()
    (tmp_path / "etc/ascend_install.info").touch()
    (tmp_path / "proc/sys/fs/binfmt_misc").mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text("MemTotal:       33554432 kB\nMemFree: 1 kB\n")
    return tmp_path


def local_images(
    root: Path, workload: Workload = WORKLOAD, build: str = "", **more: Any
) -> host.Findings:
    return host.check_host(workload, COMPAT, build=build, root=root, **more)


def said(found: host.Findings) -> list[str]:
    return [str(problem) for problem in found.problems]


def test_nothing_is_wrong(root: Path, docker: Engine) -> None:
    assert local_images(root) == host.Findings(problems=(), notes=())
    assert docker.asked == []


def test_all_problems_are_reported_at_once(tmp_path: Path, docker: Engine) -> None:
    docker.machine, docker.images = "x86_64", {}
    found = said(local_images(tmp_path, replace(WORKLOAD, runtime="ascend"), BUILD))
    devices = ("/dev/davinci0", "/dev/davinci1", *MANAGEMENT_DEVICES)
    expected = [
        *(
            f"{path} is missing. Check that the NPU driver of this host is loaded."
            for path in devices
        ),
        "/usr/local/Ascend/driver/lib64 is missing: images contain no driver and use that of the",
        f"the engine's machine is x86_64 and does not emulate aarch64, which {TARGET.id} is for.",
        "the engine has no runtime 'ascend'; it has runc. Install ascend-docker-runtime, or",
        f"this machine has no {WORKLOAD.image}. Run: {BUILD}",
    ]
    assert len(found) == len(expected)
    for message, beginning in zip(found, expected, strict=True):
        assert message.startswith(beginning)


def no_device(path: Path) -> None:
    path.unlink()
    path.touch()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            Path.unlink,
            "/dev/hisi_hdc is missing. Check that the NPU driver of this host is loaded.",
        ),
        (no_device, "/dev/hisi_hdc is not a device. Containers need a device there"),
    ],
)
def test_a_missing_or_invalid_device_is_a_problem(
    root: Path, docker: Engine, spoil: Callable[[Path], None], message: str
) -> None:
    spoil(root / "dev/hisi_hdc")
    [problem] = said(local_images(root))
    assert problem.startswith(message)


def test_an_inaccessible_device_is_a_problem(
    root: Path, docker: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stat, "S_ISCHR", bool)
    no_device(root / "dev/davinci1")
    (root / "dev/davinci1").chmod(0o400)
    assert said(local_images(root)) == [
        (
            "/dev/davinci1 has no permission for its owner to read and write. "
            "Containers need a device there: check the driver of this host."
        )
    ]


def test_a_too_old_driver_is_a_problem(root: Path, docker: Engine) -> None:
    (root / DRIVER[1:] / "version.info").write_text("Version=24.1.rc3\n")
    [problem] = said(local_images(root))
    assert "the driver of this host is 24.1.rc3, but CANN 8.1.RC1 needs 25.0.RC1" in problem


def test_a_driver_without_a_version_is_a_note(root: Path, docker: Engine) -> None:
    (root / DRIVER[1:] / "version.info").unlink()
    found = local_images(root)
    assert found.problems == ()
    assert found.notes == (f"{DRIVER}/version.info does not contain the version of the driver.",)


def test_a_missing_optional_mount_is_a_note(root: Path, docker: Engine) -> None:
    (root / "etc/ascend_install.info").unlink()
    found = local_images(root)
    assert found.problems == ()
    assert found.notes == (
        "this host has no /etc/ascend_install.info, so the container does not get it.",
    )
    spec = host.devices_here(WORKLOAD, root)
    assert spec
    assert "/etc/ascend_install.info" not in spec.mounts
    assert len(spec.mounts) == 3


def test_more_shared_memory_than_there_is_memory(root: Path, docker: Engine) -> None:
    options = replace(WORKLOAD, shm_size="33g")
    assert said(local_images(root, options)) == [
        (
            "this host has 32.0 GiB of memory, but 33g of shared memory were requested. "
            "Request less with --shm-size."
        )
    ]
    docker.signs = ("label",)
    found = local_images(root, replace(options, simulate_host=Path("/sim")))
    docker.signs = ()
    assert found.problems == ()
    assert len(found.notes) == 1
    assert local_images(root, replace(WORKLOAD, shm_size="32g")).problems == ()


@pytest.mark.parametrize("text", ["", "MemTotal:\n", "MemTotal: x kB\n", "\xff"])
def test_unreadable_host_memory_is_no_problem(root: Path, docker: Engine, text: str) -> None:
    (root / "proc/meminfo").write_text(text, encoding="latin-1")
    assert local_images(root, replace(WORKLOAD, shm_size="999g")).problems == ()


def test_another_machine_with_an_emulator(root: Path, docker: Engine) -> None:
    docker.machine = "x86_64"
    assert len(local_images(root).problems) == 1
    docker.platforms = ("linux/amd64", "linux/amd64/v2", "linux/arm64")
    assert local_images(root).problems == ()


def test_a_missing_engine_is_reported_with_other_problems(root: Path, docker: Engine) -> None:
    docker.dead = True
    (root / "dev/devmm_svm").unlink()
    assert said(local_images(root, build=BUILD)) == [
        "/dev/devmm_svm is missing. Check that the NPU driver of this host is loaded.",
        "the container engine does not answer. Start it",
    ]


def test_the_runtime_is_there(root: Path, docker: Engine) -> None:
    docker.runtimes = frozenset({"runc", "ascend"})
    options = replace(WORKLOAD, runtime="ascend")
    assert local_images(root, options).problems == ()
    spec = run_spec(options, host.devices_here(options, root))
    assert (spec.runtime, spec.devices) == ("ascend", ())
    assert [*spec.mounts] == [f"{DRIVER}/version.info", "/etc/ascend_install.info"]


def test_an_image_for_another_machine(root: Path, docker: Engine) -> None:
    docker.images = {WORKLOAD.image: "amd64"}
    assert said(local_images(root)) == [
        f"{WORKLOAD.image} is for amd64, but {TARGET.id} is for arm64. Name another image."
    ]


def test_a_simulated_image_cannot_use_npus(root: Path, docker: Engine) -> None:
    docker.signs = ("/usr/local/Ascend/simulated",)
    assert said(local_images(root)) == [
        (
            f"{WORKLOAD.image} is a simulated image (/usr/local/Ascend/simulated) and cannot use"
            " an NPU. Add --simulate to run it on the simulated device, or name another image."
        )
    ]
    docker.signs = ()
    assert local_images(root).problems == ()


def test_a_real_image_cannot_use_the_simulated_device(root: Path, docker: Engine) -> None:
    options = replace(WORKLOAD, simulate_host=Path("/sim"))
    assert said(local_images(root, options)) == [
        (
            f"{WORKLOAD.image} is not a simulated image, and Huawei's CANN cannot use the"
            " simulated driver. Leave out --simulate."
        )
    ]
    docker.signs = ("label io.cannery.simulated=true",)
    assert local_images(root, options).problems == ()


def test_a_host_whose_driver_is_simulated_has_no_npu(root: Path, docker: Engine) -> None:
    (root / DRIVER[1:] / "SIMULATED").touch()
    [problem] = said(local_images(root))
    assert problem.startswith(f"the driver of this host is simulated ({DRIVER}/SIMULATED)")
    assert problem.endswith("Install Huawei's driver, or add --simulate.")


def test_a_local_name_is_never_asked_of_a_registry(root: Path, docker: Engine) -> None:
    """Somebody else's image may have that name there."""
    docker.images = {}
    assert said(local_images(root, build=BUILD)) == [
        f"this machine has no {WORKLOAD.image}. Run: {BUILD}"
    ]
    assert docker.asked == []


def test_a_pullable_image_is_no_problem(root: Path, docker: Engine) -> None:
    docker.images = {}
    assert local_images(root).problems == ()
    assert docker.asked == [(WORKLOAD.image, "linux/arm64")]
    docker.why = Problem(what="it does not exist.", fix="Check the name.")
    assert said(local_images(root)) == ["it does not exist. Check the name."]


def test_a_simulated_host_has_its_devices_in_the_tree(tmp_path: Path, docker: Engine) -> None:
    options = replace(WORKLOAD, simulate_host=Path("/sim"), runtime="ascend")
    docker.signs = ("label",)
    assert local_images(tmp_path, options) == host.Findings(problems=(), notes=())
    assert host.devices_here(options, tmp_path) is None


def test_cards_are_counted_in_their_order(root: Path) -> None:
    for name in ("davinci10", "davinci2", "davinci_x", "davinci3.bak"):
        (root / "dev" / name).touch()
    assert cards_of(root) == (0, 1, 2, 10)
    assert cards_of(root / "nowhere") == ()


ORDER = ["23.0.rc1", "23.0.rc2.b090", "23.0.rc2.b100", "24.1.rc1", "24.1.rc3", "24.1.0", "24.1.0.1"]
ORDER += ["25.0", "25.0.RC1", "25.0.RC2", "25.0.0", "25.2.0", "25.3.RC1", "25.5.0", "25.10.0"]


@pytest.mark.parametrize("number", range(len(ORDER)))
def test_versions_have_an_order(number: int) -> None:
    for earlier in ORDER[:number]:
        if {earlier, ORDER[number]} == {"24.1.0", "24.1.0.1"}:
            continue  # a build is compared where both have one
        assert is_older(earlier, ORDER[number]) is True
        assert is_older(ORDER[number], earlier) is False
    assert is_older(ORDER[number], ORDER[number]) is False


def test_a_build_is_not_older_than_its_release() -> None:
    assert is_older("23.0.rc2.b010", "23.0.rc2") is False
    assert is_older("24.1.RC3", "24.1.rc3") is False


@pytest.mark.parametrize("version", ["", "unknown", "v1", "25"])
def test_an_invalid_version_is_not_compared(version: str) -> None:
    assert is_older(version, "25.0.RC1") is None


def cann(target: Target, version: str) -> Target:
    return replace(target, cann=replace(target.cann, version=version))


def test_a_driver_too_old_for_every_source_is_a_problem() -> None:
    found = judge_driver("24.1.rc3", TARGET, COMPAT)
    assert isinstance(found, Problem)
    assert "is 24.1.rc3, but CANN 8.1.RC1 needs 25.0.RC1 or newer (" in found.what
    assert "compat.yaml:" in found.what
    assert "Update the driver" in found.fix


def test_a_driver_on_which_sources_disagree_is_let_through_with_a_word() -> None:
    found = judge_driver("25.1.0", cann(TARGET, "8.5.0"), COMPAT)
    assert isinstance(found, str)
    assert "needs 25.5.0 or newer" in found
    assert "other sources accept this driver" in found
    assert isinstance(judge_driver("24.1.0", cann(TARGET, "8.5.0"), COMPAT), Problem)


def test_an_interim_build_is_judged_as_the_release_nearest_to_it() -> None:
    release = replace(TARGET.cann, version="8.1.T1", interim=True, nearest_public="8.1.RC1")
    assert isinstance(judge_driver("24.1.rc3", replace(TARGET, cann=release), COMPAT), Problem)


def test_an_unknown_minimum_driver_is_a_note() -> None:
    found = judge_driver("24.1.rc3", cann(TARGET, "8.0.0"), COMPAT)
    assert found == "no source names the oldest driver for CANN 8.0.0; this host has 24.1.rc3."


def test_a_driver_newer_than_any_tested_is_accepted_with_a_note() -> None:
    target = cann(TARGET, "9.1.0")
    assert judge_driver("26.1.0", target, COMPAT) == ""
    found = judge_driver("27.0.0", target, COMPAT)
    assert isinstance(found, str)
    assert found.startswith("the driver of this host is 27.0.0, and the newest that is known to ")
    assert "work with CANN 9.1.0 is 26.1.1 (hicann/release-management" in found
    assert isinstance(judge_driver("25.0.1", target, COMPAT), Problem)


def test_a_driver_version_of_unknown_format_is_accepted_with_a_note() -> None:
    found = judge_driver("custom", TARGET, COMPAT)
    assert found == "the driver version of this host, 'custom', has an unknown format."
