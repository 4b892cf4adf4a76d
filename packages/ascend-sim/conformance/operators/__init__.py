# SPDX-License-Identifier: Apache-2.0
"""Measures which of torch's operators the software Ascend device carries out."""
