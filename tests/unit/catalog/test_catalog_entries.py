# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

from cannery.catalog.entries import entries
from cannery.verify.results import Basis
from tests.unit.catalogues import BARE, NPU, SIMULATED, entry, known, release, verify
from tests.unit.matrices import Checkout, lock_for
from tests.unit.publications import sha


def test_what_was_never_published_says_so_everywhere(checkout: Checkout) -> None:
    found = entry(checkout)
    assert (found.record, found.results, found.verdicts, found.size) == (None, (), (), None)
    assert (found.repository, found.by_tag, found.by_digest) == ("", "", "")
    assert (found.sizes, found.outdated, found.simulated) == ({}, {}, False)
    assert found.local == "cannery:full"
    assert found.future == "registry.example.com/ascend:full"
    assert {layer.size for layer in found.layers} == {None}


def test_a_release_gives_names_sizes_and_layers(checkout: Checkout) -> None:
    found = entry(checkout, release(checkout.matrix.targets["full"]))
    assert found.by_tag == "registry.example.com/ascend:full-0123456789ab"
    assert found.by_digest == f"registry.example.com/ascend@{sha('1')}"
    assert found.sizes == {"linux/arm64": 3_141_592_653}
    assert found.outdated == {}
    sizes = {layer.name: layer.size for layer in found.layers if layer.size is not None}
    assert sizes == {"wheels-torch": 800_000_000}
    assert found.trial
    assert found.trial.title == "910b arm 1gpu"


def test_every_target_has_an_entry_and_no_release_of_another(checkout: Checkout) -> None:
    releases = [release(checkout.matrix.targets["full"])]
    found = entries(checkout.matrix, known(checkout, releases))
    assert [each.id for each in found] == ["full", "bare"]
    assert [bool(each.record) for each in found] == [True, False]


def test_the_newest_release_counts(checkout: Checkout) -> None:
    target = checkout.matrix.targets["full"]
    old = release(target, pushed="2026-11-20T12:00:00Z", tag="full-old")
    found = entry(checkout, old, release(target))
    assert found.record
    assert found.record.tag == "full-0123456789ab"


def test_a_simulated_image_never_takes_the_place_of_a_real_one(checkout: Checkout) -> None:
    target = checkout.matrix.targets["full"]
    later = release(target, pushed="2026-11-30T12:00:00Z", simulated=True)
    assert not entry(checkout, release(target), later).simulated
    assert entry(checkout, later).simulated


def test_an_image_older_than_the_matrix_says_what_it_holds(checkout: Checkout) -> None:
    target = checkout.matrix.targets["full"]
    held = {**target.components, "deepspeed": "0.14.3", "extra": "1.0.0"}
    del held["apex"]
    found = entry(checkout, release(target, components=held))
    assert found.outdated == {"deepspeed": "0.14.3", "extra": "1.0.0", "apex": ""}


def test_results_of_the_release_and_recorded_ones_are_known(checkout: Checkout) -> None:
    verify(checkout, BARE, SIMULATED)
    found = entry(checkout, release(checkout.matrix.targets["full"]))
    assert [(each.tested, each.basis) for each in found.results] == [
        (BARE, Basis.CURRENT),
        (SIMULATED, Basis.CURRENT),
        (BARE, Basis.PUBLISHED),
        (NPU, Basis.PUBLISHED),
    ]
    assert [each.tested for each in found.verdicts] == [NPU, SIMULATED]
    assert entry(checkout, name="bare").results == ()


def test_layers_that_others_have(checkout: Checkout) -> None:
    target = checkout.target(name="full")
    twin = replace(target, id="twin", deepspeed="")
    checkout.lock(twin, lock_for(twin))
    matrix = replace(checkout.matrix, targets={**checkout.matrix.targets, "twin": twin})
    found = {e.id: e for e in entries(matrix, known(replace(checkout, matrix=matrix)))}
    others = {layer.name: layer.others for layer in found["full"].layers}
    assert {others[name] for name in ("os", "toolkit", "kernels", "wheels-torch")} == {1}
    assert {others[name] for name in ("wheels-deepspeed", "guard")} == {0}
    assert {layer.others for layer in found["bare"].layers} == {0}
