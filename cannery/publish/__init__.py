# SPDX-License-Identifier: Apache-2.0
"""Published images: tags, records, bills of materials, provenance, and OCI documents."""
