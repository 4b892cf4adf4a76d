# SPDX-License-Identifier: Apache-2.0
"""Measures the device against what runs on NPUs; each folder has its page beside it."""
