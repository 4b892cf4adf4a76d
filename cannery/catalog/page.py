# SPDX-License-Identifier: Apache-2.0
"""The page: one HTML file that is complete in itself and loads nothing.

Jinja escapes all values, the script's data are JSON that cannot end its element, and the page's
content security policy allows only its own two scripts and its style sheet.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from cannery.catalog.commands import CARDS, Command
from cannery.catalog.entries import Entry
from cannery.catalog.facets import FACETS, NONE, choices, facets, places
from cannery.catalog.figure import figure
from cannery.catalog.strings import LANGUAGES, for_script, say, strings
from cannery.common.columns import size_text
from cannery.deploy.formats import RUNTIMES
from cannery.image.layers import Layer, shared

_TEMPLATES = Path(__file__).with_name("templates")
_STYLES = ("base.css", "choose.css", "cards.css", "picture.css")
_EARLY = ("early.js",)
_SCRIPTS = ("select.js", "copy.js", "page.js")

_NAMES = {
    "base": "OS",
    "python": "Python",
    "toolkit": "CANN",
    "nnal": "NNAL",
    "hccl_test": "HCCL tests of CANN",
}
"""Component to its name on the page, if that differs."""

_SORTS = ("matrix", "torch", "cann", "size", "pushed")


def page(
    entries: Sequence[Entry],
    layers: Mapping[str, Sequence[Layer]],
    texts: Mapping[str, Sequence[Command]],
) -> str:
    """The page of ``entries``; ``layers`` and ``texts`` are by target id."""
    targets = [entry.target for entry in entries]
    style, early, script = (_joined(names) for names in (_STYLES, _EARLY, _SCRIPTS))
    environment = _environment()
    return environment.get_template("index.html.j2").render(
        entries=entries,
        texts={name: _by_use(each) for name, each in texts.items()},
        figure=figure(targets, layers),
        shared=shared(layers),
        choices=_choices(entries),
        sorts={name: strings("en")[f"js.sort.{name}"] for name in _SORTS},
        cards=CARDS,
        runtimes=RUNTIMES,
        languages=LANGUAGES,
        strings={name: strings(name) for name in LANGUAGES},
        data=_data(entries),
        style=Markup(style),  # noqa: S704 - a file of ours
        early=Markup(early),  # noqa: S704
        script=Markup(script),  # noqa: S704
        policy=_policy(style, early, script),
    )


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        t=say,
        code=lambda text: Markup("<code>{}</code>").format(text),
        component=lambda name: _NAMES.get(name, name),
        facet_name=_facet_name,
        facet_value=_facet_value,
        size_text=size_text,
    )
    return environment


def _joined(names: Sequence[str]) -> str:
    return "\n".join((_TEMPLATES / name).read_text(encoding="utf-8") for name in names)


def _policy(style: str, *scripts: str) -> str:
    """A content security policy that allows only these scripts and this style, by their hashes."""
    hashes = " ".join(_hash(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _by_use(texts: Sequence[Command]) -> dict[str, list[Command]]:
    found: dict[str, list[Command]] = {}
    for each in texts:
        found.setdefault(each.use, []).append(each)
    return found


def _facet_name(facet: str) -> str:
    names = {"python": "Python", "torch": "torch", "cann": "CANN"}
    return names[facet] if facet in names else say(f"facet.{facet}")


def _facet_value(facet: str, value: str) -> str:
    if value == NONE:
        return say(f"facet.none.{facet}")
    return value.upper() if facet == "chip" else value


def _choices(entries: Sequence[Entry]) -> dict[str, dict[str, int]]:
    """Facet to its values, each with the number of images that have it."""
    own = [facets(entry.target) for entry in entries]
    every = choices(entry.target for entry in entries)
    return {
        facet: {value: sum(each[facet] == value for each in own) for value in values}
        for facet, values in every.items()
    }


def _data(entries: Sequence[Entry]) -> dict[str, Any]:
    """The data that the script filters and sorts by."""
    return {
        "facets": FACETS,
        "languages": LANGUAGES,
        "strings": for_script(),
        "images": [
            {
                "id": entry.id,
                "facets": facets(entry.target),
                "places": place,
                "words": _words(entry),
            }
            for entry, place in zip(entries, _places(entries), strict=True)
        ],
    }


def _places(entries: Sequence[Entry]) -> list[dict[str, int]]:
    """For each image its position in every order that the page offers."""
    newest = places(entry.target for entry in entries)
    sizes = sorted({entry.size for entry in entries if entry.size is not None})
    days = sorted({entry.record.pushed for entry in entries if entry.record}, reverse=True)
    return [
        {
            "matrix": place,
            "torch": newest["torch"][entry.id],
            "cann": newest["cann"][entry.id],
            "size": len(sizes) if entry.size is None else sizes.index(entry.size),
            "pushed": days.index(entry.record.pushed) if entry.record else len(days),
        }
        for place, entry in enumerate(entries)
    ]


def _words(entry: Entry) -> str:
    """The text that the search looks at, in lower case."""
    target, record = entry.target, entry.record
    found = [entry.id, target.summary, target.platform, f"chip {target.chip}", entry.by_digest]
    found += [f"{_NAMES.get(name, name)} {text}" for name, text in target.components.items()]
    packages = record.packages.values() if record else [entry.locked]
    found += [f"{name} {version}" for each in packages for name, version in each.items()]
    found += [record.tag, *record.tags] if record else []
    return "\n".join(found).lower()
