# SPDX-License-Identifier: Apache-2.0
"""Signs images, and checks their signatures, with sigstore's ``cosign``."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cannery.errors import EngineError, Problem, UsageError
from cannery.execute.process import run

PASSWORD = "COSIGN_PASSWORD"  # noqa: S105 - the name of the variable, not what is in it
"""Where cosign looks for the password of a key; it may be empty, for a key without one."""

_BY_DIGEST = re.compile(r"[^@\s]+@sha256:[0-9a-f]{64}")
_ELSEWHERE = re.compile(r"[a-z0-9+]+://")
"""A key that is no file: in a key management service, a cluster, the environment."""


@dataclass(frozen=True, kw_only=True)
class Transport:
    """How the registry is reached: ``ca`` holds certificates to trust besides the system's.

    ``plain`` allows HTTP, and certificates that nobody vouches for: for a registry on loopback.
    The credentials are those of 'docker login'.
    """

    ca: Path | None = None
    plain: bool = False

    def options(self) -> list[str]:
        found = ["--registry-cacert", str(self.ca)] if self.ca else []
        if self.plain:
            found += ["--allow-http-registry", "--allow-insecure-registry"]
        return found


def find_cosign() -> str | None:
    """The path of the program, if it is installed."""
    return shutil.which("cosign")


def sign(
    reference: str,
    key: str,
    *,
    transport: Transport | None = None,
    log: bool = False,
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Sign the image ``reference``, which must name a digest, with the private ``key``.

    cosign does not look whether the registry has an image of that digest.

    ``key`` is a file or a URI as ``awskms://...``. With ``log`` the signature is also written into
    the public transparency log, which tells the world its digest and when it was made.

    Raises:
        EngineError: cosign is missing, or could not sign.
        UsageError: there is no such key, or ``reference`` names no digest.
    """
    cosign = _cosign()
    _check(reference, key)
    if PASSWORD not in environ and not _ELSEWHERE.match(key):
        what = f"{key} cannot be opened without its password."
        fix = f"Set {PASSWORD} (to nothing, for a key without one)."
        raise UsageError(Problem(what=what, fix=fix))
    argv = [cosign, "sign", "--yes", "--key", key, f"--tlog-upload={str(log).lower()}"]
    argv += (transport or Transport()).options()
    code, said = run([*argv, reference], capture=True)
    if code:
        raise _failed(f"{reference} could not be signed", said, key)


def public_key(key: str) -> str:
    """The public part of ``key``, as PEM text.

    Raises:
        EngineError: cosign is missing, or cannot open the key.
    """
    code, said = run([_cosign(), "public-key", "--key", key], capture=True)
    if code or "BEGIN PUBLIC KEY" not in said:
        raise _failed(f"the public part of {key} cannot be told", said, key)
    return said[said.index("-----BEGIN") :]


def verify(
    reference: str, key: str, *, transport: Transport | None = None, log: bool = False
) -> None:
    """Make sure that the image ``reference`` was signed with the private part of ``key``.

    The arguments are those of ``sign``; ``log`` asks that the transparency log has the signature.

    Raises:
        EngineError: cosign is missing, there is no such signature, or nobody could look.
        UsageError: as for ``sign``.
    """
    cosign = _cosign()
    _check(reference, key)
    argv = [cosign, "verify", "--key", key, f"--insecure-ignore-tlog={str(not log).lower()}"]
    argv += (transport or Transport()).options()
    code, said = run([*argv, reference], capture=True)
    if code:
        raise _failed(f"{reference} has no signature that fits", said, key)


def _cosign() -> str:
    found = find_cosign()
    if found is None:
        fix = "Install it: Debian has it from 13 on ('apt-get install cosign')."
        raise EngineError(Problem(what="cosign is not installed.", fix=fix))
    return found


def _check(reference: str, key: str) -> None:
    problems = []
    if not _BY_DIGEST.fullmatch(reference):
        what = f"{reference!r} names no digest, and what a tag names may change."
        problems.append(Problem(what=what, fix="Write it as REPOSITORY@sha256:DIGEST."))
    if not _ELSEWHERE.match(key) and not Path(key).is_file():
        what = f"there is no key {key!r}."
        problems.append(Problem(what=what, fix="'cosign generate-key-pair' makes a pair."))
    if problems:
        raise UsageError(problems)


_REASONS = (
    (
        re.compile(r"unknown flag|signing-config", re.IGNORECASE),
        "This needs cosign 2, and another one is installed: see 'cosign version'.",
    ),
    (
        re.compile(r"decrypt|incorrect password|encrypted: decryption failed", re.IGNORECASE),
        "The password in " + PASSWORD + " is not that of {key}.",
    ),
    (
        re.compile(r"no signatures found|no matching signatures|invalid signature", re.IGNORECASE),
        "Nobody has signed this digest with {key}: do not use the image, or name the right key.",
    ),
    (
        re.compile(r"unauthorized|401|403|denied", re.IGNORECASE),
        "The registry refuses: 'docker login' stores the credentials that cosign uses.",
    ),
    (
        re.compile(r"x509|certificate", re.IGNORECASE),
        "The registry's certificate is not trusted: name your own CA file with --ca.",
    ),
)


def _failed(what: str, said: str, key: str) -> EngineError:
    lines = [line for line in said.splitlines() if not line.startswith("WARNING")]
    fix = next((fix.format(key=key) for form, fix in _REASONS if form.search(said)), "")
    text = "\n".join(lines).strip()
    return EngineError(Problem(what=f"{what}. cosign says:\n{text}\n", fix=fix))
