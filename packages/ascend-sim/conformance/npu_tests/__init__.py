# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of op-plugin and of torch_npu itself on the software Ascend device."""
