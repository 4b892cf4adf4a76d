# SPDX-License-Identifier: Apache-2.0
"""Hides torch_npu from a Python that finds this file, so that a framework computes on the CPU."""

import sys

sys.modules["torch_npu"] = None  # type: ignore[assignment]
