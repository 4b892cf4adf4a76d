# SPDX-License-Identifier: Apache-2.0
"""Explains a failure by its own lines: their reason, advice and names, and whose code it is."""

from __future__ import annotations

import re
from typing import Any, Iterator, Pattern

from .causes import causes
from .codes import catalogue, codes_in, family
from .events import Event
from .evidence import Evidence, Frame
from .fitting import fitting
from .ini import read_ini
from .language import texts, word
from .lazy import once
from .owners import CHECKOUTS, TBE, Values, plugin_of, program_of, system_package, values_of
from .partners import misfits, partners
from .peers import peers_say
from .signs import pattern

_CODES = {"code", "code-unknown", "inner"}
_BARE = _CODES | {"exception", "error-line", "other-rank"}
_UNEXPECTED = re.compile(
    r"^(?:\w+\.)*(?:TypeError|AttributeError|NameError|UnboundLocalError|KeyError|IndexError|ZeroDivisionError"
    r"|ImportError|AssertionError|RuntimeError|ValueError|NotImplementedError)\b"
)
_WEAK_FORMS = {
    *("exception-attribute", "exception-argument", "exception-expected", "exception-native"),
    *("exception-name", "exception-none", "exception-requirement", "hccl-text", "exception-key"),
    *("exception-shape", "exception-defect"),
}
"""Forms that say less than the frames of a traceback do."""

_OF_SYSTEM = {"header-missing", "link-library", "library-missing"}

_NEARBY = "(?#near)"
"""Begins a form that the lines around a message have."""

_BROAD = {
    *(
        "operator-arguments",
        "application-config",
        "rank-table",
        "operator-unsupported",
        "hccl-config",
    ),
    *("package-range", "operator-compile", "application-code", "workdir-not-writable", "installer"),
}
"""Causes whose headline says little without the message."""

_FOR_OTHERS = {"cuda-package", "cuda-code", "torchvision", "torch-replaced"}
"""Causes for which the log advises as it would on other devices, or with another torch."""

_CHECKED = re.compile(r"^(?:raise\b|assert\b)")
_NEWER = "Also try a newer release of {0}, whose code called it."
_PAIR = (
    "Also compare 'pip show {0} {1}' with the table of versions of {1}: a newer pair often has it."
)
_TORCH = {"torch", "torch_npu", "torchair"}
_OF_CANN = TBE | {"te_fusion", "impl"}
"""Packages without a release of their own."""

_FACTS = {name: pattern(name) for name in ("operator", "remote rank", "address", "chip", "log")}
_MOST = 160
_RANKS = {
    *("hccl-timeout", "hccl-connect", "hccl-root-info", "collectives-differ", "code", "inner"),
    *("rendezvous", "error-line", "hccl-connections"),
}
"""Causes of which the plogs of several ranks say more together."""

_OPERATORS = {
    "operator-crash",
    "operator-timeout",
    "aicpu-failed",
    "operator-arguments",
    "operator-compile",
    "operator-failed",
    "cuda-code",
}


def reasoned(
    event: Event, said: Evidence, document: dict[str, Any], paths: list[str], known: Values
) -> dict[str, Any]:
    """The parts of ``document``, a root of the logs ``paths``, that its evidence says more exactly.

    ``known`` are versions and settings that the log names.

    ``names`` is what the log names beside it: an operator, another rank, an address.
    """
    name, values = peers_say(event, paths) if event.cause.id in _RANKS else ("", {})
    if not values:
        name, values = _general(event, said)
    changed: dict[str, Any] = {**_texts(name, values, native=not said.is_python)}
    reason = _reason_of(said)
    if not changed and reason and event.cause.id in _BROAD:
        changed["what"] = "{}: {}.".format(document["what"].rstrip(".。"), reason)
    if event.cause.id == "code" and not said.reason:
        # The source of the code's meaning.
        changed.pop("why", "")
    names = _names(said)
    mend = _own_mend(event, said, changed) or document["mend"]
    package = _package(said.frames) or _program(said)
    formed = event.cause.id in _BARE and changed and package and package not in mend
    if package and (event.cause.id in _OPERATORS or formed):
        plugin = plugin_of(package)
        also = _PAIR if plugin else _NEWER
        mend += " " + word(also).format(package, plugin)
    if event.cause.id in _OPERATORS or event.cause.kind == "bare":
        mend += _without(said, known, mend)
    matter = event.cause.versions or (name and causes()[name].versions)
    if matter or event.cause.kind == "bare":
        mend = _paired(mend, known, all_of_them=bool(matter))
    if "remote rank" in names and not values and event.cause.kind in ("echo", "wait"):
        mend = word("Look at the log of rank {} first.").format(names["remote rank"]) + " " + mend
    if "log" in names:
        mend = word("Read {} first.").format(names["log"]) + " " + mend
    if said.advice and event.cause.id not in _FOR_OTHERS:
        mend = word("The log says: '{}'").format(said.advice[:300].rstrip(" .")) + ". " + mend
    mend = fitting(mend, said.whole)
    if name:
        changed["sources"] = [*causes()[name].sources]
    hidden = {"log", "remote rank"} if name.startswith("peer-") else {"log"}
    return {**changed, "mend": mend, "names": {k: v for k, v in names.items() if k not in hidden}}


