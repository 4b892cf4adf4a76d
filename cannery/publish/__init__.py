# SPDX-License-Identifier: Apache-2.0
"""From an image to a registry: push, promote, prune, SBOMs, provenance, scan, tables."""
