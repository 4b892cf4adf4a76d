# SPDX-License-Identifier: Apache-2.0
"""What is published of an image: names, records, bill of materials, provenance, OCI documents."""
