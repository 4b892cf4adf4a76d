# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from cannery.catalog.commands import CARDS, Command, commands
from cannery.catalog.entries import Entry
from cannery.deploy import formats
from tests.unit.catalogues import entry, release
from tests.unit.matrices import Checkout
from tests.unit.publications import sha

BY_DIGEST = f"registry.example.com/ascend@{sha('1')}"


@pytest.fixture
def published(checkout: Checkout) -> Entry:
    return entry(checkout, release(checkout.matrix.targets["full"]))


def texts(found: tuple[Command, ...], use: str) -> list[str]:
    return [each.text for each in found if each.use == use]


def test_what_is_published_is_pulled_by_its_digest(published: Entry) -> None:
    found = commands(published)
    assert found[0].use == "pull"
    assert shlex.split(found[0].text) == [
        *("docker", "pull", "--platform", "linux/arm64", BY_DIGEST)
    ]
    assert "build" not in {each.use for each in found}
    assert all(BY_DIGEST in each.text for each in found)


def test_what_is_not_published_is_built_and_run_where_it_was_built(checkout: Checkout) -> None:
    found = commands(entry(checkout))
    assert found[0].use == "build"
    assert {"pull", "sbom", "provenance", "signature"}.isdisjoint(each.use for each in found)
    assert all("\n  cannery:full" in text for text in texts(found, "shell"))
    for use in ("k8s", "volcano"):
        assert all("image: registry.example.com/ascend:full\n" in t for t in texts(found, use))


def test_there_is_one_text_for_each_kind_of_host(published: Entry) -> None:
    found = commands(published)
    for use in ("shell", "compose", "k8s"):
        hosts = [(each.cards, each.runtime) for each in found if each.use == use]
        assert hosts == [(cards, runtime) for cards in CARDS for runtime in formats.RUNTIMES]
    hosts = [(each.cards, each.runtime) for each in found if each.use == "volcano"]
    assert hosts == [(0, runtime) for runtime in formats.RUNTIMES]


def test_the_texts_are_those_that_run_prints(published: Entry) -> None:
    for each in commands(published):
        if each.use in formats.FORMATS:
            several = each.use == "volcano"
            text = formats.text(
                each.use,
                formats.Workload(
                    image=BY_DIGEST,
                    target=published.target,
                    cards=tuple(range(each.cards or CARDS[-1])),
                    nodes=2 if several else 1,
                    runtime=each.runtime,
                ),
            )
            assert text == each.text + "\n"


def test_a_simulated_image_runs_on_a_simulated_driver_or_not_at_all(checkout: Checkout) -> None:
    found = entry(checkout, release(checkout.matrix.targets["full"], simulated=True))
    uses = {each.use for each in commands(found)}
    assert uses == {"pull", "sbom", "provenance", "signature"}
    made = commands(found, simulated_host=Path("/srv/simulated"))
    assert {each.use for each in made} == {*uses, "shell", "compose"}
    [text] = texts(made, "shell")
    assert "source=/srv/simulated/usr/local/Ascend/driver," in text
    assert "/dev/davinci" not in text


def test_a_real_image_takes_no_simulated_driver(published: Entry) -> None:
    assert commands(published, simulated_host=Path("/srv/simulated")) == commands(published)


def test_how_to_check_what_the_record_has(checkout: Checkout, published: Entry) -> None:
    found = commands(published)
    inspect = ["docker", "buildx", "imagetools", "inspect", BY_DIGEST, "--format"]
    assert shlex.split(texts(found, "sbom")[0]) == [*inspect, "{{json .SBOM}}"]
    assert shlex.split(texts(found, "provenance")[0]) == [*inspect, "{{json .Provenance}}"]
    verify = ["cosign", "verify", "--key", "cosign.pub", "--insecure-ignore-tlog=true", BY_DIGEST]
    assert shlex.split(texts(found, "signature")[0]) == verify
    plain = release(checkout.matrix.targets["full"], attestations={}, signed=False)
    uses = {each.use for each in commands(entry(checkout, plain))}
    assert {"sbom", "provenance", "signature"}.isdisjoint(uses)
