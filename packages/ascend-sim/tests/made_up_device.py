# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the compiled device where nothing is computed."""

from __future__ import annotations

from pathlib import Path

FILES = (
    "toolkit/lib64/libnpusim.so",
    "toolkit/devlib/libascend_hal.so",
    "nnal/cxx_abi_0/libatb.so",
    "nnal/cxx_abi_1/libatb.so",
    "driver/lib64/driver/libascend_hal.so",
    "driver/bin/npu-smi",
)


def made_up_device(root: Path) -> Path:
    """Write the files that build.sh makes into ``root``, with text for code."""
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"made-up {name}\n" * 500)
    (root / "toolkit/lib64/libascendcl.so").symlink_to("libnpusim.so")
    (root / "driver/bin/npu-smi").chmod(0o755)
    return root
