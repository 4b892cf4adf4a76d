# SPDX-License-Identifier: Apache-2.0
"""Finds what is wrong with an Ascend host, a container on it, or the log of a failed run.

It runs on the Python of any host and in every image as one file, so it uses the standard library of
Python 3.7 only.
"""

__version__ = "1.5.0"
