# SPDX-License-Identifier: Apache-2.0
"""Decides which images a run builds, and on which machine."""
