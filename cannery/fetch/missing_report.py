# SPDX-License-Identifier: Apache-2.0
"""The files that targets lack: a number for each, and one legend for all targets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


class Missing:
    """Numbers the files that several targets lack, from 1, in the order of the targets.

    ``files`` maps, for each target, the name of a file to where people get it.
    """

    def __init__(self, files: Iterable[Mapping[str, str]]) -> None:
        self._origins: dict[str, str] = {}
        for each in files:
            self._origins |= each
        self._numbers = {name: number for number, name in enumerate(self._origins, 1)}

    def needs(self, names: Iterable[str]) -> str:
        """As in ``needs files 1, 3``; the numbers are those of the legend."""
        numbers = [str(self._numbers[name]) for name in names]
        return f"needs file{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"

    def legend(self, heading: str) -> list[str]:
        """``heading`` and a line for each file; empty if no file is missing."""
        if not self._numbers:
            return []
        width = len(str(len(self._numbers)))
        return [
            heading,
            *(
                f"  {number:>{width}}  {name} ({self._origins[name]})"
                for name, number in self._numbers.items()
            ),
        ]
