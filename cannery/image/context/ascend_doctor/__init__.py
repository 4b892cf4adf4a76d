# SPDX-License-Identifier: Apache-2.0
"""Finds what is wrong with an Ascend host, a container on it, or the log of a failed run.

It runs in every image as one file, so it uses the standard library of Python 3.7 only and imports
nothing of cannery. ``build.py doctor`` runs the same modules.
"""
