# SPDX-License-Identifier: Apache-2.0
"""What every SVG picture begins and ends with."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape


def document(width: int, height: int, parts: Iterable[str]) -> str:
    """A picture with a white ground and ``parts`` on it, in units of ``width`` by ``height``."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"',
        f'  viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def label(x: float, y: float, text: str, anchor: str = "") -> str:
    """``text`` that begins at a place; if ``anchor`` is middle or end, it has that there."""
    anchored = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x:g}" y="{y:g}"{anchored}>{escape(text)}</text>'


def dashed(x: float, top: float, bottom: float) -> str:
    """A dashed line from top to bottom."""
    return (
        f'<line x1="{x:g}" y1="{top:g}" x2="{x:g}" y2="{bottom:g}" stroke="#999999" '
        'stroke-dasharray="3 3"/>'
    )
