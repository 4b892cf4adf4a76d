# SPDX-License-Identifier: Apache-2.0
"""From matrix.yaml to targets."""
