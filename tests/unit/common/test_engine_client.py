# SPDX-License-Identifier: Apache-2.0
"""Why the engine cannot pull an image, by the status of its answer and not by its words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

import docker.errors
import pytest
import requests

from cannery.engine import client as engine

REFERENCE = "registry.example.com:5000/ascend:full"


class Images:
    """Answers as the engine's images would."""

    def __init__(self, status: int = 200, said: str = "") -> None:
        self.status, self.said = status, said

    def get_registry_data(self, reference: str) -> Any:
        assert reference == REFERENCE
        if self.status == 200:
            platforms = [{"os": "linux", "architecture": "arm64"}]
            return SimpleNamespace(attrs={"Platforms": platforms})
        response = requests.Response()
        response.status_code = self.status
        kind = docker.errors.NotFound if self.status == 404 else docker.errors.APIError
        raise kind("failed", response=response, explanation=self.said)


def asked(monkeypatch: pytest.MonkeyPatch, images: Images, platform: str) -> str:
    monkeypatch.setattr(engine, "connect", lambda: SimpleNamespace(images=images))
    return str(engine.why_not_pulled(REFERENCE, platform) or "")


def test_an_image_for_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, Images(), "linux/arm64") == ""
    said = asked(monkeypatch, Images(), "linux/amd64")
    assert said.startswith(f"{REFERENCE} has no image for linux/amd64; it has linux/arm64.")


LOGIN = "docker login registry.example.com:5000"


@pytest.mark.parametrize(
    ("status", "said", "message", "fix"),
    [
        (404, "manifest unknown", f"{REFERENCE} does not exist.", "Check the name."),
        (401, "no login", f"the registry refuses {REFERENCE}: no login.", LOGIN),
        (403, "denied: 404", f"the registry refuses {REFERENCE}: denied: 404.", LOGIN),
        (500, "port 40404", f"{REFERENCE} cannot be pulled: port 40404.", "reach the registry"),
    ],
)
def test_each_refusal_is_told_apart(
    monkeypatch: pytest.MonkeyPatch, status: int, said: str, message: str, fix: str
) -> None:
    found = asked(monkeypatch, Images(status, said), "linux/arm64")
    assert found.startswith(message)
    assert fix in found


class Image:
    """An image with two layers, the newest entries of its history first, as the engine has it."""

    attrs: ClassVar[dict[str, Any]] = {"RootFS": {"Layers": ["sha256:base", "sha256:os"]}}

    def __init__(self, *sizes: int) -> None:
        self.sizes = sizes

    def history(self) -> list[dict[str, Any]]:
        return [{"Size": size} for size in self.sizes]


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        ((0, 20, 0, 10), [10, 20]),
        # As for an image whose engine has no history of its base.
        ((20,), [None, None]),
        ((), [None, None]),
    ],
)
def test_layers_have_the_sizes_of_the_history(
    monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...], found: list[int | None]
) -> None:
    images = SimpleNamespace(get=lambda _: Image(*sizes))
    monkeypatch.setattr(engine, "connect", lambda: SimpleNamespace(images=images))
    assert engine.image_layers("cannery:x") == [("sha256:base", found[0]), ("sha256:os", found[1])]
