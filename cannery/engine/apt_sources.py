# SPDX-License-Identifier: Apache-2.0
"""Finds this machine's mirrors of Debian in apt's settings (sources.list(5))."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from email.parser import HeaderParser
from pathlib import Path
from urllib.parse import unquote

from cannery.common.bases import Base
from cannery.common.errors import EngineError, Problem

_DEBIAN = ("stable", "bullseye", "bookworm", "trixie", "forky")
"""Names of Debian's suites in the sources of this machine; another distribution has others."""

_UPDATES = ("-updates", "-security")

_WITH_LOGIN = re.compile(r"(.*\s\w+://)([^/@\s]+(?:@[^/@\s]+)*)@(.*)")
"""A line of sources.list: what is before the user name, that with the password, and the rest."""

_NO = ("no", "false", "without", "off", "disable", "0")
"""What apt takes for no."""


def own_sources(suite: str, apt: Path = Path("/etc/apt")) -> list[str]:
    """The lines of sources.list for ``suite``, updates included, at the mirrors of this machine.

    ``apt`` is its folder with apt's settings. Without any, mmdebstrap uses Debian's own mirrors.
    """
    found: dict[str, str] = {}
    for address, own in _suites(apt):
        kind = next((end for end in _UPDATES if own.endswith(end)), "")
        if own.removesuffix(kind) in _DEBIAN:
            found.setdefault(kind, address)
    if "" not in found:
        return []
    found.setdefault("-updates", found[""])
    return [f"deb {found[kind]} {suite}{kind} main" for kind in ("", *_UPDATES) if kind in found]


def snapshot_sources(base: Base) -> list[str]:
    """The lines of sources.list for a base with a snapshot, updates included."""
    suites = (("debian", ""), ("debian", "-updates"), ("debian-security", "-security"))
    # Lists of updates are valid for a week.
    return [
        f"deb [check-valid-until=no] {base.archive}/{archive}/{base.snapshot} "
        f"{base.suite}{kind} main"
        for archive, kind in suites
    ]


def without_logins(lines: Iterable[str]) -> tuple[list[str], str]:
    """``lines`` of sources.list without user names and passwords, and those as in apt_auth.conf(5).

    Raises:
        EngineError: one of them has spaces, which the other file cannot have.
    """
    clean, logins = [], dict[str, None]()
    for line in lines:
        match = _WITH_LOGIN.fullmatch(line)
        clean.append(f"{match[1]}{match[3]}" if match else line)
        if not match:
            continue
        user, _, password = match[2].partition(":")
        words = [unquote(user), unquote(password)]
        if any(not word or word.split() != [word] for word in words):
            what = f"a user name or password for apt is empty or has spaces, as for {match[3]}"
            raise EngineError(
                Problem(what=f"{what}.", fix="Change it in the address of the mirror.")
            )
        scheme = match[1].rpartition(" ")[2]
        logins[f"machine {scheme}{match[3].split()[0]} login {words[0]} password {words[1]}\n"] = (
            None
        )
    return clean, "".join(logins)


def logins_of(bases: Iterable[Base], apt: Path = Path("/etc/apt")) -> str:
    """The logins, as in apt_auth.conf(5), of the servers that ``bases`` were bootstrapped from.

    Raises:
        EngineError: as ``without_logins``.
    """
    lines = [
        line
        for base in bases
        for line in (snapshot_sources(base) if base.snapshot else own_sources(base.suite, apt))
    ]
    return without_logins(lines)[1]


def _suites(apt: Path) -> Iterator[tuple[str, str]]:
    """The address and the name of each suite in sources.list and in files of deb822."""
    for path in (apt / "sources.list", *sorted(apt.glob("sources.list.d/*.list"))):
        for line in _text(path).splitlines() if path.is_file() else ():
            if match := re.match(r"deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s", line):
                yield match[1], match[2]
    for path in sorted(apt.glob("sources.list.d/*.sources")):
        for stanza in re.split(r"\n\s*\n", re.sub(r"(?m)^#.*\n?", "", _text(path))):
            fields = HeaderParser().parsestr(stanza.strip())
            addresses = fields.get("URIs", "").split()
            used = "deb" in fields.get("Types", "").split()
            if used and addresses and fields.get("Enabled", "yes").strip().lower() not in _NO:
                yield from ((addresses[0], name) for name in fields.get("Suites", "").split())


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
