# SPDX-License-Identifier: Apache-2.0
"""What every room uses: errors, text for people, files, YAML with places, versions, processes."""
