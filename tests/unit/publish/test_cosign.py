# SPDX-License-Identifier: Apache-2.0
"""What cosign is asked, and what is made of its answers; tests/publish asks the real one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cannery.common.errors import EngineError, UsageError
from cannery.publish import cosign
from cannery.publish.cosign import PASSWORD, sign, verify

REFERENCE = "registry.example.com/ascend@sha256:" + "0" * 64


@pytest.fixture
def key(tmp_path: Path) -> str:
    path = tmp_path / "cosign.key"
    path.write_text("a key", encoding="utf-8")
    return str(path)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that were run; each ends well."""
    result: list[list[str]] = []

    def run(argv: list[str], **_: Any) -> tuple[int, str]:
        result.append(argv)
        return 0, ""

    monkeypatch.setattr(cosign, "find_cosign", lambda: "/usr/bin/cosign")
    monkeypatch.setattr(cosign, "run", run)
    monkeypatch.setenv(PASSWORD, "")
    return result


def test_nothing_goes_to_the_transparency_log(asked: list[list[str]], key: str) -> None:
    sign(REFERENCE, key)
    verify(REFERENCE, key)
    assert "--tlog-upload=false" in asked[0]
    assert "--insecure-ignore-tlog=true" in asked[1]


@pytest.mark.parametrize("reference", ["registry.example.com/ascend:tag", "ascend@sha256:12", ""])
def test_only_a_digest_is_signed(asked: list[list[str]], key: str, reference: str) -> None:
    with pytest.raises(UsageError, match="has no digest"):
        sign(reference, key)
    assert not asked


def test_all_problems_at_once(asked: list[list[str]], tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        verify("ascend:latest", str(tmp_path / "none.pub"))
    assert len(raised.value.problems) == 2
    assert not asked


def test_a_kms_key_needs_no_password(
    asked: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(PASSWORD)
    sign(REFERENCE, "awskms:///alias/ours")
    assert "awskms:///alias/ours" in asked[0]


@pytest.mark.parametrize(
    ("message", "fix"),
    [
        ("Error: signing: getting signer: reading key: decrypt: encrypted", PASSWORD),
        ("GET https://x: UNAUTHORIZED: authentication required", "docker login"),
        ("tls: failed to verify certificate: x509: unknown authority", "--ca"),
        ("GET https://127.0.0.1:40335/v2/: tls: x509: unknown authority", "--ca"),
        ("GET https://x/v2/: unexpected status code 403 Forbidden", "docker login"),
        (f"cannot open 127.0.0.1:40335/ascend@sha256:{'403' * 21}4", ""),
        ("Error: unknown flag: --tlog-upload", "cosign 2"),
        ("Error: something else", ""),
    ],
)
def test_errors_of_cosign_get_a_fix(
    asked: list[list[str]], key: str, monkeypatch: pytest.MonkeyPatch, message: str, fix: str
) -> None:
    monkeypatch.setattr(cosign, "run", lambda *_, **__: (1, f"WARNING: of no use\n{message}\n"))
    with pytest.raises(EngineError) as raised:
        verify(REFERENCE, key)
    [problem] = raised.value.problems
    assert message in problem.what and "of no use" not in problem.what
    assert "could not verify" in problem.what
    assert fix in problem.fix and bool(fix) == bool(problem.fix)


def test_a_key_without_its_password(
    asked: list[list[str]], key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(PASSWORD)
    with pytest.raises(UsageError, match=f"password of the signing key .* Set {PASSWORD}"):
        sign(REFERENCE, key)
    assert not asked


@pytest.mark.parametrize("code", [10, 12])
def test_an_image_without_the_signature(
    asked: list[list[str]], key: str, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """cosign tells it by its exit code."""
    monkeypatch.setattr(cosign, "run", lambda *_, **__: (code, "Error: in other words, 401\n"))
    with pytest.raises(EngineError, match=f"was not signed with {key}") as raised:
        verify(REFERENCE, key)
    assert "name the key that it was signed with" in str(raised.value)
