# SPDX-License-Identifier: Apache-2.0
"""Bundles: everything that a build needs, in one file, for a machine without a network."""
