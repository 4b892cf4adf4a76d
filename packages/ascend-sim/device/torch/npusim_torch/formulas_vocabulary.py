# SPDX-License-Identifier: Apache-2.0
"""The loss of a model whose vocabulary is shared out over cards, as Megatron-LM computes it."""

from __future__ import annotations

from typing import Any

import torch

_BITS = [7, 6, 5, 4, 3, 2, 1, 0]
"""A byte of the mask has eight targets, the first one in its highest bit."""


def _unsmoothed(smoothing: float) -> None:
    if smoothing:
        raise NotImplementedError("smoothing over a part of the vocabulary is not simulated")


def vocabulary_max_sum(x: Any, weight: Any, target: Any, start: int, end: int) -> Any:
    """Over the words of this card: largest logit, sum of exponentials, the target's logit.

    Also which targets are on another card, and the places of the others, and all logits.
    """
    logits = x.float() @ weight.float().t()
    top = logits.amax(-1)
    below = logits - top[:, None]
    elsewhere = (target < start) | (target > end)
    place = torch.where(elsewhere, torch.zeros_like(target), target - start)
    predicted = below.gather(1, place.long()[:, None])[:, 0].masked_fill(elsewhere, 0)
    bits = torch.ones((len(target) + 7) // 8 * 8, dtype=torch.int64)
    bits[: len(target)] = elsewhere.long()
    mask = (bits.reshape(-1, 8) << torch.tensor(_BITS)).sum(1)
    return top, below.exp().sum(-1), predicted, mask, place, logits


def vocabulary_loss(top: Any, total: Any, predicted: Any, smoothing: float, logits: Any) -> Any:
    """The loss of each row and, where there are logits, the probabilities."""
    _unsmoothed(smoothing)
    loss = total.log() - predicted
    if logits is None:
        return loss, None
    return loss, (logits.float() - top[:, None]).exp() / total[:, None]


def vocabulary_loss_backward(
    grad: Any,
    x: Any,
    weight: Any,
    mask: Any,
    place: Any,
    smoothing: float,
    top: Any,
    total: Any,
    softmax: Any,
) -> Any:
    """Gradients of the input and of the weight; without probabilities they are computed again."""
    _unsmoothed(smoothing)
    if softmax is None:
        logits = x.float() @ weight.float().t()
        softmax = (logits - top[:, None]).exp() / total[:, None]
    here = 1 - ((mask.long()[:, None] >> torch.tensor(_BITS)) & 1).reshape(-1)[: len(x)]
    change = softmax.float().clone()
    change[torch.arange(len(x)), place.long()] -= here.float()
    change *= grad.float()[:, None]
    return change @ weight.float(), change.t() @ x.float()


__all__ = ["vocabulary_loss", "vocabulary_loss_backward", "vocabulary_max_sum"]