def _own_mend(event: Event, said: Evidence, changed: dict[str, Any]) -> str:
    """The remedy with the packages of the system, of a form, or for programs in C++."""
    packages = system_package(_missing(event))
    if event.cause.id in _OF_SYSTEM and all(packages):
        return "apt-get install {}; dnf install {}".format(*packages) + "."
    if event.cause.native and not said.is_python and "mend" not in changed:
        return texts("causes", event.cause.id).get("native", event.cause.native)
    return str(changed.get("mend", ""))


def _paired(mend: str, known: Values, *, all_of_them: bool) -> str:
    """``mend`` with the versions that the log names and are no pair, or with their partners."""
    wrong = next(misfits(known), None)
    if wrong:
        own = word("The log names {0} and {1}, which are no pair: {2}.").format(*wrong)
        return f"{own} {mend}"
    one, others = partners(known) if all_of_them else ("", "")
    return mend + " " + word("To {} belong {}.").format(one, others) if one else mend


def _reason_of(said: Evidence) -> str:
    """What a message says after the name of its exception and its codes."""
    first = said.message[0] if said.message else ""
    if re.search(r"\d validation errors? for ", first):
        first = " ".join(said.message[1:3])
    text = said.reason or re.sub(r"^(?:[\w.]+(?:Error|Exception)|E[A-Z0-9]\d{4}): ?", "", first)
    return text[:_MOST].strip().rstrip(".") if len(text) > 12 else ""


def _missing(event: Event) -> str:
    """The header or the library that an event misses, as a file's name."""
    library = event.values.get("library", "")
    of_linker = library and event.cause.id == "link-library"
    return event.values.get("header", "") or (f"lib{library}" if of_linker else library)


def _general(event: Event, said: Evidence) -> tuple[str, Values]:
    """The row whose form a failure has, of its cause or of those without a known cause."""
    if event.cause.id in _BARE:
        return _form(event, said)
    fitting = _forms(event, said)
    of = ((row, found) for row, found in fitting if event.cause.id in causes()[row].refines)
    return next(of, ("", {}))


def _texts(name: str, values: Values, *, native: bool) -> Values:
    """The texts of the row ``name`` with ``values`` in them; none without values."""
    if not values:
        return {}
    row = {**causes()[name]._asdict(), **texts("causes", name)}
    short = {key: value[:_MOST].rstrip(". ") for key, value in values.items()}
    mend = "native" if native and row["native"] else "mend"
    pairs = (("what", "named"), ("why", "why"), ("mend", mend), ("sure", "sure"))
    return {key: row[of].format_map(short) for key, of in pairs}


def _form(event: Event, said: Evidence) -> tuple[str, Values]:
    """The row for a failure whose cause is unknown, and the values of its texts."""
    first = said.message[0] if said.message else ""
    forms = dict(_forms(event, said))
    exact = next((name for name in forms if name not in _WEAK_FORMS), "")
    if exact:
        return exact, forms[exact]
    if event.cause.id in _CODES:
        return _of_code(event, said)
    if "exception-key" in forms and not _package(said.frames):
        return "exception-key", forms["exception-key"]
    if event.cause.id == "exception" and said.frames and _UNEXPECTED.match(first):
        return _by_frames(re.sub(r"^(?:\w+\.)+", "", first), said.frames)
    return next(iter(forms.items()), _as_it_says(event, said, first))


def _as_it_says(event: Event, said: Evidence, first: str) -> tuple[str, Values]:
    """The row for a message that has no form, by the advice of the log or the program it is of."""
    if said.advice and event.cause.id != "other-rank":
        return "exception-advised", {"message": first}
    package = _program(said) if event.cause.id == "exception" else ""
    values = {"package": package, "plugin": plugin_of(package), "message": first}
    return ("exception-of", values) if package else ("", {})


