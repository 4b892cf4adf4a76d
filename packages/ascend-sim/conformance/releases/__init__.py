# SPDX-License-Identifier: Apache-2.0
"""Every release of torch_npu on the software Ascend device: read, and run where it can be."""
