# SPDX-License-Identifier: Apache-2.0
"""Bootstraps a base image from Debian's packages, with mmdebstrap.

The mirrors are those of this machine's apt (sources.list(5)).
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from email.parser import HeaderParser
from pathlib import Path
from urllib.parse import unquote

from cannery.common import console
from cannery.common.bases import Base
from cannery.common.errors import EngineError, Problem
from cannery.common.process import run
from cannery.common.urls import without_login

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


_DPKG_SETTINGS = """\
path-exclude=/usr/share/doc/*
path-exclude=/usr/share/man/*
path-exclude=/usr/share/info/*
path-exclude=/usr/share/locale/*
force-unsafe-io
"""
_APT_SETTING = 'Acquire::Languages "none"'
"""The settings of Debian's own slim images. Without force-unsafe-io, dpkg waits for the disk after
each package; with languages, 'apt-get update' spends most of its time on translated descriptions.
"""

_REPRODUCIBLE = {"SOURCE_DATE_EPOCH": "1735689600"}
"""The environment in which mmdebstrap makes equal bytes of equal packages: 2025-01-01 replaces all
later dates."""

_HOOK = Path(__file__).with_name("bootstrap-hook")

_OFTEN_RUN = (
    *("bash", "coreutils", "dash", "dpkg", "findutils", "grep", "gzip", "mawk", "openssl"),
    *("perl-base", "sed", "tar", "xz-utils"),
)
"""Packages with the programs that take most of the time of the packages' scripts."""

_COMPARED = ("bullseye",)
"""Suites whose bases were compared and have the same bytes with these programs. With them,
mmdebstrap did not end well for bookworm."""

_MEMORY = Path("/dev/shm")  # noqa: S108
_NEEDED = 2 * 10**9
"""Bytes for a base that is unpacked, its packages and its archive, with a reserve."""


def bootstrap(base: Base, architecture: str, building: str) -> None:
    """Make the image ``base.bootstrap_tag``, from its snapshot or this machine's Debian mirror.

    ``building`` is the architecture of this machine.

    Raises:
        EngineError: mmdebstrap is missing or fails, or no server of snapshots is known.
    """
    if base.snapshot and not base.archive:
        what = f"base {base.name} has a snapshot, and cannery.toml names no server of snapshots."
        fix = "Add it as 'debian' below [snapshots]; see docs/security.md."
        raise EngineError(Problem(what=what, fix=fix))
    if not shutil.which("mmdebstrap"):
        raise EngineError(
            Problem(
                what=f"base {base.name} ({base.image}) is missing, and no registry can be reached; "
                "mmdebstrap, which can bootstrap a stand-in, is not installed.",
                fix="Name a mirror of its registry in cannery.toml, or run 'bash setup.sh'.",
            )
        )
    with tempfile.TemporaryDirectory(prefix="cannery-base-", dir=_quick_folder()) as folder:
        # As another user than root, mmdebstrap works with the rights of further users.
        Path(folder).chmod(0o755)
        archive = _Bootstrap(base, architecture, building, Path(folder)).archive()
        changes = ('CMD ["bash"]', f"LABEL io.cannery.bootstrap={base.suite}")
        argv = ["docker", "import", "--platform", f"linux/{architecture}"]
        argv += [word for change in changes for word in ("--change", change)]
        argv += [str(archive), base.bootstrap_tag(architecture)]
        checked(argv, f"the engine could not import Debian {base.suite}")


def checked(argv: Sequence[str], what: str, env: Mapping[str, str] | None = None) -> None:
    """Run a program.

    Raises:
        EngineError: it failed; ``what`` begins the message.
    """
    code, said = run(argv, capture=True, env=env)
    if code:
        raise EngineError(f"{what}:\n{said.strip()}")


def _quick_folder() -> Path | None:
    """A folder in memory; None, which is the usual one, if there is not enough.

    dpkg waits for the disk after every package, which takes more time than all of its work.
    """
    try:
        found = os.statvfs(_MEMORY)
    except OSError:
        return None
    unusable = found.f_flag & (os.ST_NODEV | os.ST_NOEXEC)
    enough = found.f_bavail * found.f_frsize >= _NEEDED
    return _MEMORY if enough and not unusable and os.access(_MEMORY, os.W_OK) else None


class _Bootstrap:
    """The archive of one base, which is made in ``folder``."""

    def __init__(self, base: Base, architecture: str, building: str, folder: Path) -> None:
        self._base, self._architecture = base, architecture
        self._folder = folder
        self._settings = folder / "dpkg.cfg"
        self._settings.write_text(_DPKG_SETTINGS, encoding="utf-8")
        emulated = architecture != building
        self._native = folder / "native" if emulated and base.suite in _COMPARED else None
        self._building = building
        self._logins = ""

    def archive(self) -> Path:
        """Make the archive.

        Raises:
            EngineError: mmdebstrap fails.
        """
        base, archive = self._base, self._folder / "root.tar"
        what = f"Debian {base.suite} for {self._architecture} could not be bootstrapped"
        if base.snapshot:
            sources = self._without_logins(snapshot_sources(base))
            self._unpack_native(sources)
            words = self._argv("", str(archive), *sources)
            server = without_login(base.archive)
            checked(words, f"{what} from {server}, snapshot {base.snapshot}", self._env)
            return archive
        first, *updates = self._without_logins(own_sources(base.suite)) or [""]
        self._unpack_native([first] if first else [])
        # Without the name of a suite, essential packages come from all of them.
        words = self._argv("", str(archive), first, *updates)
        if updates and not run(words, capture=True, env=self._env)[0]:
            return archive
        if updates:
            console.say(
                f"base {base.name}: the mirror of this machine has no complete updates of Debian "
                f"{base.suite}, so the base has no security updates"
            )
        words = self._argv(base.suite, str(archive), *([first] if first else []))
        checked(words, what, self._env)
        return archive

    @property
    def _env(self) -> dict[str, str]:
        found = {**_REPRODUCIBLE, "TMPDIR": str(self._folder)}
        if self._native:
            # Where bootstrap-hook puts the programs of this machine, in the base.
            found["PATH"] = f"/.cannery/bin:{os.environ['PATH']}"
        return found | self._secrets

    @property
    def _secrets(self) -> dict[str, str]:
        """What bootstrap-hook writes for apt, and removes; it is in no argument and in no image."""
        return {"CANNERY_APT_LOGINS": self._logins} if self._logins else {}

    def _without_logins(self, lines: Sequence[str]) -> list[str]:
        clean, self._logins = without_logins(lines)
        return clean

    def _argv(self, *words: str) -> list[str]:
        argv = ["mmdebstrap", "--variant=minbase", f"--architectures={self._architecture}"]
        argv += ["--include=ca-certificates", "--quiet", f"--aptopt={_APT_SETTING}"]
        argv.append(f"--extract-hook={self._hook('extracted', self._settings)}")
        argv += self._login_hooks()
        if self._native:
            argv.append(f"--essential-hook={self._hook('essential')}")
            argv.append(f"--customize-hook={self._hook('installed')}")
        return [*argv, *words]

    def _login_hooks(self) -> list[str]:
        if not self._logins:
            return []
        script = f"sh {shlex.quote(str(_HOOK))}"
        hooks = (("setup", "login"), ("customize", "logout"))
        return [f'--{when}-hook={script} {stage} "$1"' for when, stage in hooks]

    def _hook(self, stage: str, *files: Path) -> str:
        given = [*files, *([self._native] if self._native else [])]
        return f'sh {shlex.quote(str(_HOOK))} {stage} "$1" {shlex.join(map(str, given))}'

    def _unpack_native(self, sources: Sequence[str]) -> None:
        """Unpack programs of this machine and of the same suite; without them it takes longer."""
        if not self._native:
            return
        argv = ["mmdebstrap", "--variant=extract", f"--architectures={self._building}", "--quiet"]
        argv += [f"--include={','.join(_OFTEN_RUN)}", *self._login_hooks()]
        suite = "" if self._base.snapshot else self._base.suite
        argv += [suite, str(self._native), *sources]
        if run(argv, capture=True, env={"TMPDIR": str(self._folder), **self._secrets})[0]:
            self._native = None
