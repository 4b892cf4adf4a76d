# SPDX-License-Identifier: Apache-2.0
"""Tests of the software Ascend device through its C interface."""
