# SPDX-License-Identifier: Apache-2.0
"""Simulated: what operators are registered with."""
