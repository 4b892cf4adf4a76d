# SPDX-License-Identifier: Apache-2.0
"""What a package has besides the software device: archives, wheels, and others' libraries."""

from __future__ import annotations

from pathlib import PurePosixPath

from . import marker
from .archives import marked_tar, python_wheel
from .elf import OTHER, empty_library
from .layout import Contents, Layout
from .names import MODE_INFO, fill
from .spec import Spec
from .tree import Tree


def add_contents(tree: Tree, spec: Spec, layout: Layout, component: str) -> Contents:
    """Put in what the layout says of the package, and return that with paths from the install path.

    A wheel has the modules that the tree has where pip will put them; one that the tree does not
    have is made up.
    """
    contents, root = layout.contents[component], fill(layout.toolkit_tree, spec)
    for each in contents.libraries:
        path = PurePosixPath(f"{root}/{fill(each, spec)}")
        # In a folder that no machine names are libraries for the device's own CPU.
        arch = path.parent.name if path.parent.name in OTHER else "aarch64"
        tree.add_file(str(path), empty_library(arch, path.name), mode=MODE_INFO)
    for each in contents.archives:
        path = PurePosixPath(f"{root}/{fill(each, spec)}")
        made = python_wheel(path.name, {}) if path.suffix == ".whl" else marked_tar(path.name)
        tree.add_file(str(path), made, mode=MODE_INFO)
    wheels = {}
    for each, (folder, *modules) in contents.wheels.items():
        path, place = PurePosixPath(f"{root}/{fill(each, spec)}"), f"{root}/{folder}/"
        if not (files := modules_of(tree, place, modules)):
            tree.add_file(f"{place}{modules[0]}/__init__.py", f"# {marker.text(modules[0])}")
            files = modules_of(tree, place, modules)
        wheels[str(path)] = (place, *modules)
        tree.add_file(str(path), python_wheel(path.name, files), mode=MODE_INFO)
    parts = {
        name: tuple(f"{root}/{fill(each, spec)}" for each in beginnings)
        for name, beginnings in contents.parts.items()
    }
    return Contents(contents.libraries, contents.archives, wheels, parts)


def modules_of(tree: Tree, place: str, names: list[str]) -> dict[str, bytes]:
    """The files of the modules that are in the folder ``place``, by their path in a wheel."""
    beginnings = tuple(f"{place}{name}/" for name in names)
    return {
        path[len(place) :]: file.content
        for path, file in sorted(tree.files.items())
        if path.startswith(beginnings)
    }


def add_latest(tree: Tree, spec: Spec, layout: Layout) -> None:
    """The folder of links to all that the tree has, where the layout has one."""
    if not layout.latest:
        return
    root, linux = fill(layout.toolkit_tree, spec), f"{spec.arch}-linux"
    every = sorted({*tree.directories, *tree.files, *tree.links})
    for path in every:
        name = path.removeprefix(f"{root}/")
        if name in (path, linux):
            continue
        above = name.rpartition("/")[0]
        if not above and path in tree.links:
            tree.add_link(f"{layout.latest}/{name}", tree.links[path].target)
        elif not above or (above in (linux, f"{linux}/bin") and name != f"{linux}/bin"):
            up = "../" * (above.count("/") + (2 if above else 1))
            tree.add_link(f"{layout.latest}/{name}", f"{up}{spec.cann}/{name}")
    if f"{root}/{linux}/bin" in tree.directories:
        text = "# Simulated: sourcing ascend-toolkit/set_env.sh is enough.\n"
        tree.add_file(f"{layout.latest}/{linux}/bin/setenv.bash", text)
