# SPDX-License-Identifier: Apache-2.0
"""What a log says around the line that a failure begins with.

The message without the logger's prefix, the frames of the traceback above it, the reason that CANN
gives after it, and the advice that the log itself has.
"""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple, Pattern

from .events import GUESSES, Event
from .log_files import lines_near
from .owners import CHECKOUTS, SITE, Values, values_of
from .prefix import Line, process_of, read_line
from .signs import pattern, patterns

LINES = 5
"""How many lines of a message are shown."""

_BEFORE, _AFTER = 120, 40
_HEAD = 1500
"""In how many lines of a log its program names its version and settings."""

_EXCERPT = 5
"""A log of so many lines cannot be expected to name its program."""

_FRAME, _TRACEBACK, _RULER, _PLACE, _STAMP, _QUOTED, _REASON, _SOLUTION = (
    pattern("evidence-" + name)
    for name in (
        *("frame", "traceback", "ruler", "place", "stamp", "quoted", "reason", "solution"),
    )
)
_LISTED, _ADVICE, _NO_ADVICE, _LANGUAGE, _CODE_OF_CANN, _STEPS = (
    pattern("evidence-" + name)
    for name in ("listed", "advice", "no-advice", "language", "code-of-cann", "steps")
)


_VAGUE = re.compile(r"Inner Error|TraceBack|Solution|support eng|^The argument is invalid\.?$")
_RELAYED = re.compile(r"RayTaskError\(|RemoteError:|ProcessRaisedException|Process \d+ terminated")
_NAMED, _LOOKS = pattern("line-exception"), pattern("looks")


class Frame(NamedTuple):
    """A frame of a traceback, and the source line that Python prints below it."""

    path: str
    line: int
    function: str
    source: str

    @property
    def place(self) -> str:
        """The name of the file and the line."""
        return f"{self.path.rpartition('/')[2]}:{self.line}"

    @property
    def package(self) -> str:
        """The installed package that it is of, or the checkout of a known one; empty if none."""
        parts = SITE.split(self.path)
        if len(parts) > 1:
            return parts[-1].strip("/").partition("/")[0].partition(".")[0]
        folders = [each.replace("-", "_") for each in self.path.split("/")[:-1]]
        known = [each for each in folders if each in CHECKOUTS]
        # A checkout has the package of its name: what is below is a part of it.
        own = [one for one, below in zip(folders, folders[1:]) if one == below and one in known]
        return (own or known or [""])[-1]

    @property
    def of_python(self) -> bool:
        """Whether it is of Python's own library."""
        return bool(re.search(r"/lib(?:64)?/python3[\d.]*/(?!site-|dist-)", self.path)) or (
            self.path.startswith("<")
        )


class Evidence(NamedTuple):
    """What the log says of a failure; what it does not have is empty."""

    message: tuple[str, ...]
    frames: tuple[Frame, ...]
    reason: str
    advice: str
    text: str
    """All lines near the message, of the same process."""
    whole: str
    """These, and the beginning of the log, in which programs name themselves and their versions."""

    @property
    def own_frames(self) -> tuple[Frame, ...]:
        """Those of the user's own code."""
        return tuple(each for each in self.frames if not each.package and not each.of_python)

    @property
    def is_python(self) -> bool:
        """Whether the program, or a part of it, is in Python."""
        return bool(self.frames or _LANGUAGE.search(self.text))

    def proves(self, needs: Pattern[str] | None) -> bool:
        """Whether the log speaks of what a cause needs, or is too short to do so."""
        return not needs or bool(needs.search(self.whole)) or self.text.count("\n") < _EXCERPT


def evidence(event: Event, path: str) -> Evidence:
    """What the log ``path`` says around ``event``."""
    near = [*_of_process(event, lines_near(path, event.number, _BEFORE, _AFTER))]
    before = [line for number, line in near if number < event.number]
    after = [line for number, line in near if number > event.number]
    first = read_line(event.text)
    if _RELAYED.search(first.text):
        # Ray puts the traceback of the worker, and its exception, below its own.
        inner = next((at for at, line in enumerate(after) if _NAMED.match(line.text)), None)
        if inner is not None:
            first, before, after = after[inner], before + after[:inner], after[inner + 1 :]
    message = [*_message(first.text, after)]
    block = [*message, *[line.text for line in after[:12]]]
    text = "\n".join([line.text for line in before[-40:]] + block)
    reason = next(_reasons(block), "")
    loud = [line.text for line in before[-8:] if line.level == "error" or _loud(line)]
    told = [*dict.fromkeys(_advice([*loud, *block]))]
    advice = " ".join(each if each.endswith((".", "!", "。")) else each + "." for each in told[:2])
    whole = "\n".join([*(line for _, line in lines_near(path, 1, 0, _HEAD)), text])
    return Evidence(tuple(message), tuple(_frames(before)), reason, advice, text, whole)


