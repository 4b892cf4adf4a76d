# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

from packageurl import PackageURL

from cannery.publish.image_inventory import rpm_files, rpm_packages
from cannery.publish.inventory import Inventory, Origin
from cannery.publish.sbom import package_url

INSTALLED = """\
gcc-c++\t12.3.1-30.oe2403\taarch64\tGPLv3+
glibc\t2.38-29.oe2403\taarch64\tLGPLv2+
perl\t4:5.38.0-6.oe2403\taarch64\tGPL-1.0-or-later
broken line
"""
LISTS = [
    f"{'a' * 64}  gcc-c++-12.3.1-30.oe2403.aarch64.rpm\n",
    f"{'b' * 64}  perl-5.38.0-6.oe2403.aarch64.rpm\nnothing\n",
]


def test_packages_have_the_file_of_their_layer_or_are_of_the_base() -> None:
    gcc, glibc, perl = rpm_packages(INSTALLED, rpm_files(LISTS))
    assert (gcc.file, gcc.sha256) == ("gcc-c++-12.3.1-30.oe2403.aarch64.rpm", "a" * 64)
    assert (gcc.place, gcc.license, gcc.source) == ("", "GPLv3+", Origin.RPM)
    assert (glibc.file, glibc.place) == ("", "the base image")
    # The epoch is not in the name of a file.
    assert perl.sha256 == "b" * 64


def test_a_package_has_the_url_of_its_distribution() -> None:
    inventory = Inventory(wheels=(), debian=(), vendor=(), distribution="openEuler-24.03")
    gcc, *_ = rpm_packages(INSTALLED, rpm_files(LISTS))
    url = "pkg:rpm/openeuler/gcc-c%2B%2B@12.3.1-30.oe2403?arch=aarch64&distro=openEuler-24.03"
    made = PackageURL.from_string(package_url(gcc, inventory))
    assert made == PackageURL.from_string(url)
    unknown = package_url(gcc, replace(inventory, distribution=""))
    assert PackageURL.from_string(unknown).namespace is None
