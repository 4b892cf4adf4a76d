# SPDX-License-Identifier: Apache-2.0
"""What commands remember is never out of date: they say the same as without a memory."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from tests.cli.checkout import Checkout, Result
from tests.cli.docker_program import Docker

TARGET = "py39-torch231-cann8t39"
OTHER = "py39-torch210-cann8rc2"
IMAGE = f"cannery:{TARGET}-sim"
COMMANDS = [
    ["list", "--verbose"],
    ["check"],
    ["explain", TARGET],
    ["render", "--check"],
    ["build", "--all", "--simulate", "--plan"],
    ["build", "--target", TARGET, "--simulate", "--plan"],
]


def said(result: Result) -> tuple[int, str, list[str]]:
    return result.code, result.out, result.messages


def append(name: str, text: str = "\n") -> Callable[[Checkout], None]:
    def appended(checkout: Checkout) -> None:
        path = checkout.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(text)

    return appended


def place_files(checkout: Checkout) -> None:
    """Put the files there that the simulator has no stand-in for."""
    target = checkout.project.matrix().targets[TARGET]
    for file in target.artifacts.values():
        append(f"artifacts/{file.name}")(checkout)


def move_behind_a_link(checkout: Checkout) -> None:
    """The same files, below a link to their folder."""
    folder = checkout.root / "images" / TARGET
    folder.rename(checkout.root / "aside")
    folder.symlink_to(checkout.root / "aside", target_is_directory=True)


def two_changes(checkout: Checkout) -> None:
    """One that is found, and then one of another target."""
    append(f"images/{TARGET}/Dockerfile")(checkout)
    assert checkout.run("render", "--check").code == 4
    append(f"images/{OTHER}/profile.sh")(checkout)


CHANGES: dict[str, Callable[[Checkout], object]] = {
    "a summary": lambda each: each.edit("the one to take first", "the one to take last"),
    "an error": append("matrix.yaml", "unknown: 1\n"),
    "the facts": lambda each: each.edit("note: ", "note: New: ", "compat.yaml"),
    "an error in the settings": append("cannery.toml", "[unknown]\n"),
    "a rendered file": append(f"images/{TARGET}/Dockerfile"),
    "a file beside it": append(f"images/{TARGET}/stray"),
    "a file of another folder": append("images/stray/file"),
    "an empty folder": lambda each: (each.root / "images" / TARGET / "empty").mkdir(),
    "the build context": append("cannery/image/context/seal-layer"),
    "a template": append("cannery/image/templates/Dockerfile.j2", "# {{ target.id }}\n"),
    "a lock": append(f"images/{TARGET}/requirements.lock", "unknown\n"),
    "results": append(f"verified/{TARGET}.yaml", "unknown: 1\n"),
    "a report": append(f".cannery/reports/cannery_{TARGET}-sim.json"),
    "files of the vendor": place_files,
    "a check of images": append("tests/image/conftest.py"),
    "a link": move_behind_a_link,
    "two changes": two_changes,
    "no facts": lambda each: (each.root / "compat.yaml").unlink(),
    "no matrix": lambda each: (each.root / "matrix.yaml").unlink(),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_says_the_same_again(
    checkout: Checkout, docker: Docker, command: list[str]
) -> None:
    first = said(checkout.run(*command, env=docker.env))
    assert said(checkout.run(*command, env=docker.env)) == first


@pytest.mark.parametrize("change", CHANGES)
def test_after_a_change_commands_say_what_they_say_without_a_memory(
    checkout: Checkout, docker: Docker, change: str
) -> None:
    docker.has({IMAGE: ("sha256:1", {"io.cannery.key": "sha256:2"})})
    place_files(checkout)
    for command in COMMANDS:
        checkout.run(*command, env=docker.env).accepted()
    CHANGES[change](checkout)
    remembering = [said(checkout.run(*command, env=docker.env)) for command in COMMANDS]
    shutil.rmtree(checkout.root / ".cannery" / "cache")
    # Backwards: 'render --check' leaves what a plan would find.
    for command, found in reversed([*zip(COMMANDS, remembering, strict=True)]):
        assert said(checkout.run(*command, env=docker.env)) == found
