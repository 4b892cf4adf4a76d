# SPDX-License-Identifier: Apache-2.0
"""Checks in containers, of the project's images and of any other; their results."""
