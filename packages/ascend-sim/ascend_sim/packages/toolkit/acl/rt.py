# SPDX-License-Identifier: Apache-2.0
"""Devices and their memory. Functions give an error code, 0 for success, after their results.

Addresses and sizes in bytes are ints.
"""

import ctypes

from acl.library import LIBRARY


def _pointer(address):
    return ctypes.c_void_p(address)


def get_device_count():
    """The number of devices, and the error code."""
    count = ctypes.c_uint32()
    code = LIBRARY.aclrtGetDeviceCount(ctypes.byref(count))
    return count.value, code


def set_device(device_id):
    """Let this thread use a device."""
    return LIBRARY.aclrtSetDevice(ctypes.c_int32(device_id))


def get_device():
    """The id of the device that this thread uses, and the error code."""
    device_id = ctypes.c_int32()
    code = LIBRARY.aclrtGetDevice(ctypes.byref(device_id))
    return device_id.value, code


def reset_device(device_id):
    """Let go of a device."""
    return LIBRARY.aclrtResetDevice(ctypes.c_int32(device_id))


def synchronize_device():
    """Wait until the device that this thread uses has done all its work."""
    return LIBRARY.aclrtSynchronizeDevice()


def malloc(size, policy):
    """The address of new memory of the device, and the error code."""
    address = ctypes.c_void_p()
    code = LIBRARY.aclrtMalloc(ctypes.byref(address), ctypes.c_size_t(size), ctypes.c_int(policy))
    return address.value or 0, code


def free(address):
    """Free what ``malloc`` gave."""
    return LIBRARY.aclrtFree(_pointer(address))


def malloc_host(size):
    """The address of new memory of the host, and the error code."""
    address = ctypes.c_void_p()
    code = LIBRARY.aclrtMallocHost(ctypes.byref(address), ctypes.c_size_t(size))
    return address.value or 0, code


def free_host(address):
    """Free what ``malloc_host`` gave."""
    return LIBRARY.aclrtFreeHost(_pointer(address))


def memcpy(dst, dest_max, src, count, kind):
    """Copy ``count`` bytes; ``kind`` is 0 to 3, for host to host, to device, to host, device to device."""
    sizes = ctypes.c_size_t(dest_max), ctypes.c_size_t(count)
    return LIBRARY.aclrtMemcpy(_pointer(dst), sizes[0], _pointer(src), sizes[1], ctypes.c_int(kind))
