# SPDX-License-Identifier: Apache-2.0
"""The command ``ascend-sim`` of the wheel of that name; it has no other packages to lean on.

The wheel's package has this folder, ``../packages`` without the installer, the compiled device and
facts.json. All of it runs with Python 3.9.
"""
