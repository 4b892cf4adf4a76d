# SPDX-License-Identifier: Apache-2.0
"""Tests of the wheel ascend-sim and of its command."""
