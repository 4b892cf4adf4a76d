# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.bases import EVERY_IMAGE, PYTHON, PackageManager
from cannery.common.errors import FileError, MatrixError
from cannery.matrix.distributions import DISTRIBUTIONS, load_distributions
from tests.unit import applications
from tests.unit.matrices import edited, load

TEXT = DISTRIBUTIONS.read_text(encoding="utf-8")


def read(folder: Path, text: str) -> MatrixError:
    path = folder / "distributions.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(MatrixError) as caught:
        load_distributions(path)
    return caught.value


def test_every_distribution_has_the_packages_of_the_layers() -> None:
    found = load_distributions()
    assert {*found} == {"debian", "ubuntu", "openeuler"}
    for each in found.values():
        assert {*EVERY_IMAGE, PYTHON} <= each.packages.keys()
    assert found["openeuler"].package_manager is PackageManager.DNF
    assert "gcc-c++" in found["openeuler"].packages_for("compiler")


def test_a_name_without_an_entry_is_a_package_name() -> None:
    debian = load_distributions()["debian"]
    assert debian.packages_for("pdsh", "ssh", "compiler") == (
        *("g++", "make"),
        *("openssh-client", "pdsh"),
    )


def test_a_base_replaces_single_entries(tmp_path: Path) -> None:
    """An entry of the distribution, or a package that an application asks for."""
    own = "    suite: bullseye\n    packages: {ssh: [dropbear], pdsh: [pdsh-lite]}\n"
    text = edited("    suite: bullseye\n", own, applications.TEXT)
    target = load(tmp_path, text).targets["served"]
    assert target.base.distribution.packages_for("ssh", "pdsh") == ("dropbear", "pdsh-lite")
    assert target.base.distribution.packages_for("pci") == ("pciutils",)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    pci: [pciutils]\n    processes: [procps]\n", "", "there is no entry 'pci'. Add it."),
        (
            "package_manager: dnf",
            "package_manager: yum",
            "package_manager: there is no 'yum'. Known: apt, dnf.",
        ),
        ("python{minor}/site-packages", "python3/site-packages", "must contain {minor} once"),
        ("native_python: true", "nativ_python: true", "unknown key 'nativ_python'"),
        ("[openssh-clients]", "[--evil]", "'--evil' is not the name of a package"),
    ],
)
def test_a_wrong_distribution(tmp_path: Path, old: str, new: str, said: str) -> None:
    error = read(tmp_path, edited(old, new, TEXT))
    assert said in str(error)
    assert "distributions.yaml:" in str(error)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileError):
        load_distributions(tmp_path / "nothing.yaml")
