# SPDX-License-Identifier: Apache-2.0
"""Checks that hold Python's lock, or fork, where an operator is carried out by torch's own.

torch_npu waits for its queue where a stream's number is asked for, and newer releases keep the lock
meanwhile.
"""

import threading
from typing import Any

from conformance.usage.processes import ended, forked
from conformance.usage.single import error_of, same

TIMES = 50
REFUSALS = ("(re-initialisation)", "Cannot re-initialize NPU in forked subprocess")
"""Of the device, and of torch_npu."""


def limited(rows: Any) -> Any:
    """Rows of a norm of at most 1, and the stream's number again and again."""
    import torch

    stream = torch.npu.current_stream()
    result = torch.renorm(rows, 2, 0, 1.0)
    for _ in range(TIMES):
        hash(stream)
    return result


def first_use_by_autograd() -> None:
    """The first such operator is one of a backward pass, on a thread of autograd."""
    import torch

    class Limited(torch.autograd.Function):  # type: ignore[misc]  # there is no torch here
        @staticmethod
        def forward(_: Any, rows: Any) -> Any:
            return rows.clone()

        @staticmethod
        def backward(_: Any, gradient: Any) -> Any:
            return limited(gradient.contiguous())

    rows = torch.randn(64, 64).npu().requires_grad_()
    Limited.apply(rows).sum().backward()
    same(rows.grad, torch.renorm(torch.ones(64, 64), 2, 0, 1.0))


class Batch:
    """Rows that go to the device on the thread of a data loader that pins them."""

    def __init__(self, rows: "list[Any]") -> None:
        import torch

        self.rows = torch.stack(rows)

    def pin_memory(self) -> "Batch":
        self.rows = limited(self.rows.npu())
        return self


def first_use_by_a_data_loader() -> None:
    """On the thread of a data loader that pins what its worker sends."""
    import torch
    from torch.utils.data import DataLoader

    rows = torch.randn(16, 64)
    torch.zeros(1).npu()
    data: Any = [*rows]
    for batch, expected in zip(
        DataLoader(data, batch_size=4, collate_fn=Batch, num_workers=1, pin_memory=True),
        rows.split(4),
    ):
        same(batch.rows, torch.renorm(expected, 2, 0, 1.0))


def first_use_by_the_queue() -> None:
    """On the thread of torch_npu's queue, while the main thread has the lock."""
    import torch

    rows = torch.randn(64, 64)
    same(limited(rows.npu()), torch.renorm(rows, 2, 0, 1.0))


def first_use_by_threads() -> None:
    """Four at once, while the main thread computes as well."""
    import torch

    rows = torch.randn(64, 64)
    results: list[Any] = []
    on_device = rows.npu()
    work = [threading.Thread(target=lambda: results.append(limited(on_device))) for _ in range(4)]
    for thread in work:
        thread.start()
    results.append(limited(on_device))
    for thread in work:
        thread.join()
    assert len(results) == 5
    for result in results:
        same(result, torch.renorm(rows, 2, 0, 1.0))


def forked_process() -> None:
    """A child of a process that has used the device is refused it, and the process goes on."""
    import torch

    ones = torch.ones(64).npu()
    calls = (lambda: ones + 1, ones.cpu, lambda: torch.ones(2).npu(), torch.npu.synchronize)
    assert float((ones + 1).sum()) == 128.0
    for call in calls:
        code, text = ended(*forked(lambda refused: print(error_of(refused)), call))
        assert code == 0, text
        assert any(refusal in text for refusal in REFUSALS), text
    assert float((ones + 1).sum()) == 128.0


CHECKS = (
    first_use_by_autograd,
    first_use_by_a_data_loader,
    first_use_by_the_queue,
    first_use_by_threads,
    forked_process,
)
