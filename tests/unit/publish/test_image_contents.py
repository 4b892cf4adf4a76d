# SPDX-License-Identifier: Apache-2.0
"""Which image or record a name means, and its contents, with a stand-in for the engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cannery.common.errors import CanneryError, EngineError, UsageError
from cannery.engine.images import LocalImage
from cannery.image.plan import plan_image
from cannery.lock.lock_file import parse_lock
from cannery.publish import difference
from cannery.publish.difference import SideKind, read_contents
from cannery.publish.inventory import Inventory
from tests.unit.bills import CONTENTS
from tests.unit.matrices import Checkout
from tests.unit.publications import keep, record, sha

IMAGE = LocalImage(
    id="sha256:1", architecture="arm64", labels={"io.cannery.target": "full", "title": "x"}
)
DETAILS = {"Config": {"Env": ["PATH=/bin", "A=b=c"], "Labels": IMAGE.labels}, "Size": 7000}


class Engine:
    """The images of an engine, by their names; ``layers`` is the number of each image's layers."""

    def __init__(self) -> None:
        self.images: dict[str, LocalImage] = {}
        self.layers = 0
        self.fails = False
        self.read: list[str] = []

    def local_images(self, names: list[str]) -> dict[str, LocalImage]:
        if self.fails:
            raise EngineError("no engine answers.")
        return {name: self.images[name] for name in names if name in self.images}

    def image_details(self, name: str) -> dict[str, Any]:
        self.read.append(name)
        return DETAILS

    def image_layers(self, name: str) -> list[tuple[str, int | None]]:
        self.read.append(name)
        return [(f"sha256:{number}", number) for number in range(self.layers)]

    def image_inventory(self, name: str, platform: str, target: Any) -> Inventory:
        assert (platform, target.id) == ("linux/arm64", "full")
        self.read.append(name)
        return replace(CONTENTS, components={"torch": "2.3.1"})


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    result = Engine()
    monkeypatch.setattr(difference, "local_images", result.local_images)
    monkeypatch.setattr(difference, "image_inventory", result.image_inventory)
    monkeypatch.setattr(difference, "engine", result)
    return result


def test_the_contents_of_a_local_image(checkout: Checkout, engine: Engine) -> None:
    engine.images["cannery:mine"] = IMAGE
    result = read_contents(checkout.project, "cannery:mine")
    assert (result.name, result.kind, result.size) == ("cannery:mine", SideKind.IMAGE, 7000)
    assert result.sections["components"] == {"torch": "2.3.1"}
    assert result.sections["wheels"]["torch"] == "2.3.1"
    assert result.sections["environment"] == {"PATH": "/bin", "A": "b=c"}
    assert result.sections["labels"] == IMAGE.labels
    assert result.files == {
        "wheels": {},
        "debian": {"g++": "g++_10.2.1-1_arm64.deb (sha256 efefefefefef)"},
    }


@pytest.mark.parametrize(("bases", "first"), [(1, ["base"]), (2, ["base 1", "base 2"])])
def test_layers_have_the_names_of_the_checkout(
    checkout: Checkout, engine: Engine, bases: int, first: list[str]
) -> None:
    engine.images["cannery:full"] = IMAGE
    target = checkout.target()
    lock = parse_lock(checkout.project.lock(target).read_text(encoding="utf-8"))
    own = [layer.name for layer in plan_image(target, lock).layers]
    engine.layers = bases + len(own)
    names = [layer.name for layer in read_contents(checkout.project, "cannery:full").layers]
    assert names == [*first, *own]


def test_layers_unknown_to_the_checkout_are_numbered(checkout: Checkout, engine: Engine) -> None:
    engine.images["cannery:full"] = IMAGE
    engine.layers = 2
    result = read_contents(checkout.project, "cannery:full").layers
    assert [(layer.name, layer.identity, layer.size) for layer in result] == [
        ("layer 1", "sha256:0", 0),
        ("layer 2", "sha256:1", 1),
    ]


def test_a_target_is_its_image_the_real_one_first(checkout: Checkout, engine: Engine) -> None:
    engine.images["cannery:full-sim"] = IMAGE
    assert read_contents(checkout.project, "full").name == "cannery:full-sim"
    assert read_contents(checkout.project, "full-sim").name == "cannery:full-sim"
    engine.images["cannery:full"] = IMAGE
    assert read_contents(checkout.project, "full").name == "cannery:full"
    assert read_contents(checkout.project, "full-sim").name == "cannery:full-sim"


