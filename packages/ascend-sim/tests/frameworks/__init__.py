# SPDX-License-Identifier: Apache-2.0
"""Training frameworks on the software device, on this machine: 'nox -s frameworks'."""
