# SPDX-License-Identifier: Apache-2.0
"""The commands about hosts with NPUs."""

from __future__ import annotations

from cannery.cli.command import Command

HOST_COMMANDS = (
    Command(
        name="doctor",
        summary="find what is wrong with this host, or with a failed run",
        description="Checks devices, driver, cards, memory, limits, HCCL and the network of the "
        "cards on this host or in this container, and says of each finding what it is, why, how "
        "to mend it, how sure that is, and who says so. Also explains error codes, finds known "
        "errors in logs, and compares nodes. Every image has the same program as ascend-doctor. "
        "Exits with code 8 for errors and 1 for warnings. See docs/doctor.md.",
        reads="this host, npu-smi and hccn_tool",
        writes="nothing; with --fix it shows what it changes, and asks",
        example="doctor --log train.log",
        options=("doctor.DoctorOptions",),
    ),
)
