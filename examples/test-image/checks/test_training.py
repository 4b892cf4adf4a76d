# SPDX-License-Identifier: Apache-2.0
"""A check of your own, as a testinfra file: 'host' is a container of the image."""

import pytest
from testinfra.host import Host


def test_the_code_is_there(host: Host) -> None:
    """The code is in the image."""
    assert host.file("/app").is_directory


@pytest.mark.device
def test_the_npu_is_listed(host: Host) -> None:
    """The NPU is listed."""
    assert "910B" in host.check_output("npu-smi info")
