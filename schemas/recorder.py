# SPDX-License-Identifier: Apache-2.0
"""A mapping that notes which keys its reader asks for, of which kind, and which are required."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Self, TypeVar

import yaml

from cannery.common.yaml_reader import Problems, Section

T = TypeVar("T")


class Name(str):
    """A key that the author of the file chooses, such as the name of a target."""

    __slots__ = ()


@dataclass(kw_only=True)
class Request:
    """What a reader asks of the value of one key, or of every key that the author chooses.

    ``kinds`` are the names of methods of Section. ``below`` are the mappings in the value.
    """

    required: bool = True
    kinds: set[str] = field(default_factory=set)
    choices: tuple[str, ...] = ()
    default: str = ""
    below: list[Recorder] = field(default_factory=list)


class Recorder(Section):
    """A Section that notes what is asked of it.

    ``answers`` holds what may decide about further keys: by key the name that was chosen from a
    fixed list, or whether the key is present.
    """

    def __init__(self, node: yaml.Node, name: str, problems: Problems) -> None:
        super().__init__(node, name, problems)
        self.asked: dict[str, Request] = {}
        self.free = Request()
        self.answers: dict[str, str | bool] = {}

    @property
    def required(self) -> frozenset[str]:
        return frozenset(key for key, asked in self.asked.items() if asked.required)

    def _about(self, key: str) -> Request:
        return self.free if isinstance(key, Name) else self.asked.setdefault(key, Request())

    def _note(self, key: str, kind: str) -> Request:
        asked = self._about(key)
        asked.kinds.add(kind)
        return asked

    def __contains__(self, key: str) -> bool:
        self.answers[key] = super().__contains__(key)
        return bool(self.answers[key])

    def take(self, key: str, *, required: bool = True) -> yaml.Node | None:
        asked = self._about(key)
        # A reader that has asked for a key as optional asks again only if the key is present.
        asked.required = asked.required and required
        return super().take(key, required=required)

    def text(self, key: str, *, required: bool = True, default: str = "") -> str:
        self._note(key, "text")
        return super().text(key, required=required, default=default)

    def texts(self, key: str, wrong: Callable[[str], str] = lambda _: "") -> tuple[str, ...]:
        self._note(key, "texts")
        return super().texts(key, wrong)

    def text_or_texts(self, key: str) -> tuple[str, ...]:
        self._note(key, "text")
        self._note(key, "some texts")
        return super().text_or_texts(key)

    def flag(self, key: str, *, default: bool = False) -> bool:
        self._note(key, "flag")
        return super().flag(key, default=default)

    def section(self, key: str, *, required: bool = True) -> Self | None:
        asked = self._note(key, "section")
        below = super().section(key, required=required)
        asked.below += [below] if below else []
        return below

    def mappings(self, key: str, *, required: bool = False, item: str = "") -> list[Self]:
        asked = self._note(key, "mappings")
        below = super().mappings(key, required=required, item=item)
        asked.below += below
        return below

    def sections(self) -> Iterator[tuple[str, Self]]:
        for key, below in super().sections():
            self._note(Name(key), "section").below.append(below)
            yield Name(key), below

    def names(self) -> list[str]:
        return [Name(key) for key in super().names()]

    def choose(self, key: str, known: dict[str, T], noun: str, default: str = "") -> T | None:
        # Names that the file itself defines are not known to its schema.
        if not any(isinstance(name, Name) for name in known):
            asked = self._note(key, "text")
            asked.choices, asked.default = tuple(known), default
            node = self._values[key][1] if key in self._values else None
            self.answers[key] = str(node.value) if node else default
        return super().choose(key, known, noun, default)
