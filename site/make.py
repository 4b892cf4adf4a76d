# SPDX-License-Identifier: Apache-2.0
"""Makes the page on which people choose an image: one HTML file that loads nothing.

Jinja escapes all values, the script's data are JSON that cannot end its element, and the page's
content security policy allows only its own two scripts and its style sheet.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import jinja2
from markupsafe import Markup
from strings import strings

from images import Target, page_data

TEMPLATES = Path(__file__).with_name("templates")
LIST = "python build.py list --format json --verbose"


def page(targets: Sequence[Target], website: str = "") -> str:
    """The page of ``targets``, with links to the repository's ``website`` if it has one."""
    style, early = _read("style.css"), _read("early.js")
    script = "\n".join(map(_read, ("select.js", "copy.js", "images.js", "page.js")))
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["t"] = _sentence
    return environment.get_template("index.html.j2").render(
        targets=targets,
        data=page_data(targets, website),
        say=strings("en"),
        style=Markup(style),  # noqa: S704 - a file of ours
        early=Markup(early),  # noqa: S704
        script=Markup(script),  # noqa: S704
        policy=f"default-src 'none'; script-src {_hash(early)} {_hash(script)}; "
        f"style-src {_hash(style)}; img-src data:; base-uri 'none'; form-action 'none'",
    )


def _read(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _sentence(key: str) -> Markup:
    """A sentence in English, of which the script shows the one in the reader's language."""
    return Markup('<span data-say="{}">{}</span>').format(key, strings("en")[key])


def targets_of(text: bytes) -> list[Target]:
    """The targets in a document that ``LIST`` has printed.

    Raises:
        ValueError: it is not one.
    """
    targets = json.loads(text)
    if not isinstance(targets, list) or not all(isinstance(each, dict) for each in targets):
        raise ValueError("it is not a list of targets")
    if not all("commands" in target for target in targets):
        raise ValueError("it has no commands, which only --verbose prints")
    return targets


def main(words: Sequence[str] | None = None) -> int:
    """Write the page; 1 if it cannot be made, and 2 if an option is wrong."""
    parser = argparse.ArgumentParser(
        prog="site/make.py",
        description="Makes DIR/index.html, a page on which people choose an image and copy its "
        "commands. It can be opened from the disk or published anywhere.",
        epilog=f"example: {LIST} | python site/make.py --out DIR",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the page's folder")
    parser.add_argument(
        "--website", default="", metavar="URL", help="the repository's pages, for links to them"
    )
    parser.add_argument(
        "targets", type=Path, nargs="?", help=f"what '{LIST}' prints (default: standard input)"
    )
    options = parser.parse_args(words)
    if options.website and not re.fullmatch(r"https?://[^\s@]+", options.website):
        parser.error(f"invalid URL {options.website!r} in --website. Begin it with https://.")
    try:
        text = options.targets.read_bytes() if options.targets else sys.stdin.buffer.read()
        targets = targets_of(text)
        path = options.out / "index.html"
        _write(path, page(targets, options.website.removesuffix("/").removesuffix(".git")))
    except ValueError as error:
        name = options.targets or "standard input"
        print(f"site/make.py: {name} is not what '{LIST}' prints: {error}.", file=sys.stderr)
        return 1
    except KeyError as error:
        what = f"a target has no {error}. Use the list of this checkout"
        print(f"site/make.py: {what}: {LIST}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"site/make.py: {error.filename}: {error.strerror}.", file=sys.stderr)
        return 1
    print(f"wrote {path} ({len(targets)} images)", file=sys.stderr)
    return 0


def _write(path: Path, text: str) -> None:
    """Write a file that is complete whenever it is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


if __name__ == "__main__":
    sys.exit(main())
