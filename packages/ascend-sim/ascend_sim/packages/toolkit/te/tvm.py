# SPDX-License-Identifier: Apache-2.0
"""Simulated: the tensor compiler, with nothing in it."""
