# SPDX-License-Identifier: Apache-2.0
"""Bundles: base images, files and BuildKit's cache in one file, to build without a network."""
