# SPDX-License-Identifier: Apache-2.0
"""Which C++ ABI a library has by the names in it; those here are of torch's and MindSpore's."""

from __future__ import annotations

import pytest

from cannery.common.cxx_abi import FRAMEWORKS, cxx_abi

OLD = b"_ZN3c105ErrorC1ENS_14SourceLocationESs"
NEW = (
    b"_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
    b"_ZNK3c1010DeviceGuard4nameB5cxx11Ev",
)
NEUTRAL = b"_ZN3c1013intrusive_ptr"
MINDSPORE = b"_ZN9mindspore4core4NameERKSs"
# Parts of libstdc++ in libraries of the other ABI.
LIBSTDCXX = b"_ZNSt7__cxx1112basic_stringIcE_M_assignE\0_ZNSs6appendEPKc"


@pytest.mark.parametrize(
    ("names", "package", "abi"),
    [
        ([OLD, NEUTRAL, LIBSTDCXX], "torch", 0),
        ([NEW[0], NEUTRAL, LIBSTDCXX], "torch", 1),
        ([NEW[1]], "torch", 1),
        ([OLD, NEW[1]], "torch", None),
        ([NEUTRAL, LIBSTDCXX, b"_ZN6google10LogMessageESs"], "torch", None),
        ([MINDSPORE, NEW[0]], "mindspore", 0),
        ([], "mindspore", None),
    ],
)
def test_only_names_of_the_framework_tell_the_abi(
    names: list[bytes], package: str, abi: int | None
) -> None:
    library = b"\x7fELF\0" + b"\0".join(names) + b"\0\xff"
    assert cxx_abi(library, FRAMEWORKS[package].namespace) == abi
