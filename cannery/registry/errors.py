# SPDX-License-Identifier: Apache-2.0
"""The errors of a registry: in its responses, and on the way to it."""

from __future__ import annotations

import errno
import ssl
from typing import Any

import requests

from cannery.common.errors import EngineError, Problem
from cannery.common.http import UNKNOWN_ISSUER, causes, distrust
from cannery.common.outside import one_line, parse_json

_LONGEST = 2000
"""The most characters of an explanation."""

_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")
"""OpenSSL's reasons for an answer that is not TLS; the second since 3.2."""


class RegistryError(EngineError):
    """A registry cannot be reached or refuses.

    ``status`` is the HTTP status of its answer; 0 if there was none.
    """

    def __init__(self, problem: Problem, *, status: int = 0) -> None:
        super().__init__(problem)
        self.status = status


class UnreachableError(RegistryError):
    """Nobody answers where the registry should be, or the connection breaks every time."""


def require_trust(host: str, error: requests.RequestException) -> None:
    """Raise RegistryError if ``error`` is that TLS does not prove who ``host`` is."""
    if untrusted := distrust(error):
        what = f"the certificate of {host} is not trusted: {untrusted.verify_message}."
        fix = "The registry needs a valid certificate for this name."
        if untrusted.verify_code in UNKNOWN_ISSUER:
            fix = "Add --ca FILE with the certificate of its issuer."
        raise RegistryError(Problem(what=what, fix=fix)) from error
    if is_plain(error):
        what = f"{host} has no TLS, which is allowed on this machine only."
        fix = "Put a proxy with TLS in front of it."
        raise RegistryError(Problem(what=what, fix=fix)) from error


def is_plain(error: Exception) -> bool:
    """Whether the other side has answered without TLS."""
    return any(isinstance(each, ssl.SSLError) and each.reason in _NO_TLS for each in causes(error))


def explanation(response: requests.Response) -> str:
    """The status and the error messages of a response, as a sentence."""
    said = "; ".join(" ".join(_words(each)) for each in _errors(response))
    said = said or response.text.strip()[:300] or response.reason
    return one_line(f"{response.status_code} {said[:_LONGEST]}".rstrip(".")) + "."


def storage_is_full(response: requests.Response) -> bool:
    """Whether the registry has no space left."""
    if response.status_code == requests.codes.insufficient_storage:
        return True
    # The specification has no code for it. docker-registry gives the number of the system call's
    # error; for the storage of other registries a sentence is all there is.
    errors = _errors(response)
    return _holds_full(errors) or "no space left" in response.text.lower()


def _holds_full(value: object) -> bool:
    if isinstance(value, dict):
        return value.get("Err") == errno.ENOSPC or any(map(_holds_full, value.values()))
    return isinstance(value, list) and any(map(_holds_full, value))


def _errors(response: requests.Response) -> list[dict[str, Any]]:
    """The errors in the body, in the form of the OCI distribution specification."""
    try:
        found = parse_json(response.content)["errors"]
    except (ValueError, TypeError, KeyError):
        return []
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _words(error: dict[str, Any]) -> list[str]:
    parts = (error.get("code"), error.get("message"), error.get("detail"))
    return [str(each) for each in parts if each]
