# SPDX-License-Identifier: Apache-2.0
"""Simulated: the operators for an NPU."""
