# SPDX-License-Identifier: Apache-2.0
"""CANN's C interface."""

import ctypes

LIBRARY = ctypes.CDLL("libascendcl.so")
