# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from cannery.common.errors import MatrixError
from cannery.common.model import Target
from cannery.image.layers import wheel_groups
from cannery.lock.lock_file import INPUTS, Lock, LockedFile, check_lock, parse_lock, with_files
from cannery.lock.requirements import Requirements
from tests.unit.applications import stacked_checkout
from tests.unit.matrices import DIGEST, HASH, Checkout, edited, lock_for, locked


@pytest.fixture
def full(checkout: Checkout) -> Target:
    return checkout.matrix.targets["full"]


def test_a_lock_is_read_as_uv_writes_it() -> None:
    text = (
        "# a comment\n"
        f"Foo_Bar==1.0 \\\n{HASH} \\\n{HASH}\n    # file: a.whl\n    # file: b.whl\n"
        "    # via -r cann.in\n"
        f"six==1.17.0 ; python_full_version < '3.9' \\\n{HASH}\n"
        "    # via\n    #   -r cann.in\n    #   -r application.in\n    #   foo-bar\n"
    )
    first, second = parse_lock(text).wheels
    assert (first.name, first.version) == ("foo-bar", "1.0")
    assert (first.groups, first.parents) == (frozenset({"cann"}), frozenset())
    assert first.hashes == (DIGEST, DIGEST)
    assert first.requirement == f"foo-bar==1.0 \\\n{HASH} \\\n{HASH}"
    assert (second.name, second.version) == ("six", "1.17.0")
    assert (second.groups, second.parents) == (
        frozenset({"cann", "application"}),
        frozenset({"foo-bar"}),
    )


WHEEL = LockedFile(name="uv-1-py3-none-manylinux_2_17_aarch64.whl", sha256="a" * 64)
OTHER = LockedFile(name="uv-1-py3-none-manylinux_2_17_x86_64.whl", sha256="b" * 64)


def test_files_are_written_and_read_again() -> None:
    text = f"six==1 \\\n{HASH} \\\n{HASH}\n    # via uv\nuv==1\n    # via -r build.in\n"
    sdist = LockedFile(name="six-1.tar.gz", sha256="c" * 64)
    text = with_files(text, {"six": [sdist], "uv": [WHEEL, OTHER]})
    six, uv = parse_lock(text).wheels
    assert six.files == (sdist,) and six.parents == {"uv"}
    assert uv.files == (WHEEL, OTHER) and uv.groups == {"build"}
    assert uv.hashes == ("a" * 64, "b" * 64)
    assert text == (
        f"six==1 \\\n    --hash=sha256:{'c' * 64}\n    # file: six-1.tar.gz\n    # via uv\n"
        f"uv==1 \\\n    --hash=sha256:{'a' * 64} \\\n    --hash=sha256:{'b' * 64}\n"
        f"    # file: {WHEEL.name}\n    # file: {OTHER.name}\n    # via -r build.in\n"
    )
    assert with_files(text, {}) == "six==1\n    # via uv\nuv==1\n    # via -r build.in\n"


def test_the_file_for_a_machine() -> None:
    text = with_files("six==1\nuv==1\n", {"uv": [WHEEL, OTHER]})
    six, uv = parse_lock(text).wheels
    assert (uv.file_for("aarch64"), uv.file_for("x86_64")) == (WHEEL, OTHER)
    assert uv.file_for("riscv64") is None
    assert six.file_for("aarch64") is None
    for name in ("six-1.tar.gz", "six-1-py3-none-any.whl"):
        file = LockedFile(name=name, sha256="c" * 64)
        [six] = parse_lock(with_files("six==1\n", {"six": [file]})).wheels
        assert six.file_for("x86_64") == file


def divided(target: Target, text: str) -> dict[str, list[str]]:
    """Layer to the names of its wheels."""
    return {
        each.name: [wheel.name for wheel in each.wheels]
        for each in wheel_groups(Requirements(target), parse_lock(text))
    }


def test_wheels_go_to_the_first_group_in_need(full: Target) -> None:
    assert divided(full, lock_for(full)) == {
        "cann": ["numpy"],
        "torch": ["torch"],
        "torch-deps": ["sympy"],
        "torch_npu": ["torch-npu"],
        "torch_npu-deps": ["pyyaml", "setuptools"],
        "pip": ["pip"],
        "py-spy": ["py-spy"],
        "deepspeed": ["deepspeed"],
    }


