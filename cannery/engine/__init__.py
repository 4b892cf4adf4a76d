# SPDX-License-Identifier: Apache-2.0
"""Access to the container engine and to buildx."""
