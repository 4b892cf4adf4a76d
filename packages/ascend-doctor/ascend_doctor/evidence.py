# SPDX-License-Identifier: Apache-2.0
"""What a log says around the line that a failure begins with.

The message without the logger's prefix, the frames of the traceback above it, the reason that CANN
gives after it, and the advice that the log itself has.
"""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple

from .events import GUESSES, Event
from .log_files import lines_near
from .owners import SITE
from .prefix import Line, process_of, read_line

LINES = 5
"""How many lines of a message are shown."""

_BEFORE, _AFTER = 120, 40
_FRAME = re.compile(r'^\s*File "(?P<path>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)')
_TRACEBACK = re.compile(r"^\s*(?:Traceback \(most recent|File \"|During handling|The above exc)")
_RULER = re.compile(r"^(?:\[\d+\])?[\s/|]*(?:[-=*_#~^|+ ]{4,}|[-_=*]{3,}.*[-_=*]{3,})$")
_PLACE = re.compile(r"\[(?:FUNC|FILE|LINE|THREAD|TraceBack)[:=][^\]]*\]|\[PID: ?\d+\]")
_STAMP = re.compile(r" ?\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d[\d.]*(?: \(\w+\):)?")
_QUOTED = re.compile(
    r"Worker failed with error '(?P<inner>.{10,}?)'?(?:, please check the stack.*)?$"
)
_REASON = re.compile(
    r"^\s*(?:Possible Cause|Reason|reason)[:=]\s*(?P<text>\S.*)|\bReason: ?(?P<more>\S.*)"
)
_SOLUTION = re.compile(
    r"^\s*(?:Solution|Suggestions?|Hint|hint|Tip|建议|解决方(?:法|案))\s*[:：]\s*(?P<text>.*)"
)
_LISTED = re.compile(r"^\s*\d[).]\s*(?P<text>\S.*)")
_ADVICE = re.compile(
    r"(?:^|(?<=[.!?;:,(\[] )|(?<=[.!?;\]]))(?P<text>(?:(?:and|or|but|If so,|Otherwise,?|To \w+[^.]{0,60},) )?"
    r"(?:[Pp]lease|[Pp]ls|[Tt]ry (?:to )?\w+ing|[Tt]ry (?!again)|[Yy]ou (?:can|may|need to|must|should)|[Cc]onsider \w+ing"
    r"|[Uu]se (?=[`'\"-])|[Ss]et (?=[`'\"A-Z-])|[Ii]nstall (?=[`'\"\w])|[Uu]pgrade |[Dd]owngrade |[Rr]un [`'\"]"
    r"|Did you (?:mean|forget)|[Mm]ake sure|[Ii]ncrease |[Dd]ecrease |[Rr]educe |[Ee]xport [A-Z]|Remove "
    r"|[Cc]heck (?:if|whether|that)|请|建议)(?:[^.!?。;]|[.](?=\S))*[.!?。]?)"
)
_NO_ADVICE = re.compile(
    r"stack ?trace|above for|root cause|[Cc]heck (?:the )?(?:service )?log|console output|contact|report (?:it|this)"
    r"|ASCEND_LAUNCH_BLOCKING|plog|ascend log|error (?:message|information|log)|enable traceback|input parameter range"
    r"|error_file|logs? (?:of|for|in|file)|see (?:the )?(?:root|log|above|full)|function invocation|Close applications"
    r"|remaining storage|open an issue|github\.com\S*/issues|more (?:details|information)|details?\b.{0,20}\b(?:see|refer)"
    r"|try again later|查看日志|联系"
)
"""Advice that helps nobody: it sends to what was read already."""

_LANGUAGE = re.compile(r"\.py\b|[Tt]raceback|Python|python|\w+Error: |pip\b")
_CODE_OF_CANN = re.compile(r"^(?:\S+ )?(?:\[[A-Z ]*ERROR\] )?E[A-Z0-9]\d{4}\b")
_STEPS = re.compile(r"(?:TraceBack|Traceback|Call Stack) \(|C\+\+ Call Stack")


class Frame(NamedTuple):
    """A frame of a traceback, and the source line that Python prints below it."""

    path: str
    line: int
    function: str
    source: str

    @property
    def package(self) -> str:
        """The installed package that it is of, or the checkout of a known one; empty if none."""
        parts = SITE.split(self.path)
        if len(parts) > 1:
            return parts[-1].strip("/").partition("/")[0].partition(".")[0]
        known = [each for each in self.path.split("/")[:-1] if each.replace("-", "_") in CHECKOUTS]
        return known[-1].replace("-", "_") if known else ""

    @property
    def of_python(self) -> bool:
        """Whether it is of Python's own library."""
        return bool(re.search(r"/lib(?:64)?/python3[\d.]*/(?!site-|dist-)", self.path)) or (
            self.path.startswith("<")
        )


CHECKOUTS = {
    *("vllm", "vllm_ascend", "sglang", "verl", "llamafactory", "swift", "mindspeed", "megatron"),
    *("mindspeed_llm", "mindspeed_mm", "mindspeed_rl", "mindformers", "mindyolo", "mindocr"),
    *("transformers", "peft", "trl", "deepspeed", "accelerate", "ComfyUI", "areal", "xllm", "mmcv"),
    *("mindnlp", "mindone", "mmdet", "mmengine", "lmdeploy", "llmtuner", "FlagEmbedding", "roll"),
    *("diffusers", "opencompass", "lightllm", "triton", "torch_npu", "torch", "mindie_llm"),
    *("atb_llm", "paddle", "PaddleX", "PaddleOCR", "ray", "ultralytics", "LightX2V", "slime"),
}
"""Names of folders that are checkouts of programs, or packages in them."""


class Evidence(NamedTuple):
    """What the log says of a failure; what it does not have is empty."""

    message: tuple[str, ...]
    frames: tuple[Frame, ...]
    reason: str
    advice: str
    text: str
    """All lines near the message, of the same process."""

    @property
    def own_frames(self) -> tuple[Frame, ...]:
        """Those of the user's own code."""
        return tuple(each for each in self.frames if not each.package and not each.of_python)

    @property
    def is_python(self) -> bool:
        """Whether the program, or a part of it, is in Python."""
        return bool(self.frames or _LANGUAGE.search(self.text))


def evidence(event: Event, path: str) -> Evidence:
    """What the log ``path`` says around ``event``."""
    near = [*_of_process(event, lines_near(path, event.number, _BEFORE, _AFTER))]
    before = [line for number, line in near if number < event.number]
    after = [line for number, line in near if number > event.number]
    first = read_line(event.text)
    message = [*_message(first.text, after)]
    block = [*message, *[line.text for line in after[:12]]]
    text = "\n".join([line.text for line in before[-40:]] + block)
    reason = next(_reasons(block), "")
    loud = [line.text for line in before[-8:] if line.level != "info"]
    told = [*dict.fromkeys(_advice([*loud, *block]))]
    advice = " ".join(each if each.endswith((".", "!", "。")) else each + "." for each in told[:2])
    return Evidence(tuple(message), tuple(_frames(before)), reason, advice, text)


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
        if _STEPS.search(text) or (not text and count > 1):
            return
        if text and text not in shown and not _RULER.search(text):
            shown.add(text)
            yield text
            count += 1


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
            yield (match["text"] or match["more"]).strip()
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
                if len(text) > 24 and not _NO_ADVICE.search(text):
                    yield text
