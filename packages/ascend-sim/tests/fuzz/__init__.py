# SPDX-License-Identifier: Apache-2.0
"""Random calls of the C interface of the device."""
