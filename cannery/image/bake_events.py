# SPDX-License-Identifier: Apache-2.0
"""Parses the output of ``docker buildx bake --progress rawjson``, line by line.

A step is a vertex of BuildKit. A step that several targets share appears once for each of them,
under different names; its output appears once.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

_NAME = re.compile(r"\[(?P<first>[^\]\s]+)(?: (?P<rest>[^\]]*))?\] (?P<text>.*)", re.DOTALL)
_TIME = re.compile(r"T([0-9]+):([0-9]+):([0-9]+(?:\.[0-9]+)?)")
_OPTIONAL = "importing cache manifest from "
"""The beginning of steps that read a cache. If one fails, the build continues."""

_WRITTEN = re.compile(r"(?:writing image|exporting (?:manifest|config)) (sha256:[0-9a-f]{64})")
"""BuildKit's message that an image, its manifest or its config was written."""

_CANCELED = re.compile(r"context canceled|operation was canceled", re.IGNORECASE)


def short(step: str) -> str:
    """A step's stage, number and instruction, without arguments, as in ``os 1/1 RUN``."""
    match = re.match(r"\[([^\]]+)\] (\S+)", step)
    return f"{match[1]} {match[2]}" if match else step.partition("\n")[0]


class EventKind(StrEnum):
    """The kinds of events of a step."""

    STARTED = "started"
    DONE = "done"
    CACHED = "cached"
    FAILED = "failed"
    OUTPUT = "output"
    """``text`` is output of the step."""
    WROTE = "wrote"
    """``text`` is the digest of the image, the manifest or the config that it wrote."""


_ENDS = (EventKind.DONE, EventKind.FAILED)


@dataclass(frozen=True, kw_only=True)
class Event:
    """An event. ``target`` is a bake name, or empty if the event is about no target."""

    kind: EventKind
    target: str = ""
    step: str = ""
    text: str = ""
    seconds: float = 0.0


@dataclass
class _Steps:
    """The steps of one target: digest to name, and digest to state."""

    names: dict[str, str] = field(default_factory=dict)
    state: dict[str, EventKind] = field(default_factory=dict)


class Events:
    """Turns lines into events, for the bake targets ``names``."""

    def __init__(self, names: Collection[str]) -> None:
        self._targets = {name: _Steps() for name in names}
        self._open: list[str] = []

    def steps(self, target: str) -> tuple[int, int]:
        """The number of finished steps of ``target``, and the number of known steps."""
        steps = self._targets[target]
        finished = [s for s in steps.state.values() if s is not EventKind.STARTED]
        return len(finished), len(steps.names)

    def feed(self, line: str) -> Iterator[Event]:
        """The events that ``line`` completes. Lines that are not JSON are messages of buildx."""
        for loaded in self._objects(line):
            if isinstance(loaded, str):
                yield Event(kind=EventKind.OUTPUT, text=loaded)
                continue
            steps = [e for vertex in loaded.get("vertexes") or () for e in self._vertex(vertex)]
            yield from (event for event in steps if event.kind not in _ENDS)
            for status in loaded.get("statuses") or ():
                written = _WRITTEN.fullmatch(str(status.get("id", "")))
                if written and status.get("completed"):
                    yield from self._of(status, EventKind.WROTE, written[1])
            for log in loaded.get("logs") or ():
                with suppress(binascii.Error):
                    text = base64.b64decode(str(log.get("data", ""))).decode(errors="replace")
                    yield from self._of(log, EventKind.OUTPUT, text)
            # A busy engine tells in one object what a step wrote and that it ended.
            yield from (event for event in steps if event.kind in _ENDS)

    def _objects(self, line: str) -> Iterator[Mapping[str, Any] | str]:
        # Some versions of buildx write an object in one line, others in several lines, of which
        # only the last one begins with a closing bracket.
        if self._open and line.startswith("{"):
            yield "".join(self._open)
            self._open.clear()
        if not self._open and not line.startswith("{"):
            yield line
            return
        self._open.append(line)
        if not line.startswith(("{", "}")):
            return
        text = "".join(self._open)
        try:
            loaded = json.loads(text)
        except ValueError:
            if not line.startswith("}"):
                return
            loaded = text
        self._open.clear()
        yield loaded if isinstance(loaded, dict) else text

    def _vertex(self, vertex: Mapping[str, Any]) -> Iterator[Event]:
        target, step = self._named(str(vertex.get("name", "")))
        digest = str(vertex.get("digest", ""))
        if not target or step.startswith("[internal]"):
            kind, text = _state(vertex)
            if target and kind is EventKind.FAILED:
                yield Event(kind=kind, target=target, step=step, text=text)
            return
        steps = self._targets[target]
        steps.names[digest] = step
        kind, text = _state(vertex)
        if kind is EventKind.FAILED and step.startswith(_OPTIONAL):
            kind = EventKind.DONE
        before = steps.state.get(digest)
        # A finished step appears again when BuildKit fetches its result.
        finished = (
            before in (EventKind.DONE, EventKind.CACHED, EventKind.FAILED)
            and kind is not EventKind.FAILED
        )
        if kind is None or kind is before or finished:
            return
        steps.state[digest] = kind
        seconds = _seconds(vertex)
        yield Event(kind=kind, target=target, step=step, text=text, seconds=seconds)

    def _named(self, name: str) -> tuple[str, str]:
        """The target and the step in a vertex's name, which contains only one target."""
        match = _NAME.fullmatch(name)
        if match and match["first"] in self._targets:
            inner = f"[{match['rest']}] " if match["rest"] else ""
            return match["first"], inner + match["text"]
        if len(self._targets) == 1 and name != "[internal] load local bake definitions":
            return next(iter(self._targets)), name
        return "", name

    def _of(self, entry: Mapping[str, Any], kind: EventKind, text: str) -> Iterator[Event]:
        """An event for each target that has the step of ``entry``."""
        digest = str(entry.get("vertex", ""))
        for target, steps in self._targets.items():
            if digest in steps.names:
                yield Event(kind=kind, target=target, step=steps.names[digest], text=text)


def _state(vertex: Mapping[str, Any]) -> tuple[EventKind | None, str]:
    error = str(vertex.get("error") or "")
    if error:
        return (None, "") if _CANCELED.search(error) else (EventKind.FAILED, error)
    if vertex.get("cached"):
        return EventKind.CACHED, ""
    if vertex.get("completed"):
        return EventKind.DONE, ""
    return (EventKind.STARTED if vertex.get("started") else None), ""


def _seconds(vertex: Mapping[str, Any]) -> float:
    started = _TIME.search(str(vertex.get("started") or ""))
    completed = _TIME.search(str(vertex.get("completed") or ""))
    if not started or not completed:
        return 0.0
    hours, minutes, seconds = (
        float(end) - float(begin)
        for begin, end in zip(started.groups(), completed.groups(), strict=True)
    )
    return (hours * 3600 + minutes * 60 + seconds) % 86400
