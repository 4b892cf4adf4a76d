# SPDX-License-Identifier: Apache-2.0
"""Carries out operators of the software Ascend device with PyTorch, in a process of its own.

The device (libascendcl.so) starts `worker.py` and sends it calls. Device memory is a file that both
map, so tensors are views of it and nothing is copied.
Works with Python 3.8 and torch 2.1, and later ones.
"""
