# SPDX-License-Identifier: Apache-2.0
"""From an image to a registry: push, promote, SBOMs, provenance, scan, tables."""
