# SPDX-License-Identifier: Apache-2.0
"""A target as each format writes it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from cannery.common.errors import UsageError
from cannery.deploy import formats
from cannery.deploy.workload import Workload
from cannery.matrix.project import Project
from tests.unit.matrices import CHECKOUT

TARGETS = Project(root=CHECKOUT).matrix().targets
TARGET = TARGETS["py39-torch231-cann8t39"]
SERVED = TARGETS["py310-torch210-cann80rc1-llamafactory082"]
IMAGE = "registry.example.com:5000/ascend@sha256:" + "0" * 64


def text(form: str, cards: int = 1, **more: Any) -> str:
    more["cards"] = tuple(range(cards))
    return formats.text(form, Workload(**{"image": IMAGE, "target": TARGET, **more}))


def documents(form: str, **more: Any) -> list[dict[str, Any]]:
    return [*yaml.safe_load_all(text(form, **more))]


def container(form: str, **more: Any) -> dict[str, Any]:
    spec = documents(form, **more)[-1]["spec"]
    template = spec["tasks"][0]["template"] if form == "volcano" else spec["template"]
    found: dict[str, Any] = template["spec"]["containers"][0]
    return found


def refused(form: str, *said: str, **more: Any) -> None:
    with pytest.raises(UsageError) as caught:
        text(form, **more)
    messages = [str(problem) for problem in caught.value.problems]
    assert len(messages) == len(said), messages
    for message, part in zip(messages, said, strict=True):
        assert part in message
