# SPDX-License-Identifier: Apache-2.0
"""Checks that fail because their container has ended say nothing about the image."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cannery.common.errors import CanneryError, EngineError
from cannery.common.model import DeviceKind
from cannery.engine import containers
from cannery.verify import run_checks as verify
from tests.unit.matrices import CHECKOUT, Checkout

ONE = {"title": "a check", "outcome": "failed", "why": "no"}


def fails(monkeypatch: pytest.MonkeyPatch, state: str) -> None:
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
    fails(monkeypatch, "running")
    [check] = verify.pytest_in(checkout.project, "c1", DeviceKind.NONE, [])
    assert check.outcome == "failed"


def test_the_container_was_stopped_meanwhile(
    monkeypatch: pytest.MonkeyPatch, checkout: Checkout
) -> None:
    fails(monkeypatch, "exited")
    with pytest.raises(EngineError, match=r"broken off.*c1 is not running: it is exited"):
        verify.pytest_in(checkout.project, "c1", DeviceKind.NONE, [])


def test_a_report_without_its_end_is_an_error(
    monkeypatch: pytest.MonkeyPatch, checkout: Checkout
) -> None:
    """As on a disk that is full."""

    def run(argv: Sequence[str], **_: object) -> tuple[int, str]:
        Path(argv[argv.index("--report") + 1]).write_text('{"os/test', encoding="utf-8")
        return 0, "OSError: [Errno 28] No space left on device"

    monkeypatch.setattr(verify, "run", run)
    with pytest.raises(CanneryError, match=r"could not be run(.|\n)*No space left on device"):
        verify.pytest_in(checkout.project, "c1", DeviceKind.NONE, [])


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
