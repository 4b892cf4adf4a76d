# SPDX-License-Identifier: Apache-2.0
"""A check of your own, as a testinfra file: 'host' is a container of the image."""

import pytest


def test_the_code_is_there(host):
    assert host.file("/app").is_directory


@pytest.mark.device
def test_the_npu_is_listed(host):
    assert "910B" in host.check_output("npu-smi info")
