# SPDX-License-Identifier: Apache-2.0
"""What a project tests on one NPU: models learn there as on the CPU."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
import torch_npu  # noqa: F401 - registers the device
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

STEPS = 10


def _model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 1))


def _losses(model: nn.Module, device: str, inputs: torch.Tensor, steps: int = STEPS) -> list[float]:
    """Of a copy of the model that learns the sum of each row."""
    model, inputs = copy.deepcopy(model).to(device), inputs.to(device)
    wanted = inputs.flatten(1).sum(dim=1, keepdim=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), wanted)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_a_product_is_that_of_the_cpu() -> None:
    """A matrix product on the device is the CPU's."""
    left, right = torch.randn(32, 48), torch.randn(48, 16)
    expected = left.double() @ right.double()
    torch.testing.assert_close((left.npu() @ right.npu()).cpu().double(), expected)


def test_a_model_learns() -> None:
    """The loss falls to a tenth, and is the CPU's in the first steps."""
    inputs = torch.randn(64, 4)
    losses = _losses(_model(), "npu", inputs, steps=60)
    assert losses[-1] < losses[0] / 10
    torch.testing.assert_close(
        losses[:STEPS], _losses(_model(), "cpu", inputs), rtol=1e-3, atol=1e-3
    )


class Recurrent(nn.Module):
    """The last output of an LSTM or a GRU, and a layer."""

    def __init__(self, kind: type[nn.LSTM | nn.GRU]) -> None:
        super().__init__()
        self.layer = kind(3, 8, batch_first=True)
        self.head = nn.Linear(8, 1)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """The prediction for each sequence."""
        return self.head(self.layer(inputs)[0][:, -1])


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_recurrent_networks_learn_as_on_the_cpu(kind: type[nn.LSTM | nn.GRU]) -> None:
    """LSTM and GRU have the CPU's losses."""
    torch.manual_seed(0)
    model, inputs = Recurrent(kind), torch.randn(16, 5, 3)
    on_cpu = _losses(model, "cpu", inputs)
    torch.testing.assert_close(_losses(model, "npu", inputs), on_cpu, rtol=1e-3, atol=1e-3)


def test_a_bf16_model_with_adamw_learns() -> None:
    """Parameters, gradients and the optimizer's state are bf16."""
    assert (losses := _losses(_model().bfloat16(), "npu", torch.randn(64, 4).bfloat16()))
    assert losses[-1] < losses[0] / 2


def test_mixed_precision_learns() -> None:
    """Autocast to float16, with a scaler of the loss."""
    model, inputs = _model().npu(), torch.randn(64, 4).npu()
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.05), torch.npu.amp.GradScaler()
    losses = []
    for _ in range(2 * STEPS):
        optimizer.zero_grad()
        with torch.autocast("npu", dtype=torch.float16):
            hidden = model[:-1](inputs)
            assert model[0](inputs).dtype == torch.float16
            output = model[-1](hidden).float()
        loss = nn.functional.mse_loss(output, inputs.sum(dim=1, keepdim=True))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2


def test_a_checkpointed_layer_has_the_same_gradients() -> None:
    """Activations that are computed again change nothing."""
    model, inputs = _model().npu(), torch.randn(8, 4).npu()
    model(inputs).sum().backward()
    expected = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    checkpoint(model, inputs, use_reentrant=False).sum().backward()
    for parameter, gradient in zip(model.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient)


def test_a_traced_model_has_the_same_gradients() -> None:
    """torch.compile, whose backend aot_eager needs no compiler of kernels."""
    model, inputs = _model().npu(), torch.randn(8, 4).npu()
    expected = torch.autograd.grad(model(inputs).sum(), [*model.parameters()])
    compiled = torch.compile(model, backend="aot_eager")
    found = torch.autograd.grad(compiled(inputs).sum(), [*model.parameters()])
    torch.testing.assert_close(found, expected)


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    """Weights come back on the device and on the CPU."""
    model = _model().npu()
    torch.save(model.state_dict(), tmp_path / "model.pt")
    for place in ("npu:0", "cpu"):
        loaded = torch.load(tmp_path / "model.pt", map_location=place, weights_only=True)
        assert {str(each.device) for each in loaded.values()} == {place}
        torch.testing.assert_close(loaded["0.weight"].cpu(), model[0].weight.detach().cpu())


def test_data_comes_from_other_processes() -> None:
    """A DataLoader with workers, whose batches go to the device."""
    loader = DataLoader(TensorDataset(torch.arange(12.0)), batch_size=4, num_workers=2)
    assert sum(batch.npu().sum().item() for (batch,) in loader) == 66.0
