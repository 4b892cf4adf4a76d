# SPDX-License-Identifier: Apache-2.0
"""Carries out operators of the software Ascend device with the PyTorch of this process.

The device (libascendcl.so) loads this package and calls `calls.run`, mostly on torch_npu's own
thread. Device memory is memory of this process, so tensors are views of it and nothing is copied.
Works with Python 3.8 and torch 2.1, and later ones.
"""
