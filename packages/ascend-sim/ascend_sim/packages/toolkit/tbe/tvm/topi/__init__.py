# SPDX-License-Identifier: Apache-2.0
"""Simulated: the operators of the tensor compiler."""
