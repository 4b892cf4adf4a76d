# SPDX-License-Identifier: Apache-2.0
"""Everything that asks the container engine or buildx."""
