# SPDX-License-Identifier: Apache-2.0
"""What is known about the targets of the small matrix, releases and recorded results of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cannery.common.files import write_files
from cannery.common.model import Target
from cannery.publish.catalog import Entry
from cannery.publish.policy import Trial
from cannery.registry.records import LayerRecord, PlatformImage, Record, Tested, latest
from cannery.verify.results import Verified, known_results, path_of, to_text, verdicts
from tests.unit.matrices import Checkout
from tests.unit.publications import record, sha

TRIAL = Trial(title="910b arm 1gpu", url="https://train.example.com/trials/7")

NPU = Tested(
    device="npu",
    hardware="Atlas 800T A2, 910B3",
    passed=40,
    failed=0,
    not_run=2,
    date="2026-11-21",
)
SIMULATED = replace(NPU, device="simulated", hardware="x86_64, emulated")
BARE = replace(NPU, device="none", hardware="x86_64, emulated")

CURRENT_KEY = sha("c")
"""The content key of every image of the files that are checked out."""


def verify(checkout: Checkout, *tested: Tested, key: str = CURRENT_KEY, name: str = "full") -> None:
    """Record results of images of a target; simulated ones for results on a simulated device."""
    simulated = any(each.device == "simulated" for each in tested)
    every = [Verified.of(each, simulated=simulated, key=key, checks=0) for each in tested]
    write_files({path_of(checkout.project.root, name): to_text(every)})


def release(target: Target, **changes: Any) -> Record:
    """A release of ``target``, changed as asked."""
    image = PlatformImage(
        digest=sha("2"),
        config=sha("3"),
        size=3_141_592_653,
        layers=(
            LayerRecord(digest=sha("4"), diff_id=sha("5"), size=31_000_000, name="base"),
            LayerRecord(digest=sha("6"), diff_id=sha("7"), size=800_000_000, name="wheels-torch"),
        ),
    )
    usual = record(
        target=target.id,
        tag=f"{target.id}-0123456789ab",
        tags=(target.id,),
        platforms={target.platform: image},
        components=target.components,
        verified=(BARE, NPU),
    )
    return replace(usual, **changes)


def key_of(*_: object) -> str:
    """The content key of any target's image."""
    return CURRENT_KEY


def entry(checkout: Checkout, *records: Record, name: str = "full") -> Entry:
    """The entry of one target of the checkout, after ``records`` were published."""
    targets = checkout.matrix.targets
    results = known_results(checkout.project, targets.values(), records, key_of)
    return Entry(
        target=targets[name],
        record=latest(records, name),
        verdicts=verdicts(results[name]),
        trial=TRIAL if name == "full" else None,
        reference=f"registry.example.com/ascend:{name}",
    )
