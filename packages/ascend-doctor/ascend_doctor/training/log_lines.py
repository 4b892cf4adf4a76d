# SPDX-License-Identifier: Apache-2.0
"""Reads a loss from one line of a training log.

The forms, and the programs whose sources they were read from:

- HF Trainer (transformers 4.41 and 5.23, trainer_callback.py): a dict of Python, whose numbers are
  quoted since transformers 5; trainer_state.json has the same as JSON.
- LLaMA-Factory (0.9.5, train/callbacks.py): trainer_log.jsonl with ``current_steps`` and ``lr``.
- ms-swift (4.6.0, trainers/patcher.py, megatron/callbacks/print.py): logging.jsonl with
  ``global_step/max_steps``, or ``iteration`` if it trains with Megatron.
- MindFormers (2.1.0, core/callback/callback.py, pynative/callback/loss_callback.py; the lines of
  2023 as in an article on LLaMA-13B): ``Epoch:[ 1/ 1], step:[ 4/ 812], loss:[0.7/0.7]``.
- Megatron-LM and MindSpeed-LLM (megatron/training/training.py of NVIDIA/Megatron-LM@001b00c):
  ``iteration 1/ 10 | ... | lm loss: 1.0E+01 |``. A loss that is NaN is not printed; the number of
  NaN iterations is.

- MindSpore (train/callback/_loss_monitor.py, 2.3): ``epoch: 1 step: 100, loss is 2.3``.
- verl (trainer, logger of the console): ``step:1 - actor/pg_loss:0.1 - critic/score/mean:0.3``.

A number counts only if what follows it is there too, so that half a line gives no wrong number.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Mapping

HF_TRAINER = "HF Trainer"
LLAMA_FACTORY = "LLaMA-Factory"
MS_SWIFT = "ms-swift"
MINDFORMERS = "MindFormers"
MEGATRON = "Megatron"
MINDSPORE = "MindSpore"
VERL = "verl"

_NUMBER = r"(?=([-+]?(?:nan|inf(?:inity)?|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?)))\2"
"""The second group of a pattern. Nothing goes back into what a lookahead has found, so that a line
of a million digits takes no longer than others."""
_PAIR = re.compile(
    rf"""["']([^"'{{}}:,]{{1,60}})["']\s*:\s*["']?{_NUMBER}(?:/[0-9]+)?["']?\s*(?=[,}}])""",
    re.IGNORECASE,
)
_MINDFORMERS = re.compile(
    r"(?:Epoch:\[\s*([0-9]{1,9})/\s*[0-9]+\],\s*)?\bstep:\[\s*([0-9]{1,9})/\s*([0-9]{1,9})\]"
)
_MINDFORMERS_VALUE = re.compile(
    rf"\b(loss|lr|global_norm|grad_norm):\s*\[?\s*{_NUMBER}(?=[\s,\]/])", re.IGNORECASE
)
_MEGATRON = re.compile(r"\biteration\s{1,20}([0-9]{1,9})/\s{0,20}[0-9]+\s?\|")
_MEGATRON_VALUE = re.compile(
    rf"\|\s?([a-z][a-z ]{{0,40}}?):?\s{{1,20}}{_NUMBER}\s?(?=\|)", re.IGNORECASE
)
_MINDSPORE = re.compile(
    r"\bepoch: ?([0-9]{1,9}),? step: ?([0-9]{1,9}),? loss is:? "
    r"(?=([-+]?(?:nan|inf|[0-9]+\.?[0-9]*(?:e[-+]?[0-9]+)?)))\3(?=\s|,|$)",
    re.IGNORECASE,
)
_VERL = re.compile(r"\bstep:([0-9]{1,9}) - ")
_VERL_VALUE = re.compile(rf"(?:^|- )([a-z][\w/@.-]{{0,60}}):{_NUMBER}(?=\s|$)", re.IGNORECASE)
_VERL_LOSS = ("actor/pg_loss", "actor/loss", "train/loss", "loss")
_BAR = re.compile(r"\|\s?([0-9]{1,9})/[0-9]+ \[[0-9:]+<")
_RANK = re.compile(r"\s?(?:\[(?:rank|default)?_?([0-9]{1,6})\]:?|([0-9]{1,6}):)\s")