def facts(text: str) -> Values:
    """The versions and settings that ``text`` names."""
    found: Values = {}
    for search in patterns("facts"):
        match = search.search(text)
        found.update(values_of(match) if match else {})
    return found


def _of_process(event: Event, lines: list[tuple[int, str]]) -> Iterator[tuple[int, Line]]:
    """The lines that are of the process of ``event``, or that do not say whose they are."""
    for number, text in lines:
        for part in text.split("\\n") if text.count("\\n") > 2 else [text]:
            if not event.process or process_of(part) == event.process or number == event.number:
                yield number, read_line(part)


def _message(first: str, after: list[Line]) -> Iterator[str]:
    """The line, and those that go on with its message, without what only programmers need."""
    quoted = _QUOTED.search(first)
    first = _tidy(quoted["inner"] if quoted else first)
    yield first
    count, shown = 1, {first}
    short = len(first) < 120 or first.endswith((":", "["))
    for line in after[: 3 * LINES]:
        text = _tidy(line.text)
        if _TRACEBACK.search(line.text) or count >= LINES or not short:
            return
        if line.time and line.level and not _is_part(line):
            return
        if _STEPS.search(text) or (not text and (count > 1 or not first.endswith((":", "[")))):
            return
        if text and text not in shown and not _RULER.search(text):
            shown.add(text)
            yield text
            count += 1


def _loud(line: Line) -> bool:
    return not line.level and bool(_LOOKS.search(line.text))


def _is_part(line: Line) -> bool:
    return bool(_CODE_OF_CANN.search(line.text)) or line.level == "error"


def _tidy(text: str) -> str:
    """A line of a message without places in CANN's sources, stamps and what repeats them."""
    return re.sub(r"\s{2,}", " ", _STAMP.sub("", _PLACE.sub("", text))).strip()


def _frames(before: list[Line]) -> Iterator[Frame]:
    """The frames of the last traceback in ``before``, the outermost first."""
    lines = [line.text for line in before]
    start = max(
        (at for at, text in enumerate(lines) if text.lstrip().startswith("Traceback")), default=0
    )
    for at in range(start, len(lines)):
        match = _FRAME.search(lines[at])
        if match:
            source = lines[at + 1].strip() if at + 1 < len(lines) else ""
            source = "" if _FRAME.search(source) else source
            yield Frame(match["path"], int(match["line"]), match["function"], source)


def _reasons(lines: list[str]) -> Iterator[str]:
    """What CANN says after a code: the first text that is not only the name of the code."""
    for at, line in enumerate(lines):
        match = _REASON.search(_tidy(line))
        if match:
            yield next(filter(None, match.groups())).strip()
        elif _CODE_OF_CANN.search(line) or _STEPS.search(line):
            follow = [_tidy(_CODE_OF_CANN.sub("", each)).strip(": ") for each in lines[at : at + 4]]
            for each in follow:
                if len(each) > 20 and not re.search(
                    r"Inner Error|TraceBack|Solution|support eng", each
                ):
                    yield each


def _advice(lines: list[str]) -> Iterator[str]:
    """The first advice of the log that is more than a reference to other logs."""
    for at, line in enumerate(lines):
        solution = _SOLUTION.search(line)
        if solution:
            listed = [_LISTED.search(each) for each in lines[at + 1 : at + 4]]
            found = [solution["text"].strip(), *[each["text"].strip() for each in listed if each]]
            yield from [each for each in found if len(each) > 12 and not _NO_ADVICE.search(each)][
                :1
            ]
        elif not line.lstrip().startswith(("raise ", "File ")):
            for match in _ADVICE.finditer(GUESSES.split(line, 1)[0]):
                text = match["text"].strip(" ,")
                if text.endswith(":"):
                    # The statements to write are in the lines below it.
                    text += " " + "; ".join(each.strip() for each in lines[at + 1 : at + 3])
                if len(text) > 24 and not _NO_ADVICE.search(text):
                    yield text
