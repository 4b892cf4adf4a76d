# SPDX-License-Identifier: Apache-2.0
"""Results of verifications, as the image tests give them."""

from __future__ import annotations

from cannery.common.model import DeviceKind
from cannery.verify.verification import Check, DeviceRun, Verification

PASSED = Check(name="torch/test_torch.py::test_a", title="it imports", outcome="passed", why="")
FAILED = Check(name="os/test_os.py::test_b", title="it is small", outcome="failed", why="é > 1")
NOT_RUN = Check(
    name="torch_npu/test_npu.py::test_c", title="it multiplies", outcome="not run", why="no device"
)
REPORT = Verification(
    target="full",
    image="cannery:full-sim",
    image_id="sha256:0",
    runs=(
        DeviceRun(device=DeviceKind.NONE, checks=(PASSED, NOT_RUN)),
        DeviceRun(device=DeviceKind.SIMULATED, checks=(PASSED, FAILED)),
    ),
    date="2026-11-21",
)
"""Of three checks one passes on both kinds of device, one fails, and one is not run."""
