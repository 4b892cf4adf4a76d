# SPDX-License-Identifier: Apache-2.0
"""Runs of the image tests, and which results say something about the image."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cannery.common.errors import CanneryError, EngineError, VerificationError
from cannery.common.model import DeviceKind, Target
from cannery.deploy.run_spec import RunSpec, no_device, simulated_device
from cannery.engine import containers
from cannery.matrix.project import Project
from cannery.verify import run_checks
from cannery.verify import run_checks as verify
from cannery.verify.results import report_path, report_text
from cannery.verify.run_checks import Subject
from cannery.verify.verification import Check, DeviceRun, Verification
from tests.unit.matrices import CHECKOUT, Checkout, load

NPU = RunSpec(kind=DeviceKind.NPU)
SIMULATED = simulated_device(Path("/host"))
PASSED = Check(name="os/test_os.py::test_a", title="it is", outcome="passed", why="")
MARKERS = [
    ("label io.cannery.simulated=true",),
    ("/usr/local/Ascend/simulated",),
    ("/usr/local/lib/python3.9/dist-packages/apex/SIMULATED",),
]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(root=tmp_path)


@pytest.fixture
def target(tmp_path: Path) -> Target:
    return load(tmp_path).targets["full"]


class Image:
    """An image that passes every check."""

    def __init__(self, signs: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
        self.signs = signs
        self.asked: list[Subject] = []
        self.checks: tuple[Check, ...] = (PASSED,)
        monkeypatch.setattr(run_checks, "verify", self.verify)
        monkeypatch.setattr(run_checks, "stand_ins", lambda *_: self.signs)

    def verify(
        self, _: Project, subject: Subject, specs: Sequence[RunSpec], **__: Any
    ) -> Verification:
        self.asked.append(subject)
        runs = tuple(DeviceRun(device=spec.kind, checks=self.checks) for spec in specs)
        return Verification(
            target=subject.target.id,
            image=subject.name,
            image_id=subject.image,
            runs=runs,
            simulated=subject.simulated,
        )


def run(project: Project, target: Target, name: str, *specs: RunSpec) -> None:
    run_checks.check(
        project,
        Subject(target=target, image="sha256:1", name=name),
        [no_device(), *specs],
        run_checks.ImageChecks(),
    )


@pytest.mark.parametrize("signs", MARKERS)
@pytest.mark.parametrize("specs", [(), (NPU,)], ids=["no NPU", "NPU"])
def test_a_simulated_image_is_not_checked_as_a_real_one(
    project: Project,
    target: Target,
    monkeypatch: pytest.MonkeyPatch,
    signs: tuple[str, ...],
    specs: tuple[RunSpec, ...],
) -> None:
    image = Image(signs, monkeypatch)
    with pytest.raises(VerificationError) as caught:
        run(project, target, "cannery:full", *specs)
    assert str(caught.value) == (
        f"cannery:full is a simulated image ({signs[0]}) and needs --simulate. "
        "Check it on the simulated device: "
        "python build.py test --target full --image cannery:full --simulate"
    )
    assert image.asked == []
    assert not (project.state / "reports").exists()


def test_a_real_image_is_not_checked_on_the_simulated_device(
    project: Project, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = Image((), monkeypatch)
    with pytest.raises(VerificationError) as caught:
        run(project, target, "cannery:full", SIMULATED)
    assert str(caught.value) == (
        "cannery:full is not a simulated image, and Huawei's CANN cannot use the simulated "
        "driver. Leave out --simulate."
    )
    assert image.asked == []
    assert not (project.state / "reports").exists()


@pytest.mark.parametrize("simulated", [True, False])
def test_the_report_names_a_simulated_image(
    project: Project,
    target: Target,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    simulated: bool,
) -> None:
    image = Image(MARKERS[0] if simulated else (), monkeypatch)
    name = "cannery:full-sim" if simulated else "cannery:full"
    run(project, target, name, *([SIMULATED] if simulated else []))
    [asked] = image.asked
    assert asked.simulated is simulated
    report = json.loads(report_text(project, name))
    assert report["simulated"] is simulated
    assert ("full (simulated image)" in capsys.readouterr().err) is simulated


def test_the_report_on_another_image_has_a_place_of_its_own(
    project: Project, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    Image(MARKERS[0], monkeypatch)
    names = ["cannery:full-sim", "cannery/full-sim", "cannery_full-sim", "cannery:bare-sim"]
    for name in names:
        run(project, target, name, SIMULATED)
    reports = [report_path(project, target, name, simulated=True) for name in names]
    assert [json.loads(path.read_text("utf-8"))["image"] for path in reports] == names
    own, *others = reports
    assert own == project.state / "reports" / "cannery_full-sim.json"
    assert len({*others}) == 3
    assert {path.parent for path in others} == {project.state / "reports" / "others"}


def test_a_simulated_image_under_the_name_of_the_real_one_replaces_no_report(
    project: Project, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    Image((), monkeypatch)
    run(project, target, "cannery:full")
    before = report_text(project, "cannery:full")
    assert json.loads(before)["simulated"] is False
    Image(MARKERS[0], monkeypatch)
    run(project, target, "cannery:full", SIMULATED)
    assert report_text(project, "cannery:full") == before


def test_a_report_on_some_components_replaces_no_full_one(
    project: Project, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    Image((), monkeypatch)
    run(project, target, "cannery:full")
    before = report_text(project, "cannery:full")
    subject = Subject(target=target, image="sha256:2", name="cannery:full")
    options = run_checks.ImageChecks(only=["os"])
    run_checks.check(project, subject, [no_device()], options)
    assert report_text(project, "cannery:full") == before
    apart = report_path(project, target, "cannery:full", simulated=False, only=["os"])
    assert json.loads(apart.read_text("utf-8"))["image_id"] == "sha256:2"


@pytest.mark.parametrize("outcome", ["not run", None])
def test_an_image_of_which_nothing_was_checked_is_refused(
    project: Project, target: Target, monkeypatch: pytest.MonkeyPatch, outcome: str | None
) -> None:
    """As with ``--component`` for a component that the target does not have."""
    image = Image((), monkeypatch)
    image.checks = (replace(PASSED, outcome=outcome),) if outcome else ()
    with pytest.raises(VerificationError, match="full: no check was run on cannery:full"):
        run(project, target, "cannery:full")
    assert not (project.state / "reports").exists()


def test_the_same_image_checked_as_another_target_has_another_report(tmp_path: Path) -> None:
    project, targets = Project(root=tmp_path), load(tmp_path).targets
    paths = {
        report_path(project, target, name, simulated=False)
        for target in targets.values()
        for name in ("cannery:full", "cannery:bare", "sha256:1")
    }
    assert len(paths) == 6


CHECKED = verify.CheckedImage(container="c1", kind=DeviceKind.NONE, name="tiny")
ONE = {"title": "a check", "outcome": "failed", "why": "no"}


def ends(monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    """Let a check fail, in a container that is then in ``state``."""

    def run(argv: Sequence[str], **_: object) -> tuple[int, str]:
        report = Path(argv[argv.index("--report") + 1])
        report.write_text(json.dumps({"os/test_os.py::test": ONE}), encoding="utf-8")
        return 1, ""

    def check_running(container: str) -> None:
        if state != "running":
            raise EngineError(f"the container {container} is not running: it is {state}.")

    monkeypatch.setattr(verify, "run", run)
    monkeypatch.setattr(containers, "check_running", check_running)


def test_a_failed_check_is_one_of_the_image(
    monkeypatch: pytest.MonkeyPatch, checkout: Checkout
) -> None:
    ends(monkeypatch, "running")
    [check] = verify.pytest_in(checkout.project, CHECKED, [])
    assert check.outcome == "failed"


def test_the_container_was_stopped_meanwhile(
    monkeypatch: pytest.MonkeyPatch, checkout: Checkout
) -> None:
    ends(monkeypatch, "exited")
    with pytest.raises(EngineError, match=r"broken off.*c1 is not running: it is exited"):
        verify.pytest_in(checkout.project, CHECKED, [])


def test_a_report_without_its_end_is_an_error(
    monkeypatch: pytest.MonkeyPatch, checkout: Checkout
) -> None:
    """As on a disk that is full."""

    def run(argv: Sequence[str], **_: object) -> tuple[int, str]:
        Path(argv[argv.index("--report") + 1]).write_text('{"os/test', encoding="utf-8")
        return 0, "OSError: [Errno 28] No space left on device"

    monkeypatch.setattr(verify, "run", run)
    with pytest.raises(CanneryError, match=r"could not be run(.|\n)*No space left on device"):
        verify.pytest_in(checkout.project, CHECKED, [])


@pytest.mark.parametrize("without_compiler", [True, False])
def test_an_image_without_a_compiler_is_not_checked_for_one(
    monkeypatch: pytest.MonkeyPatch, checkout: Checkout, *, without_compiler: bool
) -> None:
    asked: list[str] = []

    def run(argv: Sequence[str], **_: object) -> tuple[int, str]:
        asked.extend(argv)
        Path(argv[argv.index("--report") + 1]).write_text("{}", encoding="utf-8")
        return 0, ""

    monkeypatch.setattr(verify, "run", run)
    target = replace(checkout.matrix.targets["full"], without_compiler=without_compiler)
    subject = verify.Subject(target=target, image="sha256:1", name="full")
    verify.checks_in(checkout.project, subject, "c1", DeviceKind.NONE)
    left_out = [word.partition("=")[2] for word in asked if word.startswith("--deselect=")]
    assert len(left_out) == without_compiler
    for name in left_out:
        path, _, check = name.partition("::")
        assert f"def {check}(" in (CHECKOUT / path).read_text(encoding="utf-8")
