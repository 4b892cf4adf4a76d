# SPDX-License-Identifier: Apache-2.0
"""Simulated: the language of kernels, with nothing in it."""
