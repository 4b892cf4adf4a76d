# SPDX-License-Identifier: Apache-2.0
"""Checks of one process: each raises an error where the device is not as it should be."""

import copy
import io
import os
import subprocess
import sys
import tempfile
from typing import Any, Callable

CLOSE = 1e-4
OUT_OF_RANGE = 507035
REFUSED_TYPE = 161002


def difference(one: Any, other: Any) -> float:
    """The largest of two tensors, wherever they are."""
    assert one.shape == other.shape, f"{tuple(one.shape)} and {tuple(other.shape)}"
    return float((one.detach().cpu().double() - other.detach().cpu().double()).abs().max())


def same(one: Any, other: Any, limit: float = CLOSE) -> None:
    """They are equal but for ``limit``."""
    found = difference(one, other)
    assert found <= limit, f"off by {found:.1e}"


def program(text: str) -> str:
    """The output of a new Python, which must not fail."""
    settings = dict(os.environ)
    # torch_npu leaves it behind where it is imported.
    settings.pop("TORCH_DEVICE_BACKEND_AUTOLOAD", None)
    command = [sys.executable, "-W", "ignore", "-c", text]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr.strip().splitlines()[-1:]
    return done.stdout


def error_of(call: "Callable[[], object]") -> RuntimeError:
    """The error in which a call ends."""
    try:
        call()
    except RuntimeError as error:
        return error
    raise AssertionError("no error")


def step(model: Any, optimizer: Any, inputs: Any, wanted: Any) -> Any:
    """One step of a training; its loss."""
    import torch

    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(inputs).float(), wanted)
    loss.backward()
    optimizer.step()
    return loss.detach()


def trained_alike(model: Any, make: "Callable[[Any], Any]", inputs: Any, limit: float) -> None:
    """Eight steps on the CPU and on the device have the same losses, which fall."""
    import torch

    wanted = torch.linspace(-1, 1, len(inputs)).unsqueeze(1)
    losses = []
    for device in ("cpu", "npu"):
        own = copy.deepcopy(model).to(device)
        optimizer = make(own.parameters())
        at, to = inputs.to(device), wanted.to(device)
        losses.append(torch.stack([step(own, optimizer, at, to).cpu() for _ in range(8)]))
    same(losses[0], losses[1], limit)
    assert losses[1][-1] < losses[1][0], "the losses do not fall"


def small_model() -> Any:
    """A few layers with weights that are always the same."""
    from torch import manual_seed, nn

    manual_seed(1)
    return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 1))


def importing_torch() -> None:
    """``import torch`` alone has the device."""
    assert program("import torch; print(torch.npu.is_available())").split() == ["True"]


def properties() -> None:
    """Memory and properties, before anything else uses the device."""
    import torch

    free, total = torch.npu.mem_get_info()
    assert 0 < free <= total, (free, total)
    assert torch.npu.get_device_properties(0).total_memory == total
    assert torch.npu.get_device_name(0).startswith("Ascend910B")
    assert torch.npu.device_count() == 2


def products() -> None:
    """In the three types that a 910B multiplies."""
    import torch

    torch.manual_seed(1)
    left, right = torch.randn(64, 48), torch.randn(48, 32)
    wanted = left.double() @ right.double()
    for dtype, limit in ((torch.float32, 1e-4), (torch.float16, 0.05), (torch.bfloat16, 0.4)):
        same(left.npu().to(dtype) @ right.npu().to(dtype), wanted, limit)


def adamw_in_bfloat16() -> None:
    """A model whose weights are bfloat16."""
    import torch

    model, inputs = small_model().bfloat16(), torch.randn(32, 8).bfloat16()
    trained_alike(model, lambda own: torch.optim.AdamW(own, lr=0.01), inputs, 0.02)


def convolution_network() -> None:
    """Convolution, normalisation by batch, pooling and SGD with momentum."""
    import torch
    from torch import nn

    torch.manual_seed(1)
    layers = (nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 1))
    make: Callable[[Any], Any] = lambda own: torch.optim.SGD(own, lr=0.05, momentum=0.9)  # noqa: E731
    trained_alike(model, make, torch.randn(8, 3, 12, 12), 1e-3)


