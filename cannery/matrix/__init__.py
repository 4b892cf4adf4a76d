# SPDX-License-Identifier: Apache-2.0
"""From matrix.yaml to targets, and from the options of a new target to lines of it."""
