# SPDX-License-Identifier: Apache-2.0
"""How the bench of operators compares results, as JSON; runs with a Python that has torch."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import torch

from conformance.operators.comparison import described, determined, fits, is_random, whole

X = torch.tensor([[5.0, 7.0, 7.0, 1.0], [2.0, 2.0, 9.0, 2.0]])


def agree(name: str, found: Any, expected: Any, *args: Any, **kwargs: Any) -> bool:
    """Whether two results of an operator on X count as the same."""
    op, sample = SimpleNamespace(name=name), SimpleNamespace(input=X, args=args, kwargs=kwargs)
    first, second = (determined(op, sample, [*map(torch.as_tensor, r)]) for r in (found, expected))
    return fits(first, second, torch.float32)


def drawn(name: str, **kwargs: Any) -> bool:
    """Whether an operator draws numbers, on which its result depends."""
    op = SimpleNamespace(name=name, variant_test_name="")
    return is_random(op, SimpleNamespace(kwargs=kwargs))


def main() -> None:
    largest = [[7.0, 7.0], [9.0, 2.0]]
    order = [[3, 0, 1, 2], [0, 1, 3, 2]]
    other = [[3, 0, 2, 1], [3, 0, 1, 2]]
    none = torch.empty(2, 0), torch.empty(2, 0, dtype=torch.int64)
    cases = {
        "topk": agree("topk", (largest, [[2, 1], [2, 3]]), (largest, [[1, 2], [2, 0]]), 2),
        "topk, an element twice": agree(
            "topk", (largest, [[1, 1], [2, 3]]), (largest, [[1, 2], [2, 0]]), 2
        ),
        "topk, a smaller element": agree(
            "topk", (largest, [[1, 0], [2, 3]]), (largest, [[1, 2], [2, 0]]), 2
        ),
        "topk, of no elements": agree("topk", none, none, 0),
        "kthvalue of rows": agree("kthvalue", ([5.0, 2.0], [0, 3]), ([5.0, 2.0], [0, 1]), 2, 1),
        "argsort": agree("argsort", (other,), (order,)),
        "argsort, stable": agree("argsort", (other,), (order,), stable=True),
        "argmax": agree("argmax", ([2, 2],), ([1, 2],), 1),
        "integers for fractions": agree("abs", ([1],), ([1.0],)),
        "zeros without memory": bool(described([whole(torch._efficientzerotensor((2,)))])),
        "few values of all": drawn("svd_lowrank", M=None),
        "few values of more": drawn("svd_lowrank", M=X),
        "fractions for integers": agree("abs", ([1.0],), ([1],)),
    }
    print(json.dumps([name for name, same in cases.items() if same]))


if __name__ == "__main__":
    main()
