# SPDX-License-Identifier: Apache-2.0
"""From a target to the files from which its image is built and checked."""
