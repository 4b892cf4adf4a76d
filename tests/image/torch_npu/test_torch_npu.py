# SPDX-License-Identifier: Apache-2.0
"""torch_npu, which makes the NPU a device of PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
from testinfra.host import Host

Facts = dict[str, Any]


@pytest.mark.inherited
def test_version(facts: Facts, locked: Any) -> None:
    """torch_npu is the target's version, post-release included."""
    assert facts["distributions"]["torch-npu"]["version"] in locked("torch-npu")


@pytest.mark.any_image
def test_imports(imported: Facts) -> None:
    """torch_npu imports, so it fits this torch; without a driver too."""
    error = imported["torch_npu"]["error"]
    assert not error, error


@pytest.mark.any_image
def test_no_device_is_found(imported: Facts) -> None:
    """Without a driver ``torch.npu.is_available()`` is False, and no error."""
    assert imported["npu_available"] is False


def test_torchair(host: Host, facts: Facts, devlib: str, simulated: bool) -> None:
    """Its graph compiler torchair imports, where the wheel has it."""
    if not facts["torchair"]:
        pytest.skip("the wheel has no torchair")
    if simulated:
        pytest.skip("the software device has no graph engine, which torchair is linked with")
    result = host.run(f"{devlib} python3 -c 'from torch_npu.dynamo import torchair'")
    assert result.rc == 0, result.stderr


@pytest.mark.any_image
@pytest.mark.device
def test_is_available(on_device: Any) -> None:
    """``torch.npu.is_available()`` is True and there is a device."""
    answer = on_device("device")
    assert answer["available"] is True
    assert answer["count"] >= 1


@pytest.mark.any_image
@pytest.mark.device
def test_the_device_says_what_it_is(on_device: Any, device: str) -> None:
    """A simulated device says on stderr that it is one, once, and no other device does."""
    said = on_device("device")["stderr"]
    notice = "cannery: simulated Ascend device; results say nothing about an NPU"
    assert said.count(notice) == (1 if device == "simulated" else 0), said


@pytest.mark.any_image
@pytest.mark.device
def test_matmul(on_device: Any) -> None:
    """The matmul snippet gives, on the NPU, the product that the CPU gives."""
    matmul = on_device("device")["matmul"]
    assert "error" not in matmul, matmul
    assert matmul["device"] == "npu:0"
    assert matmul["shape"] == [100, 100]
    assert matmul["largest_error"] <= 1e-3 * matmul["largest_value"], matmul


@pytest.mark.any_image
@pytest.mark.device
def test_random_tensor(on_device: Any) -> None:
    """``torch.randn(10, device='npu:0')`` makes a tensor that can be printed."""
    random = on_device("device")["random"]
    assert "error" not in random, random
    assert (random["device"], random["shape"]) == ("npu:0", [10])
    assert random["text"].startswith("tensor([")


@pytest.mark.any_image
@pytest.mark.device
def test_numpy(on_device: Any) -> None:
    """``.cpu().numpy()`` works, so numpy fits this torch."""
    array = on_device("device")["numpy"]
    assert array == {"type": "ndarray", "values": [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]}
