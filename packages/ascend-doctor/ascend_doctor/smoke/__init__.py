# SPDX-License-Identifier: Apache-2.0
"""A short test of the cards of a host: what was measured, what it says, and other hosts."""
