# SPDX-License-Identifier: Apache-2.0
"""torch.optim under the names of Ascend apex whose arithmetic torch has too: nothing is fused."""

import torch  # type: ignore[import-not-found,unused-ignore]

NpuFusedAdadelta = torch.optim.Adadelta
NpuFusedAdam = torch.optim.Adam
NpuFusedAdamW = torch.optim.AdamW
NpuFusedSGD = torch.optim.SGD

__all__ = ["NpuFusedAdadelta", "NpuFusedAdam", "NpuFusedAdamW", "NpuFusedSGD"]
