# SPDX-License-Identifier: Apache-2.0
"""Words of any characters arrive as they were meant."""

from __future__ import annotations

import subprocess

import yaml
from hypothesis import given
from hypothesis import strategies as st

from cannery.deploy.clusters import yaml_text
from tests.unit.workloads import container, text

# ---- whatever is in a word

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
ODD = st.sampled_from(
    [
        *("$HOME", "${X}", "$$", "$", "$(X)", "$$(X)", "'", '"', "\\", "\n", " ", ""),
        *("y", "on", "0o7", "0x1f", "1e3", "~", "=", "?", "- a", "a: b", "#x", "!tag", "*", "&a"),
        *("{a}", "\u2028", "\x7f", "é"),
    ]
)
COMMANDS = st.lists(WORDS | ODD | st.tuples(WORDS, ODD, WORDS).map("".join), min_size=1, max_size=5)


def as_kubernetes_reads(word: str) -> str:
    """``$$`` is a dollar, ``$(NAME)`` a variable's value. Source: kubernetes.io, Container v1."""
    read, rest = "", word
    while rest:
        if rest.startswith("$$"):
            read, rest = read + "$", rest[2:]
        else:
            assert not (rest.startswith("$(") and ")" in rest), "it would be replaced"
            read, rest = read + rest[0], rest[1:]
    return read


@given(command=COMMANDS)
def test_a_pod_gets_the_words_that_were_meant(command: list[str]) -> None:
    for form in ("k8s", "volcano"):
        args = container(form, command=command)["args"]
        assert [as_kubernetes_reads(word) for word in args] == command


@given(command=COMMANDS, folder=st.text(st.sampled_from("a $'\"\\,=\n"), max_size=8))
def test_a_shell_gets_the_words_that_were_meant(command: list[str], folder: str) -> None:
    more = text("shell", command=command, mounts={f"/{folder}": "/data"})
    argv = ["bash", "-c", f"printf '%s\\0' {more}"]
    read = subprocess.run(argv, capture_output=True, check=True).stdout.decode()
    words = read.split("\0")[:-1]
    assert words[-len(command) :] == command
    assert f"/{folder}:/data" in words


@given(words=COMMANDS)
def test_yaml_keeps_every_word(words: list[str]) -> None:
    data = {"list": words, "map": {word: word for word in words}, "deep": [[words]]}
    assert [*yaml.safe_load_all(yaml_text([], [data, data]))] == [data, data]
