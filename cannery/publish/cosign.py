# SPDX-License-Identifier: Apache-2.0
"""Signs images, and checks their signatures, with sigstore's ``cosign``."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from cannery.common.errors import EngineError, Problem, UsageError
from cannery.common.http import is_loopback
from cannery.common.process import run
from cannery.common.references import digest_in
from cannery.registry.client import Repository

PASSWORD = "COSIGN_PASSWORD"  # noqa: S105 - the name of the variable, not its value
"""The variable with the password of a key; empty for a key without one."""

INSTALL = "Install it: Debian has it from 13 on ('apt-get install cosign')."

_URI = re.compile(r"[a-z0-9+]+://")
"""The URI of a key that is not a file: in a key management service, a cluster, the environment."""

_UNSIGNED = (10, 12)
"""Exit codes of ``cosign verify``: the image has no signature, or none by this key.

Source: doc/cosign_exit_codes.md of cosign 2. Every other failure is 1.
"""


def find_cosign() -> str | None:
    """The path of the program, if it is installed."""
    return shutil.which("cosign")


def connection(repository: Repository) -> list[str]:
    """The options for the registry of ``repository``; credentials are those of 'docker login'."""
    if repository.ca:
        return ["--registry-cacert", str(repository.ca)]
    plain = ["--allow-http-registry", "--allow-insecure-registry"]
    return plain if is_loopback(repository.host) else []


def sign(reference: str, key: str, connection: Sequence[str] = ()) -> None:
    """Sign the image ``reference``, which must name a digest, with the private ``key``.

    cosign does not check that the registry has an image with that digest. ``key`` is a file or a
    URI such as ``awskms://...``. Nothing is written to the public transparency log, where everybody
    could see the digest and the time.
    """
    _check(reference, key)
    if PASSWORD not in os.environ and not _URI.match(key):
        what = f"the password of the signing key {key} is not set."
        fix = f"Set {PASSWORD}; leave it empty for a key without a password."
        raise UsageError(Problem(what=what, fix=fix))
    argv = ["sign", "--yes", "--key", key, "--tlog-upload=false", *connection, reference]
    code, output = _run(argv, key)
    if code:
        raise _failed(f"cosign could not sign {reference}", output, key)


def public_key(key: str) -> str:
    """The public part of ``key``, as PEM text."""
    code, output = _run(["public-key", "--key", key], key)
    if code or "BEGIN PUBLIC KEY" not in output:
        raise _failed(f"cosign could not read the public part of {key}", output, key)
    return output[output.index("-----BEGIN") :]


def verify(reference: str, key: str, connection: Sequence[str] = ()) -> None:
    """Check that the image ``reference`` was signed with the private part of ``key``."""
    _check(reference, key)
    argv = ["verify", "--key", key, "--insecure-ignore-tlog=true", *connection, reference]
    code, output = _run(argv, key)
    if code in _UNSIGNED:
        fix = "Do not use the image, or name the key that it was signed with."
        raise _failed(f"{reference} was not signed with {key}", output, key, fix)
    if code:
        raise _failed(f"cosign could not verify {reference}", output, key)


def _run(argv: Sequence[str], key: str) -> tuple[int, str]:
    # Of a key such as env://NAME, cosign reads the variable itself.
    name = key.removeprefix("env://")
    env = {name: os.environ[name]} if name != key and name in os.environ else {}
    return run([_program(), *argv], env=env)


def _program() -> str:
    if program := find_cosign():
        return program
    raise EngineError(Problem(what="cosign is not installed.", fix=INSTALL))


def key_problem(key: str) -> Problem | None:
    """The problem if ``key`` is a file that does not exist."""
    if _URI.match(key) or Path(key).is_file():
        return None
    return Problem(
        what=f"the key {key!r} does not exist.", fix="Make one: cosign generate-key-pair"
    )


def _check(reference: str, key: str) -> None:
    _program()
    problems = []
    if not digest_in(reference):
        what = f"{reference!r} has no digest, and a tag may come to name another image."
        problems.append(Problem(what=what, fix="Write it as REPOSITORY@sha256:DIGEST."))
    if problem := key_problem(key):
        problems.append(problem)
    if problems:
        raise UsageError(problems)


# cosign exits with 1 for all of these. The message holds its output in full, so a wrong hint is
# harmless.
_HINTS = (
    (
        re.compile(r"unknown flag|signing-config", re.IGNORECASE),
        "cosign 2 is needed, and another version is installed: see 'cosign version'.",
    ),
    (
        re.compile(r"decrypt|incorrect password|encrypted: decryption failed", re.IGNORECASE),
        "The password in " + PASSWORD + " is not the one of {key}.",
    ),
    (
        re.compile(r"\bunauthorized\b|\bdenied\b|status code 40[13]\b", re.IGNORECASE),
        "The registry refuses: log in with 'docker login', whose credentials cosign uses.",
    ),
    (
        re.compile(r"x509|certificate", re.IGNORECASE),
        "The registry's certificate is not trusted: name your company's CA file with --ca.",
    ),
)


def _failed(what: str, output: str, key: str, fix: str = "") -> EngineError:
    hints = (hint.format(key=key) for form, hint in _HINTS if form.search(output))
    lines = [line for line in output.splitlines() if not line.startswith("WARNING")]
    text = "\n".join(lines).strip()
    return EngineError(Problem(what=f"{what}. It says:\n{text}\n", fix=fix or next(hints, "")))
