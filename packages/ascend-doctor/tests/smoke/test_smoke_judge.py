# SPDX-License-Identifier: Apache-2.0
"""What the results of a smoke test say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ascend_doctor.smoke.judge import MARK, NoDeviceError, device_in, read_items
from ascend_doctor.smoke.model import Standing, to_json
from ascend_doctor.smoke.report import to_text
from tests.smoke.smokes import Items, checks_of, document_of, good_items, printed


def changed(item: str, **values: Any) -> Items:
    """Good results, of which the first ``item`` has other values."""
    items = good_items()
    next(each for each in items if each["item"] == item).update(values)
    return items


def test_a_host_in_good_order() -> None:
    checks = checks_of(read_items(printed(good_items())))
    assert not [each for each in checks.values() if each.standing is Standing.FAILED]
    reduced = checks["all-reduce-speed/8"]
    assert (reduced.standing, reduced.value, reduced.unit) == (Standing.PASSED, 140, "GB/s")
    assert "71% of the 196 GB/s of the hardware" in reduced.text
    assert "Atlas 800T A2" in reduced.source
    assert checks["memory-speed"].standing is Standing.UNKNOWN
    assert "the bandwidth of the hardware is unknown" in checks["memory-speed"].text


@pytest.mark.parametrize(
    ("item", "values", "check", "text"),
    [
        ("matmul", {"error": 0.02}, "matmul/float32", "2.0e-02; 1e-02 is allowed"),
        ("matmul", {"error": float("nan")}, "matmul/float32", "nan"),
        ("memory", {"right": False}, "memory", "differs"),
        ("training", {"last": 0.8}, "training", "from 0.7 to 0.8"),
        ("training", {"last": float("nan")}, "training", "to nan"),
        ("training", {"first": 0.9}, "training", "the first one is 0.7001 on the CPU"),
        ("training", {"first": float("nan")}, "training", "on the CPU"),
        ("all-reduce", {"right": False}, "all-reduce", "Wrong sums on rank 0 of 8"),
    ],
)
def test_wrong_results_fail(item: str, values: dict[str, Any], check: str, text: str) -> None:
    found = checks_of(changed(item, **values))[check]
    assert found.standing is Standing.FAILED
    assert text in found.text


@pytest.mark.parametrize(
    ("name", "cards", "speed", "standing", "text"),
    [
        ("Ascend910B3", 8, 40.0, Standing.LOW, "36% of the 196 GB/s"),
        ("Ascend910B3", 2, 20.0, Standing.PASSED, "71% of the 28 GB/s"),
        ("Ascend910B3", 8, 200.0, Standing.UNKNOWN, "It cannot be more"),
        ("Ascend910B3", 16, 80.0, Standing.UNKNOWN, "is unknown"),
        ("Ascend910_9392", 16, 90.0, Standing.PASSED, "86% of the 196 GB/s"),
        ("Ascend310P3", 2, 1.0, Standing.UNKNOWN, "is unknown"),
        ("Ascend910A", 8, 1.0, Standing.UNKNOWN, "is unknown"),
    ],
)
def test_bandwidth_is_judged_against_the_hardware(
    name: str, cards: int, speed: float, standing: Standing, text: str
) -> None:
    items = good_items(name, cards=cards)
    next(each for each in items if each["item"] == "all-reduce-speed")["gb_s"] = speed
    found = checks_of(items)[f"all-reduce-speed/{cards}"]
    assert found.standing is standing
    assert text in found.text


def test_a_simulated_device_has_no_speed_and_is_marked() -> None:
    document = document_of(good_items(simulated=True))
    assert not [each for each in document.checks if each.value is not None]
    assert {each["device"] for each in json.loads(to_json(document))["checks"]} == {"simulated"}
    said = to_text(document)
    assert "8 simulated cards Ascend910B3" in said
    assert said.count("passed (simulated)") == 5
    assert "GB/s" not in said


def test_the_notice_of_the_device_is_believed_even_if_the_script_does_not_see_it() -> None:
    items = good_items()
    assert device_in(items, simulated=True).simulated


def test_one_card_has_no_all_reduce() -> None:
    assert checks_of(good_items(cards=1))["all-reduce"].standing is Standing.NOT_RUN


def test_missing_results_are_failures() -> None:
    said = printed(good_items())
    checks = checks_of(read_items(said[: said.index('"training"')]))
    assert checks["training"].standing is Standing.FAILED
    assert checks["all-reduce"].text == "It was not reached in time."
    items = [each for each in good_items() if each.get("rank") != 3]
    items.append({"item": "error", "step": "all-reduce", "why": "its time was over"})
    found = checks_of(items)["all-reduce"]
    assert found.standing is Standing.FAILED


def test_no_device() -> None:
    why = "ModuleNotFoundError: No module named 'torch_npu'"
    line = json.dumps({"item": "error", "step": "device", "why": why})
    with pytest.raises(NoDeviceError, match="No module named 'torch_npu'"):
        device_in(read_items(f"{MARK}{line}\n"), simulated=False)
    with pytest.raises(NoDeviceError, match="without a word"):
        device_in(read_items("exec: python3: not found"), simulated=False)
