# SPDX-License-Identifier: Apache-2.0
"""cannery: builds and verifies container images for Huawei Ascend NPUs."""

__version__ = "0.1.0"
