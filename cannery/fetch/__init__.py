# SPDX-License-Identifier: Apache-2.0
"""Downloads of files: from servers into a store of files by their sha256."""
