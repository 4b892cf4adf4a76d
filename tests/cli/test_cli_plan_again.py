# SPDX-License-Identifier: Apache-2.0
"""A plan is remembered, and a memory is believed only while the engine says the same, too."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cannery.cli import building
from tests.cli.checkout import Checkout
from tests.cli.docker_program import Docker

TARGET = "py39-torch231-cann8t39"
OTHER = "py39-torch210-cann8rc2"
IMAGE = f"cannery:{TARGET}-sim"
ONE = ("--target", TARGET, "--simulate", "--plan")


class MadeAgainError(Exception):
    pass


@pytest.fixture
def only_memory(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From now on no plan can be made."""

    def refuse(*_: object) -> None:
        raise MadeAgainError

    return lambda: monkeypatch.setattr(building, "make_plan", refuse)


def plan(checkout: Checkout, docker: Docker, *more: str) -> dict[str, str]:
    """What is planned for the target."""
    result = checkout.run(*ONE, "--format", "json", *more, env=docker.env)
    result.accepted()
    [found] = json.loads(result.out)["targets"]
    return {name: found[name] for name in ("action", "why", "key", "image")}


def test_what_was_planned_is_known(
    checkout: Checkout, docker: Docker, only_memory: Callable[[], None]
) -> None:
    questions = [ONE, ("--target", OTHER, *ONE[2:]), ("--all", *ONE[2:]), (*ONE, "--no-test")]
    first = [checkout.run(*words, env=docker.env) for words in questions]
    assert [result.code for result in first] == [0] * len(questions)
    only_memory()
    for words, result in zip(questions, first, strict=True):
        again = checkout.run(*words, env=docker.env)
        assert (again.code, again.out, again.messages) == (0, result.out, [])


@pytest.mark.parametrize(
    "more", [["--no-test"], ["--force"], ["--verbose"], ["--format", "json"], ["--target", OTHER]]
)
def test_another_question_has_another_answer(
    checkout: Checkout, docker: Docker, only_memory: Callable[[], None], more: list[str]
) -> None:
    checkout.run(*ONE, env=docker.env).accepted()
    only_memory()
    with pytest.raises(MadeAgainError):
        checkout.run(*ONE, *more, env=docker.env)


def test_images_that_come_change_and_go(checkout: Checkout, docker: Docker) -> None:
    first = plan(checkout, docker)
    assert (first["action"], first["why"]) == ("build", f"this machine has no {IMAGE}")
    built = {IMAGE: ("sha256:1", {"io.cannery.key": first["key"]})}
    docker.has(built)
    there = {**first, "action": "skip", "why": f"{IMAGE} is up to date", "image": "sha256:1"}
    assert plan(checkout, docker, "--no-test") == there
    assert plan(checkout, docker, "--no-test") == there
    docker.has({IMAGE: ("sha256:2", built[IMAGE][1])})
    assert plan(checkout, docker, "--no-test") == {**there, "image": "sha256:2"}
    docker.has({IMAGE: ("sha256:2", {"io.cannery.key": "sha256:3"})})
    assert plan(checkout, docker, "--no-test")["why"] == f"the inputs of {IMAGE} have changed"
    docker.has({})
    assert plan(checkout, docker, "--no-test") == first


def test_a_new_base_image_changes_the_plan(checkout: Checkout, docker: Docker) -> None:
    # What stands in for the base is known by its id.
    stand_in = checkout.project.matrix().targets[TARGET].base.bootstrap_tag("arm64")
    docker.has({stand_in: ("sha256:1", {})})
    first = plan(checkout, docker)
    assert plan(checkout, docker) == first
    docker.has({stand_in: ("sha256:2", {})})
    assert plan(checkout, docker)["key"] != first["key"]


def test_an_engine_that_stops_answering(checkout: Checkout, docker: Docker) -> None:
    checkout.run(*ONE, env=docker.env).accepted()
    (docker.folder / "images.json").unlink()
    result = checkout.run(*ONE, env=docker.env)
    assert result.code == 0
    assert "the local images are unknown, because no engine answers" in result.out
    docker.has({})
    assert f"this machine has no {IMAGE}" in checkout.run(*ONE, env=docker.env).out


def test_what_was_planned_without_an_engine_is_known(
    checkout: Checkout, docker: Docker, only_memory: Callable[[], None]
) -> None:
    (docker.folder / "images.json").unlink()
    first = checkout.run(*ONE, env=docker.env)
    assert "because no engine answers" in first.out
    only_memory()
    again = checkout.run(*ONE, env=docker.env)
    assert (again.code, again.out) == (0, first.out)
    for result in (first, again):
        result.accepted("the container engine does not answer")
    docker.has({})
    with pytest.raises(MadeAgainError):
        checkout.run(*ONE, env=docker.env)


def test_files_that_are_fetched_meanwhile(
    checkout: Checkout, docker: Docker, tmp_path: Path, only_memory: Callable[[], None]
) -> None:
    words = (*ONE, "--cache", str(tmp_path / "store"))
    checkout.run(*words, env=docker.env).accepted()
    (tmp_path / "store" / "sha256" / "ab").mkdir(parents=True)
    (tmp_path / "store" / "sha256" / "ab" / "abcd").touch()
    only_memory()
    with pytest.raises(MadeAgainError):
        checkout.run(*words, env=docker.env)


def test_a_file_of_the_vendor_that_is_replaced(
    checkout: Checkout, docker: Docker, tmp_path: Path
) -> None:
    target = checkout.project.matrix().targets[TARGET]
    folder = tmp_path / "files"
    folder.mkdir()
    for file in target.artifacts.values():
        (folder / file.name).write_text("one", encoding="utf-8")
    words = ("--target", TARGET, "--plan", "--format", "json", "--artifacts", str(folder))
    first = checkout.run(*words, env=docker.env)
    first.accepted()
    assert checkout.run(*words, env=docker.env).out == first.out
    (folder / next(iter(target.artifacts.values())).name).write_text("two", encoding="utf-8")
    second = checkout.run(*words, env=docker.env)
    second.accepted()
    assert second.out != first.out


def test_the_newest_plans_are_kept(
    checkout: Checkout, docker: Docker, only_memory: Callable[[], None]
) -> None:
    for width in range(100, 121):
        checkout.run(*ONE, "--jobs", str(width), env=docker.env).accepted()
    only_memory()
    checkout.run(*ONE, "--jobs", "101", env=docker.env).accepted()
    with pytest.raises(MadeAgainError):
        checkout.run(*ONE, "--jobs", "100", env=docker.env)
