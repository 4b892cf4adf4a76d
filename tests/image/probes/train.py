# SPDX-License-Identifier: Apache-2.0
"""Runs in the container: trains a small model with DeepSpeed for three steps."""

import json
import os

os.environ.update(
    MASTER_ADDR="127.0.0.1", MASTER_PORT="29511", RANK="0", LOCAL_RANK="0", WORLD_SIZE="1"
)
KERNELS = os.path.join(os.environ["ASCEND_OPP_PATH"], "built-in/op_impl/ai_core/tbe/kernel")
IS_310P = os.path.isdir(os.path.join(KERNELS, "ascend310p"))
if IS_310P:
    os.environ["ASCEND_LAUNCH_BLOCKING"] = "1"  # else torch_npu 2.9 tells no error of HCCL's

import torch  # noqa: E402
import torch_npu  # noqa: E402, F401
import deepspeed  # noqa: E402
from deepspeed.accelerator import get_accelerator  # noqa: E402

torch.manual_seed(3)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
config = {
    "train_batch_size": 4,
    "optimizer": {"type": "Adam", "params": {"lr": 0.05, "torch_adam": True}},
    "zero_optimization": {"stage": 2},
}
answer = {"accelerator": get_accelerator().device_name(), "losses": [], "error": ""}
answer["is_310p"] = IS_310P
try:
    engine, _, _, _ = deepspeed.initialize(
        model=model, model_parameters=model.parameters(), config=config
    )
    inputs, wanted = torch.randn(4, 8).to(engine.device), torch.randn(4, 1).to(engine.device)
    for _ in range(3):
        loss = torch.nn.functional.mse_loss(engine(inputs), wanted)
        engine.backward(loss)
        engine.step()
        answer["losses"].append(float(loss))
    answer["device"] = str(engine.device)
except RuntimeError as error:
    answer["error"] = str(error)
answer["backend"] = torch.distributed.get_backend()
print()
print(json.dumps(answer), flush=True)
os._exit(0)
