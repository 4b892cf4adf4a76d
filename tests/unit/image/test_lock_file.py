# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest

from cannery.errors import MatrixError
from cannery.image.lock import check_lock, divide, group_of, parse_lock, requirement_groups
from cannery.model import Target
from tests.unit.matrices import DIGEST, HASH, Checkout, edited, lock_for, locked


@pytest.fixture
def full(checkout: Checkout) -> Target:
    return checkout.matrix.targets["full"]


def test_a_lock_is_read_as_uv_writes_it() -> None:
    text = (
        "# a comment\n"
        f"Foo_Bar==1.0 \\\n{HASH} \\\n{HASH}\n    # via -r cann.in\n"
        f"six==1.17.0 ; python_full_version < '3.9' \\\n{HASH}\n"
        "    # via\n    #   -r cann.in\n    #   -r stack.in\n    #   foo-bar\n"
    )
    first, second = parse_lock(text)
    assert (first.name, first.version) == ("foo-bar", "1.0")
    assert (first.groups, first.parents) == (frozenset({"cann"}), frozenset())
    assert first.lines == ("Foo_Bar==1.0 \\", HASH + " \\", HASH)
    assert (second.name, second.version) == ("six", "1.17.0")
    assert (second.groups, second.parents) == (frozenset({"cann", "stack"}), frozenset({"foo-bar"}))
    assert second.lines[0] == "six==1.17.0 ; python_full_version < '3.9' \\"


def test_no_lock_holds_no_wheels() -> None:
    assert parse_lock("# Locked by hand\n\n") == []


def test_layers_are_in_the_order_of_change(full: Target) -> None:
    assert [*requirement_groups(replace(full, requirements=("tqdm",)))] == [
        "cann",
        "torch",
        "torch_npu",
        "pip",
        "tools",
        "deepspeed",
        "stack",
    ]


def test_each_wheel_goes_to_the_first_group_that_needs_it(full: Target) -> None:
    wheels = parse_lock(lock_for(full))
    divided = {group: [w.name for w in each] for group, each in divide(full, wheels).items()}
    assert divided == {
        "cann": ["numpy"],
        "torch": ["torch"],
        "torch-deps": ["sympy"],
        "torch_npu": ["torch-npu"],
        "torch_npu-deps": ["pyyaml", "setuptools"],
        "pip": ["pip"],
        "tools": ["py-spy"],
        "deepspeed": ["deepspeed"],
    }


def test_what_is_large_in_many_stacks_has_a_layer_of_its_own(full: Target) -> None:
    names = ("swift", "pyarrow", "opencv-python-headless", "tqdm")
    text = "".join(locked(f"{name}==1", "-r stack.in") for name in names)
    stacked = replace(full, requirements=names)
    divided = divide(stacked, parse_lock(lock_for(full) + text))
    layers = {layer: [w.name for w in divided[layer]] for layer in [*divided][-3:]}
    assert layers == {
        "opencv_python_headless": ["opencv-python-headless"],
        "pyarrow": ["pyarrow"],
        "stack": ["swift", "tqdm"],
    }
    groups = [group_of(layer) for layer in divided]
    assert [*dict.fromkeys(groups)] == [*requirement_groups(stacked)]
    assert groups[-3:] == ["stack"] * 3


def test_targets_share_a_component_whatever_it_needs(full: Target) -> None:
    text = lock_for(full)
    one, other = (
        divide(full, parse_lock(text.replace("sympy==", v))) for v in ("sympy==", "sympy==9")
    )
    assert one["torch"] == other["torch"]
    assert one["torch-deps"] != other["torch-deps"]


def test_packages_that_need_each_other_do_not_hang_the_division(full: Target) -> None:
    text = locked("a==1", "-r torch.in", "b") + locked("b==1", "a")
    divided = divide(full, parse_lock(text))
    assert [wheel.name for wheel in divided["torch"]] == ["a", "b"]


def test_a_lock_that_fits(full: Target) -> None:
    check_lock(full, parse_lock(lock_for(full)))


TORCH = "torch==2.3.1 \\"
MISFITS = {
    "not locked": (TORCH, "torchvision==2.3.1 \\", "torch==2.3.1 is not locked."),
    "another version": (TORCH, "torch==2.1.0 \\", "torch==2.3.1 is locked as 2.1.0."),
    "out of range": ("numpy==1.26.4", "numpy==2.0.0", "numpy<2 is locked as 2.0.0."),
    "for another layer": ("-r torch.in", "-r stack.in", "torch==2.3.1 is not locked."),
    "no hash": (f"{TORCH}\n{HASH}\n", f"{TORCH}\n", "torch has no hash."),
}


@pytest.mark.parametrize(("old", "new", "said"), MISFITS.values(), ids=MISFITS)
def test_a_lock_that_does_not_fit(full: Target, old: str, new: str, said: str) -> None:
    wheels = parse_lock(edited(old, new, lock_for(full)))
    with pytest.raises(MatrixError) as caught:
        check_lock(full, wheels)
    assert str(caught.value) == (
        f"images/full/requirements.lock: {said} Run 'python build.py lock --target full'."
    )


def test_everything_that_does_not_fit_is_in_one_message(full: Target) -> None:
    with pytest.raises(MatrixError) as caught:
        check_lock(full, parse_lock(lock_for(full, without=["numpy", "pip"])))
    assert "numpy<2 is not locked. pip>=23 is not locked." in str(caught.value)
    assert DIGEST not in str(caught.value)
