# SPDX-License-Identifier: Apache-2.0
"""Checks of training runs by what they leave behind: logs with losses, and precision dumps."""
