# SPDX-License-Identifier: Apache-2.0
"""Paths, names and versions of a spec's packages, and the files that say what was installed."""

from __future__ import annotations

from . import marker
from .elf import OTHER
from .layout import Layout
from .spec import PackageSpec, Spec
from .tree import Tree

# The release alone is read by torch_npu; a likely internal version would be an invention.
INTERNAL_VERSION = "0.0.0.0.0"
INNER_VERSION = "V000R000C00-simulated"

# As runtime.xml of hicann/runtime has it: only the owner and the group may read these.
MODE_INFO = 0o440
# The date of all that is packed, in the form of generate_version_info.py of hicann/cmake.
BUILT = "19800101_000000000"


def fill(text: str, spec: Spec) -> str:
    """Put the spec's values in place of {version}, {arch} and {other}, the other architecture."""
    return text.format(version=spec.cann, arch=spec.arch, other=OTHER[spec.arch])


def version_of(entry: PackageSpec, spec: Spec) -> str:
    """The release that the package is of."""
    return entry.version or spec.cann


def package_name(entry: PackageSpec) -> str:
    """The vendor's name of the package: its file's name up to the version."""
    return entry.file.split("_", 1)[0]


def add_marker(tree: Tree, root: str, entry: PackageSpec) -> None:
    """Say in ``root`` itself, and where one look tells all, that what is there is simulated."""
    name = package_name(entry)
    for path in (f"{root}/{marker.FILE}", f"{marker.FOLDER}/{name}"):
        tree.add_file(path, marker.text(name))


def add_install_info(tree: Tree, spec: Spec, entry: PackageSpec, layout: Layout, name: str) -> str:
    """Put the .info file where the vendor has it, and return its path."""
    root = fill(layout.toolkit_tree, spec)
    path = f"{root}/{spec.arch}-linux/ascend_{name}_install.info"
    named = "/".join(filter(None, (root, fill(layout.info_place, spec))))
    tree.add_file(path, install_info(spec, entry, named))
    return path


def add_version_infos(
    tree: Tree, spec: Spec, entry: PackageSpec, layout: Layout, parts: tuple[str, ...]
) -> None:
    """Put version.info into the folders ``parts``, and scene.info where the vendor has it."""
    root, release = fill(layout.toolkit_tree, spec), version_of(entry, spec)
    head = layout.version_info.format(internal=INTERNAL_VERSION, release=release)
    needs = ""
    if entry.component == "kernels":
        oldest = ".".join(spec.cann.split(".")[:2])
        needs = f'required_package_runtime_version=">={oldest}"\n'
    for part in parts:
        text = f"{head}{needs}timestamp={BUILT}\n"
        tree.add_file(f"{root}/{part}/version.info", text, mode=MODE_INFO)
        if part.startswith("share/info/"):
            scene = f"os=linux\nos_version=simulated\narch={spec.arch}\n"
            tree.add_file(f"{root}/{part}/scene.info", scene, mode=MODE_INFO)


def install_info(spec: Spec, entry: PackageSpec, place: str) -> str:
    """The .info file's text; the installer fills in the install path."""
    return (
        f"package_name={package_name(entry)}\n"
        f"version={version_of(entry, spec)}\n"
        f"innerversion={INNER_VERSION}\n"
        f"arch={spec.arch}\n"
        "os=linux\n"
        f"path=@INSTALL_PATH@/{place}\n"
    )
