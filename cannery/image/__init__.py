# SPDX-License-Identifier: Apache-2.0
"""From a target to all that its image is built from and checked with."""
