# SPDX-License-Identifier: Apache-2.0
"""CANN's packages and other files, from wherever they can be had."""
