# SPDX-License-Identifier: Apache-2.0
"""Simulated: the languages of operators."""
