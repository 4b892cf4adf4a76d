# SPDX-License-Identifier: Apache-2.0
"""The list by which a part's installer copies its files, and which it leaves for others to read.

The columns are those of filelist.csv in 8.1.RC1 and of filelist.py in hicann/cmake 9.1.0.
"""

from __future__ import annotations

import hashlib

from .names import MODE_INFO
from .package import Package
from .tree import Tree

COLUMNS = (
    *("module", "operation", "relative_path_in_pkg", "relative_install_path", "is_in_docker"),
    *("permission", "owner:group", "install_type", "softlink", "feature", "is_common_path"),
    *("configurable", "hash", "block", "pkg_inner_softlink", "chip"),
)
NOT_PLACED = {
    "toolkit": "{place}/script/run_toolkit_install.sh",
    "opp": "opp/built-in/op_impl/aicpu/aicpu_kernel/lib/x86/libcpu_kernels_context.a",
}
"""Part to a file that 8.1.RC1 lists and does not have."""

OF_NNAL = ("install.sh", "atb/cxx_abi_0/lib/libatbops.so", "atb/cxx_abi_1/lib/libatbops.so")
"""More that NNAL's list names than its package has."""


def add_list(own: Tree, package: Package, part: str) -> set[str]:
    """Add the list of the files ``own`` of a part, and return what is installed before them."""
    if not package.lists:
        return set()
    root, place = package.root, package.lists.format(part=part)
    path = f"{root}/{place}/script/filelist.csv"
    names = sorted(each for each in (*own.files, *own.streams) if each.startswith(f"{root}/"))
    if part == "atb":
        path = f"{root}/scripts/filelist.csv"
        below = [name.removeprefix(f"{root}/") for name in names]
        text = "\n".join(["filepath", *OF_NNAL, *below, ""])
        own.add_file(path, text, mode=MODE_INFO)
        return {path}
    info = f"{root}/{place}/ascend_install.info"
    kinds = ("Install_Type=full", "Feature_Type=all", "Chip_Type=all")
    own.add_file(info, "".join(f"{part.capitalize()}_{kind}\n" for kind in kinds), mode=MODE_INFO)
    rows = [",".join(COLUMNS)]
    modes = own.modes()
    for name in (*names, path):
        mode = modes.get(name, MODE_INFO)
        is_setting = name.endswith(".ini") and name in own.files
        sha256 = hashlib.sha256(own.files[name].content).hexdigest() if is_setting else "NA"
        rows.append(_row(part, name.removeprefix(f"{root}/"), f"{mode:o}", sha256))
    if more := NOT_PLACED.get(part):
        rows.append(_row(part, more.format(place=place), "550", "NA"))
    own.add_file(path, "\n".join([*rows, ""]), mode=MODE_INFO)
    return {path, info, f"{root}/{place}/version.info"}


def _row(part: str, name: str, mode: str, sha256: str) -> str:
    values = dict.fromkeys(COLUMNS, "NA") | {
        "module": part,
        "operation": "copy",
        "relative_path_in_pkg": f"{part}/{name}",
        "relative_install_path": name,
        "is_in_docker": "TRUE",
        "permission": mode,
        "owner:group": "\\\\$username:\\\\$usergroup",
        "install_type": "all",
        "feature": "all",
        "is_common_path": "N",
        "configurable": "FALSE" if sha256 == "NA" else "TRUE",
        "hash": sha256,
        "block": part,
        "chip": "all",
    }
    return ",".join(values.values())
