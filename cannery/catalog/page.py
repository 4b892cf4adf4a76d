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

import jinja2
from markupsafe import Markup

from cannery.catalog.commands import Command
from cannery.catalog.data import page_data
from cannery.catalog.entries import Entry
from cannery.catalog.strings import strings
from cannery.image.record import source_uri

_TEMPLATES = Path(__file__).with_name("templates")
_STYLES = ("style.css",)
_EARLY = ("early.js",)
_SCRIPTS = ("select.js", "copy.js", "images.js", "page.js")


def page(
    entries: Sequence[Entry], texts: Mapping[str, Sequence[Command]], *, origin: str = ""
) -> str:
    """The page of ``entries``, whose ``texts`` are by target id.

    ``origin`` is the address that the checkout was cloned from; without it, nothing there is
    linked.
    """
    style, early, script = (_joined(names) for names in (_STYLES, _EARLY, _SCRIPTS))
    data = page_data(entries, texts, _website(origin))
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["t"] = _sentence
    return environment.get_template("index.html.j2").render(
        entries=entries,
        texts=texts,
        data=data,
        say=strings("en"),
        style=Markup(style),  # noqa: S704 - a file of ours
        early=Markup(early),  # noqa: S704
        script=Markup(script),  # noqa: S704
        policy=_policy(style, early, script),
    )


def _sentence(key: str) -> Markup:
    """A sentence in English, of which the script shows the one in the reader's language."""
    return Markup('<span data-say="{}">{}</span>').format(key, strings("en")[key])


def _website(origin: str) -> str:
    """The address of a repository's pages in the network; empty if there can be none."""
    scheme, _, place = source_uri(origin).partition("://")
    return f"https://{place.removesuffix('.git')}" if scheme in ("https", "ssh") else ""


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