def test_a_large_wheel_of_several_applications_has_a_layer_of_its_own(full: Target) -> None:
    names = ("swift", "pyarrow", "opencv-python-headless", "tqdm")
    text = "".join(locked(f"{name}==1", "-r application.in") for name in names)
    served = replace(full, requirements=names)
    layers = divided(served, lock_for(full) + text)
    assert dict([*layers.items()][-3:]) == {
        "opencv_python_headless": ["opencv-python-headless"],
        "pyarrow": ["pyarrow"],
        "application": ["swift", "tqdm"],
    }
    groups = [
        each.group for each in wheel_groups(Requirements(served), parse_lock(lock_for(full) + text))
    ]
    assert [*dict.fromkeys(groups)] == [*Requirements(served).groups]
    assert groups[-3:] == ["application"] * 3


def test_targets_share_a_component_whatever_it_needs(full: Target) -> None:
    text = lock_for(full)
    one, other = (
        {each.name: each.wheels for each in wheel_groups(Requirements(full), parse_lock(changed))}
        for changed in (text, text.replace("sympy==", "sympy==9"))
    )
    assert one["torch"] == other["torch"]
    assert one["torch-deps"] != other["torch-deps"]


def test_a_cycle_of_requirements_is_divided(full: Target) -> None:
    text = locked("a==1", "-r torch.in", "b") + locked("b==1", "a")
    assert divided(full, text)["torch-deps"] == ["a", "b"]


STALE = {
    "an override was added": {"overrides": ("accelerate==0.34.2",)},
    "a requirement was dropped": {"requirements": ()},
    "an sdist was added": {"sdists": ("fire",)},
}


@pytest.mark.parametrize("change", STALE.values(), ids=STALE)
def test_a_lock_of_other_requirements_is_stale(
    tmp_path: Path, change: dict[str, tuple[str, ...]]
) -> None:
    checkout = stacked_checkout(tmp_path)
    target = checkout.matrix.targets["served"]
    assert target.application
    lock = parse_lock(checkout.project.lock(target).read_text(encoding="utf-8"))
    check_lock(Requirements(target), lock)
    application = replace(target.application, **change)  # type: ignore[arg-type]
    requirements = change.get("requirements", target.requirements)
    changed = replace(target, application=application, requirements=requirements)
    with pytest.raises(MatrixError, match="have changed since it was locked"):
        check_lock(Requirements(changed), lock)


def test_an_override_must_be_locked(tmp_path: Path) -> None:
    """CANN asks for numpy<2, and the application overrides that."""
    checkout = stacked_checkout(tmp_path)
    target = checkout.matrix.targets["served"]
    assert target.application
    overrides = (*target.application.overrides, "numpy==2.0.2")
    target = replace(target, application=replace(target.application, overrides=overrides))
    text = checkout.project.lock(target).read_text(encoding="utf-8")
    text = re.sub(rf"^{INPUTS}.*$", INPUTS + Requirements(target).digest, text, flags=re.MULTILINE)
    check_lock(
        Requirements(target),
        parse_lock(re.sub(r"^numpy==\S+", "numpy==2.0.2", text, flags=re.MULTILINE)),
    )
    with pytest.raises(MatrixError, match=r"numpy<2 is locked as 1\."):
        check_lock(Requirements(target), parse_lock(text))


def test_an_application_is_locked_in_the_version_that_it_is_declared_with(tmp_path: Path) -> None:
    checkout = stacked_checkout(tmp_path)
    target = checkout.matrix.targets["served"]
    text = checkout.project.lock(target).read_text(encoding="utf-8")
    assert target.application
    for version, said in (("1.2.0", ""), ("1.3", "serve 1.3 is locked as 1.2."), ("head", "")):
        own = replace(target, application=replace(target.application, version=version))
        if said:
            with pytest.raises(MatrixError, match=said):
                check_lock(Requirements(own), parse_lock(text))
        else:
            check_lock(Requirements(own), parse_lock(text))


MARKED = ("six<2; python_version < '3.0'", "attrs; platform_machine == 'x86_64'")


def with_requirements(target: Target, *texts: str) -> tuple[Requirements, Lock]:
    """These requirements beside the target's, and the lock that uv writes if none applies."""
    changed = Requirements(replace(target, requirements=(*target.requirements, *texts)))
    text = re.sub(f"{INPUTS}.*", INPUTS + changed.digest, lock_for(target))
    return changed, parse_lock(text)


