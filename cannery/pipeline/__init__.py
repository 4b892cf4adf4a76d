# SPDX-License-Identifier: Apache-2.0
"""The steps of a build, in their order, for any number of targets at once."""
