# SPDX-License-Identifier: Apache-2.0
"""The questions to uv for a target, with a stand-in for uv that notes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cannery.common.errors import EngineError, MatrixError
from cannery.lock.lock_file import with_files
from cannery.lock.resolve import lock_build_stage, write_locks
from tests.unit.applications import lock_of
from tests.unit.uv_standin import INDEX, Uv, stand_in


@pytest.fixture
def uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Uv:
    return stand_in(tmp_path, monkeypatch)


def test_what_is_the_same_for_every_target(uv: Uv) -> None:
    for name in uv.checkout.matrix.targets:
        uv.lock(name)
        argv, files = uv.noted()
        assert argv[:2] == ["pip", "compile"]
        inputs = [word for word in argv if word.endswith(".in")]
        assert {*inputs} == {file for file in files if file.endswith(".in")}
        assert uv.of("--only-binary") == [":all:"]
        assert uv.of("--build-constraint") == ["build.txt"]
        assert files["build.txt"] == "setuptools<81\n"
        assert not [word for word in argv if "://" in word or "index" in word]


@pytest.mark.parametrize(
    ("name", "python", "platform"),
    [
        ("served", "3.9.2", "aarch64-manylinux_2_31"),
        ("old", "3.8.18", "aarch64-manylinux_2_31"),
    ],
)
def test_it_is_resolved_for_the_target_and_not_for_this_machine(
    uv: Uv, name: str, python: str, platform: str
) -> None:
    uv.lock(name)
    assert uv.of("--python-version") == [python]
    assert uv.of("--python-platform") == [platform]


def test_each_layer_is_a_file_of_requirements(uv: Uv) -> None:
    uv.lock("served")
    _, files = uv.noted()
    assert {name: text for name, text in files.items() if name.endswith(".in")} == {
        "cann.in": "numpy<2\n",
        "torch.in": "torch==2.3.1\n",
        "torch_npu.in": "torch-npu==2.3.1.post2\npyyaml\nsetuptools<81\n",
        "pip.in": "pip>=23\n",
        "py-spy.in": "py-spy\n",
        "application.in": "serve==1.2\naccelerate>=0.34.0\ntqdm\n",
    }


def test_another_framework_asks_for_nothing_of_torch(uv: Uv) -> None:
    uv.lock("other")
    _, files = uv.noted()
    assert {name for name in files if name.endswith(".in")} == {
        *("cann.in", "pip.in", "py-spy.in", "application.in")
    }
    assert not [name for name, text in files.items() if name[-3:] == ".in" and "torch" in text]


def test_what_a_stack_overrides(uv: Uv) -> None:
    uv.lock("served")
    assert uv.of("--override") == ["overrides.txt"]
    _, files = uv.noted()
    lines = files["overrides.txt"].splitlines()
    assert lines == ["accelerate==0.34.2", "pyext; python_version < '3'"]


@pytest.mark.parametrize("name", ["full", "old", "other"])
def test_what_nobody_overrides(uv: Uv, name: str) -> None:
    uv.lock(name)
    assert uv.of("--override") == []
    assert "overrides.txt" not in uv.noted()[1]


def test_what_has_no_wheel_may_be_built(uv: Uv) -> None:
    uv.lock("served")
    assert {"fire", "rouge-score"} <= {*uv.of("--no-binary")}
    uv.lock("full")
    assert uv.of("--no-binary") == ["deepspeed"]


def test_only_what_is_named_may_move(uv: Uv) -> None:
    uv.lock("full")
    assert uv.of("--upgrade-package") == []
    uv.lock("full", "torch", "numpy")
    assert uv.of("--upgrade-package") == ["torch", "numpy"]
    assert "--upgrade" not in uv.noted()[0]


def test_what_is_locked_is_where_uv_begins(uv: Uv) -> None:
    target = uv.checkout.matrix.targets["served"]
    uv.lock("served")
    assert uv.noted()[1]["lock.txt"] == with_files(lock_of(target), {})
    uv.checkout.project.lock(target).unlink()
    uv.lock("served")
    assert "lock.txt" not in uv.noted()[1]


def test_the_build_stage_is_for_any_building_machine(uv: Uv) -> None:
    base = uv.checkout.matrix.targets["full"].build_base
    lock_build_stage(uv.checkout.project, base, INDEX)
    argv, files = uv.noted()
    assert "--universal" in argv
    assert "--python-platform" not in argv
    assert "uv" in files["build.in"].split()


@pytest.mark.slow
def test_a_lock_that_stays_as_it_is_is_not_written(uv: Uv) -> None:
    targets = [uv.checkout.matrix.targets[name] for name in ("served", "other")]
    paths = [uv.checkout.project.build_lock, *map(uv.checkout.project.lock, targets)]
    assert [*write_locks(uv.checkout.project, targets, [], INDEX).changed] == paths
    before = [path.stat().st_mtime_ns for path in paths]
    assert write_locks(uv.checkout.project, targets, [], INDEX).changed == ()
    assert [path.stat().st_mtime_ns for path in paths] == before


FAILURES: dict[str, tuple[str, type[Exception], str]] = {
    "nothing fits": (
        "No solution found when resolving dependencies: serve wants six",
        MatrixError,
        "the requirements of served cannot be satisfied. uv says:\nNo solution found",
    ),
    "no index": ("error: connection refused", EngineError, "uv could not lock served."),
}


@pytest.mark.parametrize(("says", "kind", "said"), FAILURES.values(), ids=FAILURES)
def test_uv_that_fails(
    uv: Uv, monkeypatch: pytest.MonkeyPatch, says: str, kind: Any, said: str
) -> None:
    monkeypatch.setenv("UV_SAYS", says)
    with pytest.raises(kind) as caught:
        uv.lock("served")
    assert said in str(caught.value)
    assert says in str(caught.value)
