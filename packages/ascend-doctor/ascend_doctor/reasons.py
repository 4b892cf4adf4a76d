# SPDX-License-Identifier: Apache-2.0
"""Explains a failure by its own lines: their reason, advice and names, and whose code it is."""

from __future__ import annotations

import re
from typing import Any, Iterator

from .causes import causes, values_of
from .codes import codes_in, family
from .events import Event
from .evidence import Evidence, Frame
from .language import texts, word
from .owners import Values, system_package
from .signs import pattern

_BARE = {"exception", "error-line", "code", "code-unknown", "inner", "other-rank"}
_UNEXPECTED = re.compile(
    r"^(?:\w+\.)*(?:TypeError|AttributeError|NameError|UnboundLocalError|KeyError|IndexError|ZeroDivisionError"
    r"|ImportError|AssertionError|RuntimeError|ValueError|NotImplementedError)\b"
)
_WEAK_FORMS = {
    *("exception-attribute", "exception-argument", "exception-expected", "exception-native"),
    *("exception-name", "exception-none", "exception-requirement"),
}
"""Forms that say less than the frames of a traceback do."""

_FORMS_OF = {
    "build-failed": ("compile-",),
    "package-range": ("model-", "exception-attribute", "exception-argument"),
    "model-files": ("exception-file", "exception-json", "hub-", "weights-differ"),
    "network": ("hub-",),
}
"""Causes to the beginnings of forms that say the same more exactly."""

_OF_SYSTEM = {"header-missing", "link-library", "library-missing"}

_NEARBY = "(?#near)"
"""Begins a form that the lines around a message have."""

_CHECKED = re.compile(r"^(?:raise\b|assert\b)")
_TORCH = {"torch", "torch_npu", "torchair"}
_FACTS = {name: pattern(name) for name in ("operator", "remote rank", "address", "chip", "log")}
_MOST = 160
_OPERATORS = {
    "operator-crash",
    "operator-timeout",
    "aicpu-failed",
    "operator-arguments",
    "operator-compile",
    "operator-failed",
    "cuda-code",
}


def reasoned(event: Event, said: Evidence, document: dict[str, Any]) -> dict[str, Any]:
    """The parts of ``document``, a root, that its evidence says more exactly.

    ``names`` is what the log names beside it: an operator, another rank, an address.
    """
    formable = event.cause.id in _BARE or (event.cause.id in _FORMS_OF and not event.values)
    changed = dict(_general(event, said)) if formable else {}
    packages = system_package(_missing(event))
    if event.cause.id in _OF_SYSTEM and all(packages):
        changed["mend"] = "apt-get install {}; dnf install {}".format(*packages) + "."
    names = _names(said)
    mend = changed.get("mend", document["mend"])
    if event.cause.native and not said.is_python:
        mend = texts("causes", event.cause.id).get("native", event.cause.native)
    package = _package(said.frames)
    formed = event.cause.id in _BARE and changed and package and package not in mend
    if package and (event.cause.id in _OPERATORS or formed):
        mend += " " + word("Also try a newer release of {}, whose code called it.").format(package)
    if "remote rank" in names and event.cause.kind in ("echo", "wait"):
        mend = word("Look at the log of rank {} first.").format(names["remote rank"]) + " " + mend
    if "log" in names:
        mend = word("Read {} first.").format(names["log"]) + " " + mend
    if said.advice:
        mend = word("The log says: '{}'").format(said.advice[:300].rstrip(" .")) + ". " + mend
    return {**changed, "mend": mend, "names": {k: v for k, v in names.items() if k != "log"}}


def _missing(event: Event) -> str:
    """The header or the library that an event misses, as a file's name."""
    library = event.values.get("library", "")
    of_linker = library and event.cause.id == "link-library"
    return event.values.get("header", "") or (f"lib{library}" if of_linker else library)


def _general(event: Event, said: Evidence) -> Values:
    """The texts for a failure without a known cause, by its form."""
    finer = _FORMS_OF.get(event.cause.id)
    if finer:
        fitting = [each for each in _forms(said) if each[0].startswith(finer)]
        name, values = fitting[0] if fitting else (event.cause.id, {})
    else:
        name, values = _form(event, said)
    row = {**causes()[name]._asdict(), **texts("causes", name)}
    if not values:
        return {}
    short = {key: value[:_MOST].rstrip(". ") for key, value in values.items()}
    return {
        key: row[of].format_map(short)
        for key, of in (("what", "named"), ("why", "why"), ("mend", "mend"))
    }


def _form(event: Event, said: Evidence) -> tuple[str, Values]:
    """The row for a failure whose cause is unknown, and the values of its texts."""
    first = said.message[0] if said.message else ""
    bare = event.cause.id in ("exception", "error-line")
    forms = dict(_forms(said)) if bare else {}
    exact = next((name for name in forms if name not in _WEAK_FORMS), "")
    if exact:
        return exact, forms[exact]
    if event.cause.id == "exception" and said.frames and _UNEXPECTED.match(first):
        return _by_frames(first.partition(":")[0].rpartition(".")[2][:40], said.frames)
    if forms:
        return next(iter(forms.items()))
    if said.reason and event.cause.id in ("inner", "code", "code-unknown"):
        codes = [*codes_in(event.text), event.by]
        return "code-reason", {
            "code": codes[0],
            "reason": said.reason.rstrip("."),
            "family": family(codes[0]),
        }
    if bare and said.advice:
        return "exception-advised", {"message": first}
    return event.cause.id, {}


def _forms(said: Evidence) -> Iterator[tuple[str, Values]]:
    """The rows whose form the message has."""
    message = "\n".join(said.message)
    for cause in causes().values():
        searched = (
            form.search(said.text if form.pattern.startswith(_NEARBY) else message)
            for form in cause.form
        )
        match = next(filter(None, searched), None)
        if match:
            yield cause.id, {"place": "C++", **values_of(match)}


def _by_frames(error: str, frames: tuple[Frame, ...]) -> tuple[str, Values]:
    """The row for an exception by whose code raised it, and who called that."""
    own = [each for each in frames if not each.of_python]
    last = own[-1] if own else frames[-1]
    package, caller = _package(frames), _caller(own)
    place = f"{last.path.rpartition('/')[2]}:{last.line}"
    values = {"error": error, "package": package, "caller": caller, "place": place}
    if not package:
        return "exception-own", values
    if _CHECKED.match(last.source):
        return "exception-refused", values
    return ("exception-between" if caller else "exception-within"), values


def _package(frames: tuple[Frame, ...]) -> str:
    """The package whose code failed: the innermost that is not torch, which others call."""
    named = [each.package for each in frames if not each.of_python]
    if not named or not named[-1]:
        return ""
    others = [each for each in named if each and each not in _TORCH]
    return others[-1] if others else named[-1]


def _caller(frames: list[Frame]) -> str:
    """The package that called the one that failed; empty if that was the user's own code."""
    package = _package(tuple(frames))
    before = [each.package for each in frames if each.package not in {package, *_TORCH}]
    return before[-1] if before else ""


def _names(said: Evidence) -> Values:
    """What the log names near the failure, by kind."""
    found = {}
    for kind, search in _FACTS.items():
        matches = [*search.finditer(said.text)]
        if matches:
            values = dict.fromkeys(group for match in matches for group in match.groups() if group)
            found[kind] = next(iter(values))
            if kind == "chip":
                chips = {value.lower(): value for value in values}
                found[kind] = ", ".join(chips.values()) if len(chips) == 2 else ""
    return {kind: name for kind, name in found.items() if name}