_FORM_OF_KEY = {
    "current_steps": LLAMA_FACTORY,
    "global_step/max_steps": MS_SWIFT,
    "iteration": MS_SWIFT,
    "global_step": MS_SWIFT,
    "step": HF_TRAINER,
}
"""The key that has the step, and whose it is."""


@dataclass(frozen=True)
class Entry:
    """A loss, and what is logged with it.

    Attributes:
        step: counted from 1; None if the line does not have it.
        bar: the step that the last progress bar before it shows.
    """

    form: str
    loss: float
    step: int | None = None
    bar: int | None = None
    grad_norm: float | None = None
    learning_rate: float | None = None
    epoch: float | None = None


def rank_of(line: str) -> str:
    """The rank that torchrun or srun has put before ``line``; empty if there is none."""
    match = _RANK.match(line)
    return (match[1] or match[2]) if match else ""


def bar_in(line: str) -> int | None:
    """The step that a progress bar of tqdm in ``line`` shows."""
    bars = _BAR.findall(line)
    return int(bars[-1]) if bars else None


def entry_in(line: str, bar: int | None = None) -> Entry | None:
    """The loss in ``line``; ``bar`` is the step that the last progress bar has shown."""
    read = _megatron(line) or _mindformers(line) or _mindspore(line) or _verl(line)
    return read or of_mapping(_pairs(line), bar)


def of_mapping(values: Mapping[str, float], bar: int | None = None) -> Entry | None:
    """The loss among ``values``, which a line of JSON or a dict of Python has."""
    if "loss" not in values:
        return None
    key = next((each for each in _FORM_OF_KEY if each in values), "")
    return Entry(
        form=_FORM_OF_KEY.get(key, HF_TRAINER),
        loss=values["loss"],
        step=_step(values[key]) if key else None,
        bar=bar,
        grad_norm=values.get("grad_norm"),
        learning_rate=values.get("learning_rate", values.get("lr")),
        epoch=values.get("epoch"),
    )


def _pairs(line: str) -> dict[str, float]:
    start = line.find("{")
    if start < 0 or line.rfind("}") < start:
        return {}
    return {name: float(number) for name, number in _PAIR.findall(line, start)}


def _step(number: float) -> int | None:
    return int(number) if math.isfinite(number) and 0 <= number < 10**9 else None


def _mindformers(line: str) -> Entry | None:
    match = _MINDFORMERS.search(line)
    if not match:
        return None
    values = {name.lower(): float(number) for name, number in _MINDFORMERS_VALUE.findall(line)}
    if "loss" not in values:
        return None
    epoch = int(match[1] or 1)
    return Entry(
        form=MINDFORMERS,
        loss=values["loss"],
        step=_step((epoch - 1) * int(match[3]) + int(match[2])),
        grad_norm=values.get("global_norm", values.get("grad_norm")),
        learning_rate=values.get("lr"),
    )


def _mindspore(line: str) -> Entry | None:
    """Its steps begin at 1 in each epoch, so only those of the first are steps of the run."""
    match = _MINDSPORE.search(line)
    if not match:
        return None
    epoch, step = int(match[1]), int(match[2])
    first = _step(step) if epoch == 1 else None
    return Entry(form=MINDSPORE, loss=float(match[3]), step=first, epoch=epoch)


def _verl(line: str) -> Entry | None:
    match = _VERL.search(line)
    if not match:
        return None
    values = {name: float(number) for name, number in _VERL_VALUE.findall(line, match.start())}
    loss = next((values[name] for name in _VERL_LOSS if name in values), None)
    if loss is None:
        return None
    norm, rate = values.get("actor/grad_norm"), values.get("actor/lr")
    return Entry(VERL, loss, _step(int(match[1])), grad_norm=norm, learning_rate=rate)


def _megatron(line: str) -> Entry | None:
    match = _MEGATRON.search(line)
    if not match:
        return None
    found = _MEGATRON_VALUE.findall(line, match.end() - 1)
    values = {name.lower(): float(number) for name, number in found}
    loss = values.get("lm loss", values.get("loss"))
    if loss is None and values.get("number of nan iterations"):
        loss = math.nan
    if loss is None:
        return None
    return Entry(
        form=MEGATRON,
        loss=loss,
        step=_step(int(match[1])),
        grad_norm=values.get("grad norm"),
        learning_rate=values.get("learning rate"),
    )
