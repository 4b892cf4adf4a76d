# SPDX-License-Identifier: Apache-2.0
"""Training logs in the form of each program; log_lines.py names their sources."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

LOSSES = (2.918, 2.8388, 2.7621, 2.6879, 2.6162, 2.5468, 2.4797, 2.4148, 2.352, 2.2913)
NORM, RATE = 1.25, 1e-05

Losses = Sequence[float]


def _values(step: int, loss: float) -> dict[str, Any]:
    return {"loss": loss, "grad_norm": NORM, "learning_rate": RATE, "epoch": step / 100}


def hf_trainer(losses: Losses, first: int = 1) -> str:
    """stdout and stderr of transformers 5 in one file, with its progress bar."""
    lines = ["Map: 100%|██████████| 1000/1000 [00:01<00:00, 800.00 examples/s]\n"]
    for step, loss in enumerate(losses, first):
        shown = {k: f"{v:.4g}" for k, v in _values(step, loss).items()}
        bar = f"  1%|▏         | {step}/100 [00:0{step % 10}<08:15,  5.00s/it]"
        lines.append(f"\r{bar}\x1b[A\r{' ' * 40}\r{shown}\n\r{bar}")
    return "".join([*lines, "\n{'train_runtime': '9.1', 'train_loss': '2.5', 'epoch': '1'}\n"])


def hf_trainer_4(losses: Losses) -> str:
    """stdout of transformers 4.41, which has no steps; epochs are rounded."""
    lines = [
        str(_values(step, loss) | {"epoch": round(step / 500, 2)})
        for step, loss in enumerate(losses, 1)
    ]
    return "\n".join([*lines, "{'eval_loss': 1.0, 'epoch': 0.02}", ""])


def trainer_state(losses: Losses) -> str:
    history = [{"step": step, **_values(step, loss)} for step, loss in enumerate(losses, 1)]
    state = {"epoch": 1.0, "global_step": len(losses), "log_history": history, "max_steps": 100}
    return json.dumps(state, indent=2, sort_keys=True) + "\n"


def llama_factory(losses: Losses) -> str:
    common = {"total_steps": 100, "percentage": 1.0, "elapsed_time": "0:00:10"}
    lines = [
        json.dumps({"current_steps": step, "loss": loss, "lr": RATE, "epoch": 0.1, **common})
        for step, loss in enumerate(losses, 1)
    ]
    return "\n".join([*lines, json.dumps({"current_steps": 100, "epoch": 1.0, **common}), ""])


def ms_swift(losses: Losses, key: str = "global_step/max_steps") -> str:
    lines = [
        json.dumps(
            _values(step, loss)
            | {key: f"{step}/100", "elapsed_time": "10s", "memory(GiB)": 29.6, "acc": 0.5}
        )
        for step, loss in enumerate(losses, 1)
    ]
    return "\n".join([*lines, '{"eval_loss": 1.0, "global_step/max_steps": "10/100"}', ""])


def ms_swift_megatron(losses: Losses) -> str:
    return ms_swift(losses, key="iteration")


def mindformers(losses: Losses) -> str:
    """As version 2.1.0 logs it without data sinking."""
    head = "2026-08-07 19:12:16,935 - mindformers./x.py[core/callback.py:751] - INFO - "
    return "".join(
        f"{head}{{ Epoch:[  1/  1], step:[{step:5d}/  812], loss:[{loss:5.6f}/{loss:5.6f}], "
        f"per_step_time: 6860ms, lr: {RATE}, overflow cond: False, loss_scale: 65536.0, "
        f"global_norm: [{NORM}]\n{head}   1.0% |█         | 1.46 samples/s/p  1:32:10 }}\n"
        for step, loss in enumerate(losses, 1)
    )


def mindformers_2023(losses: Losses) -> str:
    head = "2023-08-07 19:12:16,935 - mindformers - INFO - "
    return "".join(
        f"{head}Epoch:[  1/  1], step:[{step:5d}/  812], loss:[{loss:.3f}/{loss:.3f}], "
        f"time:27421.790 ms, lr:[{RATE}], overflow cond: False, loss_scale: 65536.0\n"
        f"{head}Per sink_size step time: 27443.713 ms, avg loss: 9.999\n"
        for step, loss in enumerate(losses, 1)
    )


def mindformers_pynative(losses: Losses) -> str:
    return "".join(
        f"{{ step:[{step:5d}/  100], consumed_samples: 8, global_batch_size: 8, "
        f"loss: {loss:10.6f}, per_step_time:   1200ms, load_balancing_loss:   0.010000, "
        f"lr: {RATE:10.6e}, grad_norm: {NORM:10.6f} }}\n"
        for step, loss in enumerate(losses, 1)
    )


def megatron(losses: Losses) -> str:
    """A loss that is NaN is not printed."""
    shown = [f" lm loss: {loss:.6E} |" if loss >= 0 else "" for loss in losses]
    return "".join(
        f" [2026-10-01 10:00:00.12] iteration {step:8d}/     100 | consumed samples: {8:12d} | "
        f"elapsed time per iteration (ms): 123.4 | learning rate: {RATE:.6E} | "
        f"global batch size:     8 |{loss} loss scale: 1.0 | grad norm: {NORM:.3f} | "
        f"number of skipped iterations:   0 | number of nan iterations: {not loss:3d} |\n"
        for step, loss in enumerate(shown, 1)
    )


WRITERS: dict[str, Callable[[Losses], str]] = {
    writer.__name__: writer
    for writer in (
        *(hf_trainer, hf_trainer_4, trainer_state, llama_factory, ms_swift, ms_swift_megatron),
        *(mindformers, mindformers_2023, mindformers_pynative, megatron),
    )
}


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
