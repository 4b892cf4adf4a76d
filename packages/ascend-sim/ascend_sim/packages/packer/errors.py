# SPDX-License-Identifier: Apache-2.0
"""The one error that packing raises for the user to read."""


class PackError(Exception):
    """The spec or the device cannot be packed; the message says why, for the user."""