def test_a_requirement_for_other_interpreters_and_machines_is_not_in_the_lock(
    full: Target,
) -> None:
    assert full.machine == "aarch64"
    check_lock(*with_requirements(full, *MARKED))


def test_an_override_for_other_interpreters_removes_a_requirement(tmp_path: Path) -> None:
    checkout = stacked_checkout(tmp_path)
    target = checkout.matrix.targets["served"]
    assert target.application
    text = checkout.project.lock(target).read_text(encoding="utf-8")
    name = Requirements(target).groups["application"][0].partition("=")[0]
    overrides = (*target.application.overrides, f"{name}; python_version < '3'")
    target = replace(target, application=replace(target.application, overrides=overrides))
    text = re.sub(rf"^{INPUTS}.*$", INPUTS + Requirements(target).digest, text, flags=re.MULTILINE)
    check_lock(
        Requirements(target),
        parse_lock(re.sub(rf"^{name}==.*\n(    .*\n)*", "", text, flags=re.MULTILINE)),
    )


TORCH = "torch==2.3.1 \\"
MISFITS = {
    "not locked": (TORCH, "torchvision==2.3.1 \\", "torch==2.3.1 is not locked."),
    "another version": (TORCH, "torch==2.1.0 \\", "torch==2.3.1 is locked as 2.1.0."),
    "out of range": ("numpy==1.26.4", "numpy==2.0.0", "numpy<2 is locked as 2.0.0."),
    "for another layer": ("-r torch.in", "-r application.in", "torch==2.3.1 is not locked."),
    "no hash": (
        f"{TORCH}\n{HASH}\n",
        f"{TORCH}\n",
        "the lock lists no single file for torch.",
    ),
    "several hashes": (
        f"{TORCH}\n{HASH}\n",
        f"{TORCH}\n{HASH} \\\n{HASH}\n",
        "the lock lists no single file for torch.",
    ),
    "a hash without a file": (
        "    # file: torch-2.3.1-py3-none-any.whl\n",
        "",
        "the lock lists no single file for torch.",
    ),
}


def test_a_lock_of_an_earlier_version_is_refused_in_one_sentence(full: Target) -> None:
    text = re.sub(r"    # file: .*\n", "", lock_for(full))
    with pytest.raises(MatrixError) as caught:
        check_lock(Requirements(full), parse_lock(text))
    assert str(caught.value) == (
        "images/full/requirements.lock:3:1: the lock lists no single file for deepspeed, numpy, "
        "pip, py-spy, pyyaml and 4 more. Run 'python build.py lock --target full'."
    )


@pytest.mark.parametrize(("old", "new", "said"), MISFITS.values(), ids=MISFITS)
def test_a_misfit_is_reported_at_its_line(full: Target, old: str, new: str, said: str) -> None:
    wheels = parse_lock(edited(old, new, lock_for(full)))
    with pytest.raises(MatrixError) as caught:
        check_lock(Requirements(full), wheels)
    # What is there has its own line, and what is missing that of the inputs.
    shown = re.split("[<=]", said)[0] if "locked" in said else "torch"
    begin = "# Inputs: " if "not locked" in said else f"{shown}=="
    [line] = [n for n, text in enumerate(wheels.text.splitlines(), 1) if text.startswith(begin)]
    assert str(caught.value) == (
        f"images/full/requirements.lock:{line}:1: {said} Run 'python build.py lock --target full'."
    )


def test_all_misfits_are_in_one_message(full: Target) -> None:
    with pytest.raises(MatrixError) as caught:
        check_lock(Requirements(full), parse_lock(lock_for(full, without=["numpy", "pip"])))
    said = [each.what for each in caught.value.problems]
    assert said == ["numpy<2 is not locked.", "pip>=23 is not locked."]
    assert DIGEST not in str(caught.value)


def test_invalid_lines_have_their_numbers(full: Target) -> None:
    lock = lock_for(full)
    count = len(lock.splitlines())
    with pytest.raises(MatrixError) as caught:
        parse_lock(f"what\n{lock}is\nthis\n{lock}    --hash=md5:1\n")
    places = [problem.where.line for problem in caught.value.problems if problem.where]
    assert places == [1, count + 2, count + 3, 2 * count + 4]
    assert len(parse_lock(lock + lock).wheels) == 2 * len(parse_lock(lock).wheels)