def _of_code(event: Event, said: Evidence) -> tuple[str, Values]:
    """The row for a code without a known cause: that of the part of CANN that it is of."""
    code = [*codes_in(event.text), event.by][0]
    known = catalogue().get(code)
    reason = said.reason or (known.meaning if known else "")
    rows = [
        (len(start), row.id)
        for row in causes().values()
        for start in row.family
        if code.startswith(start)
    ]
    if said.reason:
        # Where the log advises, it knows the cause, and what is usual would only be beside it.
        rows.append((len(code) if said.advice else 0, "code-reason"))
    values = {"code": code, "reason": reason.rstrip("."), "family": family(code)}
    return (max(rows)[1], values) if rows and reason else ("", {})


@once
def _features() -> dict[str, tuple[Pattern[str], dict[str, str]]]:
    rows = read_ini(__name__, "features.ini")
    return {
        name: (re.compile("|".join(filter(None, row["at"].split("\n")))), row)
        for name, row in rows.items()
    }


def _without(said: Evidence, known: Values, mend: str) -> str:
    """How to do without the part of the program that failed, if it is one that can be left out."""
    places = [f"{each.path} in {each.function}" for each in said.frames[-6:]]
    text = "\n".join([*said.message, *places])
    found = []
    key = "off_vllm" if (_package(said.frames) or _program(said)).startswith("vllm") else "off"
    for name, (at, row) in _features().items():
        is_off = "off_already" in row and row["off_already"] in _as_text(known)
        said_so = any(option in mend for option in re.findall(r"--[\w-]+|\w+=\w+", row["off"]))
        if at.search(text) and not said_so and not is_off:
            own = {**row, **texts("features", name)}
            how = own.get(key, own["off"])
            found.append(" " + word("To do without {}: {}.").format(own["what"], how))
    return "".join(found[:2])


def _as_text(known: Values) -> str:
    return " ".join(f"{name}={value}" for name, value in known.items())


def _forms(event: Event, said: Evidence) -> Iterator[tuple[str, Values]]:
    """The rows whose form the message has, or the lines around it.

    Those lines are of other things as well, so they explain only what a row is made for.
    """
    message = "\n".join(said.message)
    own = [each for each in said.frames if not each.of_python][-1:]
    at = "".join(f" ({each.place})" for each in own)
    for cause in causes().values():
        made_for = not cause.refines or event.cause.id in cause.refines
        if not (cause.form and said.proves(cause.needs)):
            continue
        for form in cause.form:
            near = form.pattern.startswith(_NEARBY)
            if (not made_for) if near else event.cause.id in _CODES:
                continue
            match = form.search(said.text if near else message)
            if match:
                yield cause.id, {"place": "C++", "at": at, **values_of(match)}
                break


def _by_frames(message: str, frames: tuple[Frame, ...]) -> tuple[str, Values]:
    """The row for an exception by whose code raised it, and who called that."""
    own = [each for each in frames if not each.of_python]
    last = own[-1] if own else frames[-1]
    package, caller = _package(frames), _caller(own)
    plugin = plugin_of(package)
    if message == "AssertionError" and last.source.startswith("assert "):
        message = f"{message}: {last.source}"
    values = {"message": message, "package": package, "caller": caller, "place": last.place}
    values["plugin"] = plugin
    if not package:
        return "exception-own", values
    if _CHECKED.match(last.source) and not message.startswith("AssertionError: assert "):
        return "exception-refused", values
    pair = "exception-plugin" if plugin and caller != plugin else ""
    return pair or ("exception-between" if caller else "exception-within"), values


def _package(frames: tuple[Frame, ...]) -> str:
    """The package whose code failed: the innermost that is not torch, which others call."""
    named = [each.package for each in frames if not each.of_python]
    if not named or not named[-1]:
        return ""
    others = [each for each in named if each and each not in _TORCH]
    found = others[-1] if others else named[-1]
    return "CANN" if found in _OF_CANN else found


def _program(said: Evidence) -> str:
    """The program whose log or source the lines are of; empty if none is known."""
    text = "\n".join([said.text, *said.message])
    by_words = program_of(text)
    if by_words:
        return by_words
    folders = re.findall(r"/([\w.+-]+)(?=/)", text)
    known = [each for each in folders if each in CHECKOUTS and not said.is_python]
    return str(known[-1]) if known else ""


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
