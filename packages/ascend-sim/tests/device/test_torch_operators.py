# SPDX-License-Identifier: Apache-2.0
"""Operators that the torch of the process carries out.

With CANNERY_TORCH_PYTHON, the path of a Python that has torch and numpy; 'nox -s operators'.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from .hosts import FOLDER, Host

WRONG_ARGUMENT, NULL_ARGUMENT, NOT_SUPPORTED = 161002, 161001, 200001
PYTHON = os.environ.get("CANNERY_TORCH_PYTHON")
with_torch = pytest.mark.skipif(PYTHON is None, reason="CANNERY_TORCH_PYTHON is not set")


def ask(host: Host, probe: str, **changes: str | None) -> Any:
    assert PYTHON is not None
    settings = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", **changes}
    done = subprocess.run(
        [PYTHON, "-m", "tests.device.torch_probes", probe],
        cwd=FOLDER,
        env=host.environment(settings),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_an_operator_without_torch_names_the_missing_module(host: Host) -> None:
    failure = host.ask("torch_operator")
    assert failure["code"] != 0
    assert "npusim_torch" in failure["message"]
    assert "No module named 'torch'" in failure["message"]


def gone(worker: int, seconds: float) -> bool:
    """Whether a process ends in that time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


@with_torch
def test_views_are_read_and_written_in_place(host: Host) -> None:
    assert ask(host, "strides") < 1e-5


@with_torch
def test_steps_and_norms_are_those_of_the_device(host: Host) -> None:
    by_device, by_torch = (ask(host, "steps", NPUSIM_TORCH=who) for who in ("never", "always"))
    assert len(by_torch) == len(by_device)
    for found, expected in zip(by_torch, by_device):
        assert found == pytest.approx(expected, abs=1e-5, rel=1e-5)


@with_torch
def test_no_dimensions_and_no_elements(host: Host) -> None:
    assert ask(host, "scalars_and_empty") == 0


@with_torch
def test_the_hosts_and_mapped_memory_are_operands(host: Host) -> None:
    for error, others_changed in ask(host, "other_memory"):
        assert error < 1e-5
        assert not others_changed


@with_torch
def test_the_worker_has_nothing_of_the_program_and_ends_with_it(host: Host) -> None:
    worker, files, children = ask(host, "alone")
    assert files == ["/dev/null", "/memfd", "socket"]
    assert not children
    assert gone(worker, seconds=20)


@with_torch
def test_another_worker_follows_one_that_was_killed(host: Host) -> None:
    before, refused, after, is_another = ask(host, "ended")
    assert "has ended" in refused["message"]
    assert max(before, after) < 1e-5
    assert is_another


@with_torch
def test_every_type(host: Host) -> None:
    product_is_right, shifted, halves = ask(host, "types")
    assert product_is_right
    assert shifted == 2**55 + 2
    assert halves == pytest.approx([3.14, 0, 0.25], abs=0.01)


@with_torch
def test_the_error_for_a_wrong_argument_names_the_argument(host: Host) -> None:
    scalar, null, short, outside, size = ask(host, "wrong_signature")
    assert scalar["code"] == WRONG_ARGUMENT
    assert "aclnnRenorm: argument 1: got a scalar; expected a tensor" in scalar["message"]
    assert null["code"] == NULL_ARGUMENT
    assert short["code"] in {WRONG_ARGUMENT, NULL_ARGUMENT}
    assert "aclnnRenorm" in short["message"]
    assert "Glu: RuntimeError: glu does not support" in outside["message"]
    assert "Glu: ValueError: the result has shape [2], the output [4]" in size["message"]


@with_torch
def test_an_unreadable_text_is_an_error(host: Host) -> None:
    failure = ask(host, "unreadable_text")
    assert failure["code"] == WRONG_ARGUMENT
    assert "aclnnGeluMul: argument 2: a text is not readable" in failure["message"]


@with_torch
def test_a_text_is_copied_when_the_call_is_planned(host: Host) -> None:
    assert ask(host, "released_text") < 1e-6


@with_torch
def test_many_threads_at_once(host: Host) -> None:
    calls, error = ask(host, "many_threads")
    assert calls == 320
    assert error < 1e-5


@with_torch
def test_a_data_dependent_output_shape(host: Host) -> None:
    assert ask(host, "found_shape") == [[3], [3, 1, 3]]


@with_torch
def test_an_input_can_lie_in_the_hosts_memory(host: Host) -> None:
    assert ask(host, "host_inputs") < 1e-5


@with_torch
def test_the_table_is_right_in_float64(host: Host) -> None:
    errors = ask(host, "values")
    assert len(errors) >= 17
    assert {name: error for name, error in errors.items() if error > 1e-4} == {}


@with_torch
def test_recurrent_gradients_and_sums_of_half_precision_are_right(host: Host) -> None:
    errors = ask(host, "more_values")
    assert len(errors) >= 4
    assert {name: error for name, error in errors.items() if error > 1e-3} == {}


@with_torch
def test_products_of_quantised_matrices(host: Host) -> None:
    errors = ask(host, "products")
    assert len(errors) == 4
    assert {name: error for name, error in errors.items() if error > 1e-4} == {}


@with_torch
@pytest.mark.parametrize("torch", ["always", "never"])
def test_calls_refused_by_cann_are_refused(host: Host, torch: str) -> None:
    filter_of, half, types = ask(host, "refusals", NPUSIM_TORCH=torch)
    assert [filter_of["code"], half["code"], types["code"]] == [WRONG_ARGUMENT] * 3
    assert "transposed convolution" in filter_of["message"]
    assert "can't be cast to the desired output type" in types["message"]


@with_torch
def test_the_bench_compares_what_is_determined() -> None:
    assert PYTHON is not None
    done = subprocess.run(
        [PYTHON, "-m", "tests.device.comparison_probes"],
        cwd=FOLDER,
        env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    same = json.loads(done.stdout)
    right = ["topk", "topk, of no elements", "kthvalue of rows", "argsort"]
    assert same == [*right, "zeros without memory", "few values of more", "fractions for integers"]


@with_torch
def test_every_line_fits_this_torch() -> None:
    assert PYTHON is not None
    folder = FOLDER / "device" / "torch"
    done = subprocess.run(
        [PYTHON, "-m", "npusim_torch.check"],
        cwd=folder,
        env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
