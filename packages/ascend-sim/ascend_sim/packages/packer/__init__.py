# SPDX-License-Identifier: Apache-2.0
"""Turns a compiled software Ascend device into packages with the vendor's installer contract."""
