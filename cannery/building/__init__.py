# SPDX-License-Identifier: Apache-2.0
"""Which images a run builds, and the steps of a build."""
