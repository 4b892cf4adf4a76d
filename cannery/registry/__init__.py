# SPDX-License-Identifier: Apache-2.0
"""OCI registries: documents, one client, and the records of what was published."""
