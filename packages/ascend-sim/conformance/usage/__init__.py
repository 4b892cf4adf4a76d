# SPDX-License-Identifier: Apache-2.0
"""What people do with torch_npu, on the software Ascend device."""