def mixed_precision() -> None:
    """``autocast`` to float16 with a scaled loss."""
    import torch

    model, inputs = small_model().npu(), torch.randn(32, 8).npu()
    wanted, scaler = torch.zeros(32, 1).npu(), torch.npu.amp.GradScaler(init_scale=128.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        with torch.autocast("npu", dtype=torch.float16):
            out = model(inputs)
            assert out.dtype == torch.float16, out.dtype
            loss = torch.nn.functional.mse_loss(out.float(), wanted)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(float(loss))
    assert losses[-1] < losses[0], losses


def compiled_model() -> None:
    """``torch.compile`` with ``aot_eager``, forward and backward."""
    import torch

    torch.manual_seed(1)
    model, inputs = small_model(), torch.randn(4, 8)
    on_device = copy.deepcopy(model).npu()
    compiled = torch.compile(on_device, backend="aot_eager")
    model(inputs).sum().backward()
    out = compiled(inputs.npu())
    out.sum().backward()
    same(out, model(inputs))
    for one, other in zip(on_device.parameters(), model.parameters()):
        same(one.grad, other.grad)


def attention() -> None:
    """Of several heads, with its gradients."""
    import torch

    torch.manual_seed(1)
    parts = [torch.randn(2, 4, 16, 32, requires_grad=True) for _ in range(3)]
    others = [part.detach().npu().requires_grad_() for part in parts]
    attend = torch.nn.functional.scaled_dot_product_attention
    one, other = attend(*parts, is_causal=True), attend(*others, is_causal=True)
    (one**2).sum().backward()
    (other**2).sum().backward()
    same(one, other)
    for part, on_device in zip(parts, others):
        same(part.grad, on_device.grad, 1e-3)


def recurrent(kind: str) -> None:
    """Two layers in both directions, with their gradients."""
    import torch

    torch.manual_seed(1)
    ours = getattr(torch.nn, kind)(4, 16, num_layers=2, bidirectional=True)
    theirs, steps = copy.deepcopy(ours).npu(), torch.randn(6, 3, 4)
    for model, at in ((ours, steps), (theirs, steps.npu())):
        output, state = model(at)
        parts = state if isinstance(state, tuple) else (state,)
        sum((part**2).sum() for part in (output, *parts)).backward()
    same(ours(steps)[0], theirs(steps.npu())[0])
    for one, other in zip(ours.parameters(), theirs.parameters()):
        same(one.grad, other.grad)


def lstm() -> None:
    """An LSTM."""
    recurrent("LSTM")


def gru() -> None:
    """A GRU."""
    recurrent("GRU")


def recomputed_activations() -> None:
    """torch.utils.checkpoint, with dropout: the second pass has the first one's mask."""
    import torch
    from torch.utils.checkpoint import checkpoint

    again: Callable[..., Any] = checkpoint
    torch.manual_seed(1)
    layer, inputs = torch.nn.Linear(8, 8).npu(), torch.ones(4, 8).npu()
    found = []

    def dropped(x: Any) -> Any:
        return torch.nn.functional.dropout(layer(x), 0.5)

    for recomputed in (False, True):
        torch.npu.manual_seed(7)
        layer.zero_grad()
        out = again(dropped, inputs, use_reentrant=False) if recomputed else dropped(inputs)
        out.sum().backward()
        found.append(layer.weight.grad.clone())
    same(found[0], found[1])


def random_numbers() -> None:
    """A seed gives the same again, and a state too."""
    import torch

    torch.npu.manual_seed(3)
    first = torch.randn(100, device="npu")
    state = torch.npu.get_rng_state()
    second = torch.randn(100, device="npu")
    torch.npu.set_rng_state(state)
    same(torch.randn(100, device="npu"), second, 0)
    torch.npu.manual_seed(3)
    same(torch.randn(100, device="npu"), first, 0)
    assert difference(first, second) > 0


def memory_statistics() -> None:
    """What is allocated, its peak, and what goes back."""
    import torch

    before = torch.npu.memory_allocated()
    held = torch.empty(1 << 20, dtype=torch.uint8, device="npu")
    assert torch.npu.memory_allocated() - before >= held.numel()
    peak = torch.npu.max_memory_allocated()
    del held
    assert torch.npu.memory_allocated() == before
    assert torch.npu.max_memory_allocated() == peak > before
    assert torch.npu.memory_reserved() > 0
    torch.npu.empty_cache()
    assert torch.npu.memory_reserved() == 0
    assert "allocated_bytes.all.peak" in torch.npu.memory_stats()


def saving_and_loading() -> None:
    """A checkpoint of the device is read on the CPU, and one of the CPU on the device."""
    import torch

    state = small_model().npu().state_dict()
    for to in ("cpu", "npu:1"):
        file = io.BytesIO()
        torch.save(state, file)
        file.seek(0)
        state = torch.load(file, map_location=to, weights_only=True)
        assert {str(value.device) for value in state.values()} == {to}
    for name, value in small_model().state_dict().items():
        same(state[name], value, 0)


def data_loader_workers() -> None:
    """Two workers, and batches in pinned memory that are copied without waiting."""
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    rows = TensorDataset(torch.arange(64.0))
    total = torch.zeros((), device="npu")
    for (batch,) in DataLoader(rows, batch_size=8, num_workers=2, pin_memory=True):
        assert batch.is_pinned()
        total += batch.to("npu", non_blocking=True).sum()
    assert float(total) == 2016.0, float(total)


def transfer_to_npu() -> None:
    """A program for CUDA, after one import."""
    said = program(
        "import torch\n"
        "from torch_npu.contrib import transfer_to_npu\n"
        "assert torch.cuda.is_available() and torch.cuda.device_count() == 2\n"
        "x = torch.ones(3).cuda() + torch.ones(3, device='cuda')\n"
        "torch.cuda.synchronize()\n"
        "print(x.device.type, x.sum().item())\n"
    )
    assert said.split() == ["npu", "6.0"], said


def streams_and_events() -> None:
    """Work of another stream is waited for."""
    import torch

    stream, start, end = torch.npu.Stream(), *(torch.npu.Event(enable_timing=True) for _ in "12")
    left = torch.ones(64, 64, device="npu")
    start.record()
    stream.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(stream):
        product = left @ left
        end.record()
    end.synchronize()
    assert start.elapsed_time(end) >= 0
    assert float(product.sum()) == 64.0**3


def out_of_memory() -> None:
    """It is told at once, and the process goes on."""
    import torch

    error = error_of(lambda: torch.empty(1 << 50, dtype=torch.uint8, device="npu"))
    assert "out of memory" in str(error).lower(), error
    assert float(torch.ones(4, device="npu").sum()) == 4.0


def unlike_shapes() -> None:
    """Of a sum they are told at once, and the process goes on; of a product when it waits."""
    import torch

    one, other = torch.ones(2, 3, device="npu"), torch.ones(4, 5, device="npu")
    error_of(lambda: one + other)
    assert float((one + one).sum()) == 12.0
    failing("torch.ones(2, 3).npu() @ torch.ones(4, 5).npu()")


def refused_types() -> None:
    """A product of int64 is refused, with the card's code."""
    said = failing("x = torch.ones(4, 4, dtype=torch.int64, device='npu'); x @ x")
    assert str(REFUSED_TYPE) in said, said


def types_of_the_source() -> None:
    """Types that the vendor's source takes and its documents leave out."""
    import torch

    double = torch.tensor([-2.0, 0.5, 3.0], dtype=torch.float64)
    of_kinds: Callable[[str], list[Any]] = lambda device: [  # noqa: E731
        torch.isfinite(torch.tensor([1, 2]).to(device)),
        torch.isfinite(torch.tensor([True]).to(device)),
        torch.relu(torch.tensor([1, 2], dtype=torch.uint8).to(device)),
        torch.nn.functional.leaky_relu(double.to(device)),
        torch.nn.functional.elu(double.to(device)),
        torch.log10(double.abs().to(device)),
        torch.linspace(0, 8, 5, dtype=torch.int64, device=device),
        *(
            torch.zeros(3, dtype=kind, device=device).fill_(
                torch.tensor(2.5, dtype=kind, device=device)
            )
            for kind in (torch.float64, torch.complex64)
        ),
        torch.ones(2, dtype=torch.complex64).to(device).add_(1.5),
    ]
    for found, expected in zip(of_kinds("npu"), of_kinds("cpu")):
        close = torch.allclose if expected.is_floating_point() else torch.equal
        assert close(found.cpu(), expected), (found, expected)


def sparse_coalesce() -> None:
    """Equal places of a sparse tensor become one, in three types, also of rows."""
    import torch

    places = torch.tensor([[2, 0, 2, 1, 2], [1, 1, 1, 0, 1]])
    for kind in (torch.float32, torch.float16, torch.int32):
        for values in (torch.arange(1, 6).to(kind), torch.arange(10).reshape(5, 2).to(kind)):
            shape = (3, 4, *values.shape[1:])
            found = torch.sparse_coo_tensor(places.npu(), values.npu(), shape).coalesce()
            expected = torch.sparse_coo_tensor(places, values.double(), shape).coalesce()
            same(found.indices(), expected.indices(), 0)
            same(found.values(), expected.values(), 0)


def wrong_index() -> None:
    """It is told when the host waits for the device."""
    said = failing("torch.ones(4, device='npu')[torch.tensor([9], device='npu')]")
    assert str(OUT_OF_RANGE) in said, said


def failing(line: str) -> str:
    """What is said of a line of Python, in a process of its own: it may leave the device unfit."""
    text = (
        "import torch, torch_npu\n"
        "try:\n"
        f"    {line}\n"
        "    torch.npu.synchronize()\n"
        "except RuntimeError as error:\n"
        "    print('refused:', error)\n"
    )
    said = program(text)
    assert "refused:" in said, f"no error: {said}"
    return said


def missing_device() -> None:
    """A device that is not there."""
    import torch

    error_of(lambda: torch.ones(1, device="npu:9"))
    error_of(lambda: torch.npu.set_device(9))
    assert float(torch.ones(1, device="npu:1")) == 1.0


def state_of_an_optimizer() -> None:
    """A training that was saved goes on as one that was not."""
    import torch

    torch.manual_seed(1)
    inputs, wanted = torch.randn(8, 8).npu(), torch.zeros(8, 1).npu()

    def fresh() -> "tuple[Any, Any]":
        model = small_model().npu()
        return model, torch.optim.AdamW(model.parameters(), lr=0.1)

    whole, interrupted, resumed = fresh(), fresh(), fresh()
    for _ in range(4):
        step(*whole, inputs, wanted)
    for _ in range(2):
        step(*interrupted, inputs, wanted)
    with tempfile.TemporaryFile() as file:
        torch.save([part.state_dict() for part in interrupted], file)
        file.seek(0)
        for part, state in zip(resumed, torch.load(file, weights_only=True)):
            part.load_state_dict(state)
    for _ in range(2):
        step(*resumed, inputs, wanted)
    for one, other in zip(whole[0].parameters(), resumed[0].parameters()):
        same(one, other, 1e-6)


CHECKS = (
    importing_torch,
    properties,
    products,
    adamw_in_bfloat16,
    convolution_network,
    mixed_precision,
    compiled_model,
    attention,
    lstm,
    gru,
    recomputed_activations,
    random_numbers,
    memory_statistics,
    saving_and_loading,
    state_of_an_optimizer,
    data_loader_workers,
    transfer_to_npu,
    streams_and_events,
    out_of_memory,
    unlike_shapes,
    refused_types,
    types_of_the_source,
    sparse_coalesce,
    wrong_index,
    missing_device,
)
