# SPDX-License-Identifier: Apache-2.0
"""The file that an installer takes, out of those that an index has."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cannery.common.errors import MatrixError
from cannery.common.wheels import WheelPlatform
from cannery.lock.lock_file import Lock, LockedFile, parse_lock, with_files
from cannery.lock.resolve import check_unchanged, chosen_files, listed_files

PLATFORM = WheelPlatform(python="3.9.2", abi="cp39", machine="aarch64", glibc="2.31")
LOCK = parse_lock("foo-bar==1.0\n")

PYLOCK = f"""
lock-version = "1.0"
[[packages]]
name = "Foo.Bar"
version = "1.0"
wheels = [
    {{ url = "https://index.test/a%20b/foo_bar-1.0%2Bx-py3-none-any.whl#sha256=0", hashes = {{ sha256 = "{"a" * 64}" }} }},
    {{ path = "/srv/wheels/foo_bar-1.0-cp39-cp39-linux_aarch64.whl", hashes = {{ md5 = "0" }} }},
    {{ name = "foo_bar-1.0-py2-none-any.whl", url = "https://index.test/get/7", hashes = {{ sha256 = "{"b" * 64}" }} }},
]
[[packages]]
name = "six"
sdist = {{ url = "https://index.test/six-1.tar.gz", hashes = {{ sha256 = "{"c" * 64}" }} }}
"""  # noqa: E501 - as uv writes it


def test_files_are_read_as_uv_writes_them() -> None:
    assert listed_files(PYLOCK) == {
        "foo-bar": (
            LockedFile(name="foo_bar-1.0+x-py3-none-any.whl", sha256="a" * 64),
            LockedFile(name="foo_bar-1.0-cp39-cp39-linux_aarch64.whl", sha256=""),
            LockedFile(name="foo_bar-1.0-py2-none-any.whl", sha256="b" * 64),
        ),
        "six": (LockedFile(name="six-1.tar.gz", sha256="c" * 64),),
    }


def test_an_index_without_packages_lists_none() -> None:
    assert listed_files('lock-version = "1.0"\n') == {}


def files(*ends: str) -> list[LockedFile]:
    """Files of foo-bar 1.0; each has another hash."""
    names = [end if end.endswith((".gz", ".whl")) else f"foo_bar-1.0-{end}.whl" for end in ends]
    return [LockedFile(name=name, sha256=f"{n:064}") for n, name in enumerate(names)]


def chosen(*ends: str) -> str:
    [found] = chosen_files(LOCK, {"foo-bar": files(*ends)}, PLATFORM).values()
    return found.name.removeprefix("foo_bar-1.0-").removesuffix(".whl")


CHOICES: dict[str, Sequence[str]] = {
    "a binary before a pure one": ("cp39-cp39-manylinux_2_17_aarch64", "py3-none-any"),
    "the own interpreter before the stable ABI": (
        "cp39-cp39-linux_aarch64",
        "cp39-abi3-manylinux_2_17_aarch64",
    ),
    "the newest glibc that fits": (
        "cp39-cp39-manylinux_2_28_aarch64",
        *("cp39-cp39-manylinux_2_17_aarch64", "cp39-cp39-manylinux_2_34_aarch64"),
    ),
    "the best of all tags of a file": (
        "cp39-cp39-manylinux2014_aarch64.manylinux_2_28_aarch64",
        "cp39-cp39-manylinux_2_17_aarch64.manylinux2014_aarch64",
    ),
    "this machine": ("py3-none-any", "cp39-cp39-manylinux_2_17_x86_64"),
    "the highest build number": ("10-py3-none-any", "2-py3-none-any", "py3-none-any"),
    "a wheel before the sdist": ("py3-none-any", "foo_bar-1.0.tar.gz"),
    "the sdist, if there is no wheel": ("foo_bar-1.0.tar.gz",),
    "a file with a name of a wheel": ("py3-none-any", "nonsense.whl"),
}


@pytest.mark.parametrize("ends", CHOICES.values(), ids=CHOICES)
def test_the_file_that_is_taken(ends: Sequence[str]) -> None:
    assert chosen(*ends) == ends[0]
    assert chosen(*reversed(ends)) == ends[0]


def test_every_package_without_a_file_is_named_with_the_nearest() -> None:
    lock = parse_lock("foo-bar==1.0\nsix==1\ntorch==2\n")
    listed = {
        "foo-bar": files(
            "cp39-cp39-manylinux_2_34_x86_64",
            "cp39-cp39-manylinux_2_34_aarch64",
            "cp312-cp312-manylinux_2_34_aarch64",
        ),
        "six": [LockedFile(name="six-1-py3-none-any.whl", sha256="")],
    }
    with pytest.raises(MatrixError) as caught:
        chosen_files(lock, listed, PLATFORM)
    best = "cp39-cp39-manylinux_2_31_aarch64"
    assert "\n".join(map(str, caught.value.problems)) == (
        f"foo-bar 1.0 has no file for {best} or a platform with an older glibc. "
        "The nearest file is foo_bar-1.0-cp39-cp39-manylinux_2_34_aarch64.whl.\n"
        "the package index has no sha256 of six-1-py3-none-any.whl. "
        "Name an index that has it with --index-url.\n"
        f"torch 2 has no file for {best} or a platform with an older glibc."
    )


def locked(*found: LockedFile) -> Lock:
    return parse_lock(with_files("foo-bar==1.0\n", {"foo-bar": found}))


def test_a_file_that_the_index_has_replaced_is_refused() -> None:
    [before] = files("py3-none-any")
    check_unchanged("the lock", locked(before), [before])
    after = LockedFile(name=before.name, sha256="f" * 64)
    with pytest.raises(MatrixError) as caught:
        check_unchanged("the lock", locked(before), [after])
    assert str(caught.value) == (
        f"the package index has another {before.name} than the lock: its sha256 is {'f' * 64}, "
        f"not {before.sha256}. Find out why. To use it, delete the package from the lock and lock "
        "again."
    )


def test_another_file_of_the_same_version_is_none_that_was_replaced() -> None:
    old, new = files("py3-none-any", "cp39-cp39-linux_aarch64")
    check_unchanged("the lock", locked(old), [new])
