# SPDX-License-Identifier: Apache-2.0
"""Rows about packages hold for all that a lock has, and what a target names is in its lock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from cannery.common.model import Target
from cannery.compat.locked_rules import replaceable
from cannery.lock.lock_file import Lock, parse_lock
from cannery.lock.lock_rules import lock_problems
from cannery.lock.requirements import Requirements
from tests.unit.applications import TEXT, stacked_checkout
from tests.unit.compat_targets import COMPAT, cann, changed, file_of, python
from tests.unit.matrices import edited, locked, refused

WITH_TRITON = {"extras": {"triton_ascend": "3.2.0"}}


def today(**changes: object) -> Target:
    pair = {"torch": "2.10.0", "torch_npu": "2.10.0.post4", "python": python("3.11.9")}
    return changed(**{**pair, "cann": cann("9.1.0"), "apex": None, "deepspeed": "", **changes})


def lock(*packages: str, parent: str = "liger-kernel") -> Lock:
    return parse_lock("# a lock\n" + "".join(locked(package, parent) for package in packages))


def versions(*packages: str) -> Mapping[str, str]:
    return dict(package.split("==") for package in packages)


@pytest.mark.parametrize(
    ("target", "package", "said"),
    [
        (today(), "triton==3.9.0", "hides triton-ascend's module of the same name. Source: "),
        (today(), "triton==3.9.0", "Add the key triton_ascend to the target: it has the same"),
        (today(**WITH_TRITON), "triton==3.9.0", "its files overwrite those of triton-ascend"),
        (today(), "bitsandbytes==0.50.2", "Add the requirement bitsandbytes-npu-beta to the"),
        (today(), "opencv-python==5.0.0.93", "it loads libGL.so.1, which no image has"),
        (today(), "nvidia-cublas-cu12==12.9", "it is a library of CUDA"),
        (today(), "xformers==0.0.35", "its kernels are for CUDA. Source: "),
        (changed(), "numpy==2.0.2", "numpy 2.0.2 is not numpy<2, which CANN <=8.2.RC2 needs."),
        (
            today(requirements=("vllm-ascend==0.23.0",)),
            "transformers==4.57.1",
            "transformers 4.57.1 is not known to work; transformers==5.5.4 is.",
        ),
    ],
)
def test_packages_that_nobody_named_are_judged(target: Target, package: str, said: str) -> None:
    named = [f"triton-ascend=={version}" for version in target.extras.values()]
    [problem] = lock_problems(target, lock(package, *named, *target.requirements), COMPAT)
    assert said in str(problem)
    assert str(problem).startswith("images/good/requirements.lock:2:1: good: ")
    assert "It is locked for liger-kernel." in problem.what
    assert "'python build.py lock --target good'" in problem.fix


def test_conditions_of_rows_are_about_the_lock_too() -> None:
    """Here only other packages require triton-ascend."""
    own = today(unverified="a trial")
    [problem] = lock_problems(own, lock("triton==3.9.0", "triton-ascend==3.2.2"), COMPAT)
    assert "its files overwrite those of triton-ascend" in str(problem)
    assert lock_problems(own, lock("triton==3.5.0", "triton-ascend==3.2.1"), COMPAT) == []
    own = today(**WITH_TRITON)
    [problem] = lock_problems(own, lock("triton==3.9.0", "triton-ascend==3.2.1"), COMPAT)
    assert "triton 3.9.0 is not known to work; triton==3.5.0 is." in str(problem)


@pytest.mark.parametrize(
    ("package", "said"),
    [
        ("deepspeed==0.9.0", "deepspeed 0.9.0 does not work here: no NPU support and no plugin."),
        ("mindspore==2.6.0", "'mindspore==2.6.0' is not known to work on CANN 9.1.0."),
        ("vllm-ascend==0.18.0", "'vllm-ascend==0.18.0' is not known to go with torch_npu"),
        ("triton-ascend==3.2.0", "'triton-ascend==3.2.0' is not known to go with torch_npu"),
    ],
)
def test_packages_with_rules_of_their_own_are_judged_too(package: str, said: str) -> None:
    [problem] = lock_problems(today(), lock(package), COMPAT)
    assert said in problem.what and "It is locked for liger-kernel." in problem.what


def test_what_is_harmless_or_only_unknown_passes() -> None:
    assert lock_problems(today(), lock("nvidia-ml-py==13.615.71", "numpy==2.4.0"), COMPAT) == []
    target = today(requirements=("vllm-ascend==0.23.0",), unverified="a trial")
    text = lock("vllm-ascend==0.23.0", "transformers==4.57.1")
    assert lock_problems(target, text, COMPAT) == []


@pytest.mark.parametrize(
    ("target", "packages", "left_out"),
    [
        (today(**WITH_TRITON), ["triton-ascend==3.2.0", "triton==3.9.0"], ["triton"]),
        (
            today(),
            ["opencv-python==5.0.0.93", "opencv-python-headless==5.0.0.93"],
            ["opencv-python"],
        ),
        (today(), ["bitsandbytes==0.5", "bitsandbytes-npu-beta==0.45.3"], ["bitsandbytes"]),
        (today(), ["onnxruntime-gpu==1.2", "onnxruntime==1.2"], ["onnxruntime-gpu"]),
        # It depends on triton, and goes after it.
        (today(), ["triton-ascend==3.2.1", "triton==3.5.0"], []),
        (today(), ["triton==3.9.0"], []),
        # What is asked for is refused, and not left out.
        (
            today(**WITH_TRITON, requirements=("triton==3.9.0",)),
            ["triton-ascend==3.2.0", "triton==3.9.0"],
            [],
        ),
    ],
)
def test_a_package_whose_modules_another_has_is_left_out(
    target: Target, packages: list[str], left_out: list[str]
) -> None:
    assert replaceable(target, COMPAT, versions(*packages)) == left_out


def test_a_wheel_that_is_a_file_provides_modules_too() -> None:
    wheel = file_of("triton_ascend", "3.2.2")
    target = today(extras={"triton_ascend": "3.2.2"}, triton_ascend_wheel=wheel)
    assert replaceable(target, COMPAT, versions("triton==3.9.0")) == ["triton"]


def served(tmp_path: Path, override: str, **changes: object) -> Requirements:
    target = stacked_checkout(tmp_path).matrix.targets["served"]
    assert target.application
    application = replace(target.application, overrides=(override,))
    return Requirements(replace(target, application=application, **changes))  # type: ignore[arg-type]


REMOVED = "triton-ascend; python_version < '3'"


@pytest.mark.parametrize(
    ("extras", "kept"), [({}, REMOVED), ({"triton_ascend": "3.2.0"}, "triton-ascend==3.2.0")]
)
def test_an_override_cannot_remove_a_component(
    tmp_path: Path, extras: dict[str, str], kept: str
) -> None:
    assert served(tmp_path, REMOVED, extras=extras).overrides == (kept,)


@pytest.mark.parametrize(
    ("override", "kept"),
    [
        # The target's own requirement, a framework, and what every image has.
        ("tqdm; python_version < '3'", ("tqdm",)),
        ("torch; python_version < '3'", ("torch==2.3.1",)),
        ("torch-npu; python_version < '3'", ("torch-npu==2.3.1.post2",)),
        ("pip; python_version < '3'", ("pip>=23",)),
        # Both hold.
        ("tqdm<5", ("tqdm<5", "tqdm")),
        # The application's and CANN's can be replaced.
        ("accelerate; python_version < '3'", ("accelerate; python_version < '3'",)),
        ("numpy; python_version < '3'", ("numpy; python_version < '3'",)),
    ],
)
def test_each_kind_of_own_requirement_stays(
    tmp_path: Path, override: str, kept: tuple[str, ...]
) -> None:
    assert served(tmp_path, override).overrides == kept


def test_an_override_against_the_target_is_named_with_both_places(tmp_path: Path) -> None:
    text = edited("requirements: [tqdm]", "requirements: [accelerate==0.30.0]", TEXT)
    [problem] = refused(tmp_path, text)
    lines = [line.strip() for line in text.splitlines()]
    target = lines.index("requirements: [accelerate==0.30.0]") + 1
    override = next(n for n, line in enumerate(lines, 1) if line.startswith("overrides: [accel"))
    assert problem.startswith(f"matrix.yaml:{target}:")
    assert "'accelerate==0.30.0' and 'accelerate==0.34.2' exclude each other" in problem
    assert f"The other one is in matrix.yaml:{override}:" in problem
