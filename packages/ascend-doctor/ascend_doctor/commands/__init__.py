# SPDX-License-Identifier: Apache-2.0
"""The subcommands: each module has the options of one, and does what they say."""