def test_a_record_is_read_by_its_path(checkout: Checkout, engine: Engine) -> None:
    engine.fails = True
    path = keep(checkout.project.releases, record())
    result = read_contents(checkout.project, str(path))
    assert (result.kind, result.size) == (SideKind.RECORD, 100)
    assert result.sections["wheels"] == {"torch": "2.3.1"}
    assert [(each.name, each.identity, each.size) for each in result.layers] == [
        ("torch", sha("5"), 90)
    ]


PUBLISHED = "registry.example.com/ascend"
NAMES = [f"{PUBLISHED}:full-0123456789ab", f"{PUBLISHED}:latest", f"{PUBLISHED}@{sha('1')}"]


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("name", [*NAMES, f"{PUBLISHED}@{sha('2')}"])
def test_a_published_image_is_found_in_its_record(
    checkout: Checkout, engine: Engine, name: str, fails: bool
) -> None:
    engine.fails = fails
    keep(checkout.project.releases, record())
    assert read_contents(checkout.project, name).kind is SideKind.RECORD


def test_a_moving_tag_means_the_newest_record(checkout: Checkout, engine: Engine) -> None:
    keep(checkout.project.releases, record())
    newer = {"tag": "full-newer", "pushed": "2026-11-22T12:00:00Z", "components": {"torch": "9"}}
    keep(checkout.project.releases, record(**newer))
    result = read_contents(checkout.project, f"{PUBLISHED}:latest")
    assert result.sections["components"] == {"torch": "9"}


def test_a_local_copy_of_a_published_image_says_more(checkout: Checkout, engine: Engine) -> None:
    keep(checkout.project.releases, record())
    engine.images[f"{PUBLISHED}:latest"] = IMAGE
    assert read_contents(checkout.project, f"{PUBLISHED}:latest").kind is SideKind.IMAGE


UNRECORDED = "and no record in releases/ names it."
GONE = " its pushes in releases/, or check out a commit that has it."
WRONG: dict[str, tuple[str, str]] = {
    "a target without an image": (
        "bare",
        "bare is not on this machine. Build it: python build.py --target bare",
    ),
    "the image of a target": (
        "cannery:bare-sim",
        "cannery:bare-sim is not on this machine. Build it: python build.py --target bare",
    ),
    "a misspelt target": (
        "fulll",
        f"there is no local image 'fulll', {UNRECORDED} Did you mean 'full'?",
    ),
    "a commit": (
        "0123456",
        f"there is no local image '0123456', {UNRECORDED} To compare commits, add --target ID.",
    ),
    "another image": (
        "debian:11",
        "debian:11 is not an image of this project: it has no label io.cannery.target.",
    ),
    "an image of a removed target": (
        "cannery:gone",
        "cannery:gone is an image of gone, which matrix.yaml does not have. Compare the records of"
        + GONE,
    ),
    "a record": ("releases/x.json", "there is no record releases/x.json."),
}


@pytest.mark.parametrize(("name", "message"), WRONG.values(), ids=WRONG)
def test_unknown_names(checkout: Checkout, engine: Engine, name: str, message: str) -> None:
    engine.images["debian:11"] = replace(IMAGE, labels={})
    engine.images["cannery:gone"] = replace(IMAGE, labels={"io.cannery.target": "gone"})
    with pytest.raises(UsageError) as caught:
        read_contents(checkout.project, name)
    assert str(caught.value) == message
    assert engine.read == []


def test_a_misspelt_record_is_near_to_one(checkout: Checkout, engine: Engine) -> None:
    path = keep(checkout.project.releases, record()).relative_to(checkout.project.root)
    with pytest.raises(UsageError, match=rf"Did you mean '{path}'\?"):
        read_contents(checkout.project, str(path).replace("0123", "0124"))


def test_an_unreachable_engine_is_reported(checkout: Checkout, engine: Engine) -> None:
    engine.fails = True
    with pytest.raises(CanneryError, match="no engine answers"):
        read_contents(checkout.project, "full")
