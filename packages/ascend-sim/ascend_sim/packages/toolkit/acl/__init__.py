# SPDX-License-Identifier: Apache-2.0
"""Simulated pyACL: the functions that tell about devices and copy memory, by CANN's C interface.

Names, arguments and results are those of the "API reference (Python)" of CANN 8.0.
"""

import ctypes

from acl import rt
from acl.library import LIBRARY

__all__ = ["finalize", "get_soc_name", "init", "rt"]


def init(config=None):
    """Begin to use devices; ``config`` is the path of a JSON file. The error code, 0 for success."""
    return LIBRARY.aclInit(config.encode() if config else None)


def finalize():
    """Stop using devices. The error code, 0 for success."""
    return LIBRARY.aclFinalize()


def get_soc_name():
    """The chip's name, such as Ascend910B3; None without a device."""
    LIBRARY.aclrtGetSocName.restype = ctypes.c_char_p
    name = LIBRARY.aclrtGetSocName()
    return name.decode() if name else None
