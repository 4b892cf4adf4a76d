# SPDX-License-Identifier: Apache-2.0
"""What every folder uses: errors, text for people, files, YAML with places, versions, processes."""
