# SPDX-License-Identifier: Apache-2.0
"""The software Ascend device and its command."""
