# SPDX-License-Identifier: Apache-2.0
"""Selects the images that a run builds, and the machine for each."""
