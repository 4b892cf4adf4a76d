# SPDX-License-Identifier: Apache-2.0
"""Reading an image, from an engine that hands out archives; tests/publish asks the real one."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import docker.errors
import pytest
from packageurl import PackageURL

from cannery.common.errors import EngineError
from cannery.common.model import Target
from cannery.image.plan import plan_image
from cannery.lock.debs import DEBS
from cannery.lock.lock_file import parse_lock
from cannery.publish.attestations import package_url
from cannery.publish.inventory import (
    LOCK,
    RECORD,
    RPMS,
    Origin,
    image_inventory,
)
from tests.unit.matrices import DIGEST, Checkout, lock_for

CANN = "/usr/local/Ascend/ascend-toolkit/latest/python/site-packages"


@dataclass
class Image:
    """An image, by its files; what is asked for a folder is handed out as the engine does it."""

    files: dict[str, str]
    simulated: str = "true"
    cut: int = 0
    chunk: int = 7
    asked: list[str] = field(default_factory=list)
    removed: bool = False

    @property
    def attrs(self) -> dict[str, Any]:
        env = ["PATH=/usr/bin", f"PYTHONPATH={CANN}:/opt/none"]
        return {"Config": {"Env": env, "Labels": {"io.cannery.simulated": self.simulated}}}

    def get_archive(self, path: str) -> tuple[Iterator[bytes], Mapping[str, Any]]:
        self.asked.append(path)
        folder = path.removesuffix("/.")
        result = {n: t for n, t in self.files.items() if n == path or n.startswith(folder + "/")}
        if not result:
            raise docker.errors.NotFound("no such path")
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w") as archive:
            for name, text in result.items():
                inner = f".{name.removeprefix(folder)}" if name != path else name.rpartition("/")[2]
                member = tarfile.TarInfo(inner)
                member.size = len(text.encode())
                archive.addfile(member, io.BytesIO(text.encode()))
        whole = stream.getvalue()
        whole = whole[: self.cut] if self.cut else whole
        return (whole[at : at + self.chunk] for at in range(0, len(whole), self.chunk)), {}


@pytest.fixture
def target(checkout: Checkout) -> Target:
    return checkout.target()


@pytest.fixture
def image(target: Target, monkeypatch: pytest.MonkeyPatch) -> Image:
    lock = parse_lock(lock_for(target))
    plan = plan_image(target, lock)
    record, site = plan.image_record, plan.python.site_packages
    apex = "Metadata-Version: 2.1\nName: apex\nVersion: 0.1\nLicense: Apache-2.0\n"
    files = {
        RECORD: json.dumps(record),
        LOCK: lock_for(target),
        f"{DEBS}/os.txt": f"{'d' * 64}  libc6_2.31-13_arm64.deb\n",
        f"{DEBS}/README": f"{'e' * 64}  tzdata_2024a_all.deb\n",
        "/usr/lib/os-release": "ID=debian\nVERSION_ID=11\n",
        "/var/lib/dpkg/status": "Package: libc6\nStatus: install ok installed\nVersion: 2.31-13\n"
        "Architecture: arm64\n",
        "/var/lib/dpkg/status.d/tzdata": "Package: tzdata\nVersion: 2024a\n",
        "/var/lib/dpkg/status.d/tzdata.md5sums": "Package: not one\n",
        f"{site}/torch-2.3.1.dist-info/METADATA": "Name: torch\nVersion: 2.3.1\n",
        f"{site}/torch-2.3.1.dist-info/RECORD": "nothing to read",
        f"{site}/apex-0.1.dist-info/METADATA": apex,
        f"{site}/torch/vendored/x-1.dist-info/METADATA": "Name: x\nVersion: 1\n",
        f"{CANN}/te-0.4.0.dist-info/METADATA": "Name: te\nVersion: 0.4.0\n",
    }
    result = Image(files=files)

    @contextmanager
    def unstarted(name: str, platform: str) -> Iterator[Image]:
        assert (name, platform) == ("cannery:full", "linux/arm64")
        yield result
        result.removed = True

    monkeypatch.setattr("cannery.engine.containers.unstarted", unstarted)
    return result


@pytest.mark.parametrize("chunk", [1, 7, 512, 1 << 20])
def test_everything_is_read(image: Image, target: Target, chunk: int) -> None:
    image.chunk = chunk
    result = image_inventory("cannery:full", "linux/arm64", target, {"nnal": "a" * 64})
    assert result.versions == {
        "wheels": {"apex": "0.1", "te": "0.4.0", "torch": "2.3.1"},
        "debian": {"libc6": "2.31-13", "tzdata": "2024a"},
        "vendor": {
            "apex": "0.1+ascend",
            "kernels": "8.0.RC2",
            "nnal": "8.0.RC2",
            "toolkit": "8.0.RC2",
        },
    }
    assert {each.name: each.source for each in result.wheels} == {
        "apex": Origin.SIMULATOR,
        "te": Origin.CANN,
        "torch": Origin.INDEX,
    }
    assert {each.name: each.sha256 for each in result.vendor}["nnal"] == "a" * 64
    files = {each.name: (each.file, each.sha256) for each in (*result.wheels, *result.debian)}
    assert {name: file for name, file in files.items() if file != ("", "")} == {
        "torch": ("torch-2.3.1-py3-none-any.whl", DIGEST),
        "libc6": ("libc6_2.31-13_arm64.deb", "d" * 64),
    }
    assert (result.distribution, result.simulated) == ("debian-11", True)
    assert image.removed


@pytest.mark.parametrize(
    ("label", "path"),
    [
        ("true", "/opt/none"),
        ("false", "/usr/local/Ascend/simulated/Ascend-cann-toolkit"),
        ("", "/usr/local/lib/python3.9/dist-packages/apex/SIMULATED"),
    ],
)
def test_the_label_or_a_stand_in_makes_an_image_simulated(
    image: Image, target: Target, label: str, path: str
) -> None:
    image.simulated = label
    image.files[path] = "This is a software stand-in."
    assert image_inventory("cannery:full", "linux/arm64", target).simulated


def test_an_image_without_either_is_not_simulated(image: Image, target: Target) -> None:
    image.simulated = "false"
    result = image_inventory("cannery:full", "linux/arm64", target)
    assert not result.simulated
    assert {each.source for each in result.vendor} == {Origin.VENDOR}


RPM_LIST = """\
gcc-c++\t12.3.1-30.oe2403\taarch64\tGPLv3+
glibc\t2.38-29.oe2403\taarch64\tLGPLv2+
perl\t4:5.38.0-6.oe2403\taarch64\tGPL-1.0-or-later
broken line
"""


def test_rpm_packages_have_the_file_of_their_layer_or_are_of_the_base(
    image: Image, target: Target
) -> None:
    image.files[f"{RPMS}/installed.txt"] = RPM_LIST
    image.files[f"{RPMS}/os.txt"] = f"{'a' * 64}  gcc-c++-12.3.1-30.oe2403.aarch64.rpm\n"
    image.files[f"{RPMS}/dev.txt"] = f"{'b' * 64}  perl-5.38.0-6.oe2403.aarch64.rpm\nnothing\n"
    inventory = image_inventory("cannery:full", "linux/arm64", target)
    gcc, glibc, perl = inventory.debian
    assert (gcc.file, gcc.sha256) == ("gcc-c++-12.3.1-30.oe2403.aarch64.rpm", "a" * 64)
    assert (gcc.place, gcc.license, gcc.source) == ("", "GPLv3+", Origin.RPM)
    assert (glibc.file, glibc.place) == ("", "the base image")
    # The epoch is not in the name of a file.
    assert perl.sha256 == "b" * 64
    url = "pkg:rpm/openeuler/gcc-c%2B%2B@12.3.1-30.oe2403?arch=aarch64&distro=openEuler-24.03"
    inventory = replace(inventory, distribution="openEuler-24.03")
    made = PackageURL.from_string(package_url(gcc, inventory))
    assert made == PackageURL.from_string(url)
    unknown = package_url(gcc, replace(inventory, distribution=""))
    assert PackageURL.from_string(unknown).namespace is None


@pytest.mark.parametrize("text", ["", "{", "[]", '"full"', "{}", '{"id": "full"}'])
def test_an_image_without_a_record_is_refused(image: Image, target: Target, text: str) -> None:
    image.files[RECORD] = text
    with pytest.raises(EngineError, match="is missing or invalid") as raised:
        image_inventory("cannery:full", "linux/arm64", target)
    assert "build.py --target full" in raised.value.problems[0].fix


def test_an_image_without_a_lock_has_wheels_of_unknown_files(image: Image, target: Target) -> None:
    del image.files[LOCK]
    result = image_inventory("cannery:full", "linux/arm64", target)
    assert {each.name: each.source for each in result.wheels}["torch"] is Origin.UNKNOWN


def test_an_image_with_a_broken_lock_is_refused(image: Image, target: Target) -> None:
    image.files[LOCK] = "what is this\n"
    with pytest.raises(EngineError, match=rf"the lock {LOCK} in cannery:full is invalid"):
        image_inventory("cannery:full", "linux/arm64", target)


def test_an_image_of_another_target_is_refused(image: Image, target: Target) -> None:
    image.files[RECORD] = '{"id": "bare"}'
    with pytest.raises(EngineError, match="an image of bare, not of full"):
        image_inventory("cannery:full", "linux/arm64", target)


def test_an_incomplete_archive(image: Image, target: Target) -> None:
    image.cut = 700
    with pytest.raises(EngineError, match=r"archive of .* is incomplete"):
        image_inventory("cannery:full", "linux/arm64", target)
