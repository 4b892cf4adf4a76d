# SPDX-License-Identifier: Apache-2.0
"""References to images: the grammar of the distribution specification, and docker's reading."""

from __future__ import annotations

import pytest

from cannery.common.errors import UsageError
from cannery.common.references import (
    Reference,
    cache_name,
    full_reference,
    image_name,
    image_tag,
    is_versioned,
    parse_reference,
    read_reference,
    tag_end,
)
from tests.unit.publications import sha

DIGEST = sha("a")

GRAMMAR = {
    # text: registry, repository, tag, digest; None for what is no reference
    "ascend": ("", "ascend", "", ""),
    "ascend:latest": ("", "ascend", "latest", ""),
    "team/ascend": ("", "team/ascend", "", ""),
    "a.b-c__d---e2/f_g": ("", "a.b-c__d---e2/f_g", "", ""),
    "localhost/ascend": ("localhost", "ascend", "", ""),
    "r.test/team/ascend:1.0_x-Y": ("r.test", "team/ascend", "1.0_x-Y", ""),
    "R.test/ascend": ("R.test", "ascend", "", ""),
    "r.test:5000/ascend:_x": ("r.test:5000", "ascend", "_x", ""),
    "127.0.0.1:5000/a@" + DIGEST: ("127.0.0.1:5000", "a", "", DIGEST),
    "[::1]:5000/a:b@" + DIGEST: ("[::1]:5000", "a", "b", DIGEST),
    "r.test:5000": ("", "r.test", "5000", ""),
    "a:" + "b" * 128: ("", "a", "b" * 128, ""),
    "r.test/" + "a" * 248: ("r.test", "a" * 248, "", ""),
    "r.test/" + "a" * 249: None,
    "a:" + "b" * 129: None,
    "": None,
    "Ascend": None,
    "r.test/Ascend": None,
    "a..b": None,
    "a.-b": None,
    "a___b": None,
    "-a": None,
    "a-": None,
    "/a": None,
    "a/": None,
    "a//b": None,
    "a:": None,
    "a:.b": None,
    "a:-b": None,
    "a:b:c/d": None,
    "a@sha256:12": None,
    "a@" + DIGEST.upper(): None,
    "a@sha1:" + "a" * 40: None,
    "-r.test/a": None,
    "r..test/a": None,
    "r.test:port/a": None,
    "https://r.test/a": None,
    "user:secret@r.test/a": None,
    "r.test/a b": None,
    "r.test/a\n": None,
    "r.test/\u00e4": None,
    "r.test/a:\u0661": None,
}


@pytest.mark.parametrize("text", GRAMMAR, ids=ascii)
def test_the_grammar(text: str) -> None:
    found, wanted = read_reference(text), GRAMMAR[text]
    parts = found and (found.registry, found.repository, found.tag, found.digest)
    assert parts == wanted
    assert not found or str(found) == text
    assert not found or full_reference(text).registry == (found.registry or "docker.io")


def test_a_reference_with_a_version_has_a_registry() -> None:
    assert is_versioned("r.test/a:b")
    assert is_versioned(f"r.test/a@{DIGEST}")
    assert not is_versioned("r.test/a")
    assert not is_versioned("team/a:b")


@pytest.mark.parametrize(
    ("reference", "full"),
    [
        ("ubuntu:22.04", "docker.io/library/ubuntu:22.04"),
        ("openeuler/openeuler:24.03-lts", "docker.io/openeuler/openeuler:24.03-lts"),
        ("registry.test:5000/debian:12", "registry.test:5000/debian:12"),
    ],
)
def test_a_reference_without_a_registry_is_of_docker_hub(reference: str, full: str) -> None:
    assert str(full_reference(reference)) == full


def test_a_registry_alone() -> None:
    found = parse_reference("registry.example.com:5000", repository="ascend")
    assert found == Reference(registry="registry.example.com:5000", repository="ascend")
    assert parse_reference("r.example.com/team", repository="ascend").repository == "team/ascend"


def test_an_error_shows_no_login_of_an_address() -> None:
    with pytest.raises(UsageError) as caught:
        parse_reference("https://user:secret@registry.example.com/ascend")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ascend:latest", "does not name a registry"),
        ("team/ascend", "does not name a registry"),
        ("https://registry.example.com/ascend", "invalid image reference"),
        ("registry.example.com/Ascend", "invalid image reference"),
        ("registry.example.com/ascend@sha256:12", "invalid image reference"),
        ("registry.example.com", "does not name a repository"),
        ("user:secret@registry.example.com/ascend", "invalid image reference"),
    ],
)
def test_an_invalid_reference_fails(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_reference(text)


@pytest.mark.parametrize(
    ("simulate", "end"), [(False, ""), (True, "-sim")], ids=["real", "simulated"]
)
def test_the_tag_of_a_simulated_image_has_an_ending(simulate: bool, end: str) -> None:
    assert tag_end(simulate=simulate) == end
    assert image_tag("full", simulate=simulate) == "full" + end
    assert image_name("full", simulate=simulate) == "cannery:full" + end


@pytest.mark.parametrize(
    ("cache", "name"),
    [
        ("r.test/cache", "r.test/cache:full-sim"),
        ("r.test:5000/cache", "r.test:5000/cache:full-sim"),
        ("r.test:5000/cache:v1", "r.test:5000/cache:v1-full-sim"),
        ("cache", "cache:full-sim"),
        ("r.test/{target}/cache", "r.test/full-sim/cache"),
        ("r.test/cache:{target}-1", "r.test/cache:full-sim-1"),
    ],
)
def test_each_target_has_a_cache_of_its_own(cache: str, name: str) -> None:
    assert cache_name(cache, "full-sim") == name
