# SPDX-License-Identifier: Apache-2.0
"""Simulated: has no operators."""
