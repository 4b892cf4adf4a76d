# SPDX-License-Identifier: Apache-2.0
"""Judges images of any origin by what a probe has found in them. Pure."""
