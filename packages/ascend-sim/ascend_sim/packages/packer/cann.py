# SPDX-License-Identifier: Apache-2.0
"""What is inside the three CANN packages: toolkit, kernels (called ops from 8.5 on) and NNAL."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

from .archives import python_wheel
from .chips import accepted_types, load_chip, types_file
from .contents import add_contents, add_latest
from .exports import take_out
from .layout import PACKAGES, Layout, render_template
from .names import (
    MODE_INFO,
    add_install_info,
    add_marker,
    add_version_infos,
    fill,
    install_info,
    package_name,
    version_of,
)
from .package import Package
from .spec import PackageSpec, Spec
from .tree import Tree

CXX_ABIS = (0, 1)

# Sources that users compile, here in both layouts (HCCL performance tester, CANN 8.0 and 8.5).
# compat.yaml says which releases have none.
HCCL_TEST = "tools/hccl_test"
WITHOUT_HCCL_TEST = ("5.", "6.")

OPERATORS = ("abs", "add", "cast", "fill", "mat_mul_v3", "reduce_sum", "softmax_v2", "transpose")
"""Each has a folder beside the others' and a file of settings, as in every release; no kernels."""

NNAL_INFO_BEFORE = ("8.0.", "8.1.RC1")
"""Releases of NNAL whose package leaves no .info file."""


def build_package(spec: Spec, entry: PackageSpec, layout: Layout, device: Path) -> Package:
    """The package of ``entry``; PackError when ``device`` lacks a library that goes into it."""
    if entry.component == "kernels":
        package = kernels(spec, entry, layout)
    else:
        package = {"toolkit": toolkit, "nnal": nnal}[entry.component](spec, entry, layout, device)
    values = {"version": package.version, "arch": spec.arch, "part": "{part}"}
    # As people write them: 910b, but A3.
    chip = re.sub("^a(?=[0-9])", "A", entry.chip or "")
    return replace(
        package, part_files=layout.part_files.format(chip=f"{chip}-" * bool(chip), **values)
    )


def toolkit(spec: Spec, entry: PackageSpec, layout: Layout, device: Path) -> Package:
    """The software device's libraries in the layout's tree, with set_env.sh."""
    root = fill(layout.toolkit_tree, spec)
    tree = Tree()
    for directory in layout.tree_directories:
        tree.add_directory(f"{root}/{fill(directory, spec)}")
    for path, text in layout.tree_files.items():
        tree.add_file(f"{root}/{fill(path, spec)}", text)
    for path, source in layout.programs.items():
        tree.add_file(f"{root}/{path}", (PACKAGES / source).read_bytes(), mode=0o755)
    add_modules(tree, root, f"{root}/{spec.arch}-linux/bin", spec.cann)
    if not spec.cann.startswith(WITHOUT_HCCL_TEST):
        add_tests(tree, f"{root}/{HCCL_TEST}")
    for path, target in layout.tree_links.items():
        tree.add_link(f"{root}/{fill(path, spec)}", fill(target, spec))
    for path, target in layout.links.items():
        tree.add_link(path, fill(target, spec))
    for name in ("lib64", "devlib"):
        tree.add_copy(device / "toolkit" / name, f"{root}/{spec.arch}-linux/{name}", spec.arch)
    take_out(tree, spec.lacks)
    scripts = tuple(fill(path, spec) for path in layout.set_env)
    for path in scripts:
        tree.add_file(path, layout.script.replace("@VERSION@", spec.cann))
    info = add_install_info(tree, spec, entry, layout, "toolkit")
    add_version_infos(tree, spec, entry, layout, layout.toolkit_infos)
    add_marker(tree, root, entry)
    contents = add_contents(tree, spec, layout, "toolkit")
    add_latest(tree, spec, layout)
    return Package(
        name=package_name(entry),
        component=entry.component,
        log_name="toolkit",
        version=spec.cann,
        arch=spec.arch,
        tree=tree,
        home=root,
        root=root,
        lists=layout.lists,
        templates=(*scripts, info),
        parts=contents.parts,
        wheels=contents.wheels,
        version_cfg=f"{layout.latest}/version.cfg" if layout.version_cfg else "",
        version_parts=layout.version_parts,
        record=fill(layout.toolkit_record, spec),
        set_env="ascend-toolkit/set_env.sh",
    )


def add_modules(tree: Tree, root: str, programs: str, cann: str) -> None:
    """pyACL, the modules of the operator compiler, and the program that starts it."""
    source = PACKAGES / "toolkit"
    for path in sorted(source.rglob("*.py")):
        name = path.relative_to(source)
        tree.add_file(f"{root}/python/site-packages/{name}", path.read_bytes())
    tree.add_file(f"{root}/python/site-packages/te/version.py", f'version = "{cann}"\n')
    tree.add_file(f"{programs}/atc", (source / "atc").read_bytes(), mode=0o755)


def add_tests(tree: Tree, folder: str) -> None:
    """The sources of the tests of collective communication."""
    source = PACKAGES / "toolkit" / "hccl_test"
    for path in sorted(each for each in source.rglob("*") if each.is_file()):
        tree.add_file(f"{folder}/{path.relative_to(source)}", path.read_bytes())


def kernels(spec: Spec, entry: PackageSpec, layout: Layout) -> Package:
    """The folder in which a chip's kernels are looked for: it has none, and needs no device."""
    root = fill(layout.toolkit_tree, spec)
    chip = entry.chip or ""
    folder = f"{root}/opp/built-in/op_impl/ai_core/tbe/kernel/{load_chip(chip).kernels}"
    tree = Tree()
    version = version_of(entry, spec)
    content = {"simulated": True, "kernels": [], "chip": entry.chip, "version": version}
    tree.add_file(f"{folder}/simulated_kernels.json", json.dumps(content, indent=2) + "\n")
    tree.add_file(f"{folder}/accepted_types", types_file(accepted_types(chip)))
    config = f"{folder.rpartition('/')[0]}/config/{load_chip(chip).kernels}"
    for name in OPERATORS:
        tree.add_file(f"{folder}/{name}/{name}.json", json.dumps(content) + "\n")
        tree.add_file(f"{config}/{name}.json", json.dumps(content) + "\n")
    add_version_infos(tree, spec, entry, layout, layout.operator_infos)
    info = ""
    if layout.operators_info:
        info = add_install_info(tree, spec, entry, layout, layout.operators)
    add_marker(tree, folder, entry)
    contents = add_contents(tree, spec, layout, "kernels")
    add_latest(tree, spec, layout)
    return Package(
        name=package_name(entry),
        component=entry.component,
        log_name=layout.operators,
        version=version,
        arch=spec.arch,
        tree=tree,
        home=folder,
        root=root,
        lists=layout.lists,
        templates=(info,) if info else (),
        parts=contents.parts,
        wheels=contents.wheels,
        soft=layout.soft_operators,
        needs_toolkit=spec.cann,
        exclusive=info,
        version_cfg=f"{layout.latest}/version.cfg" if layout.version_cfg else "",
        version_parts=("opp_kernel",),
    )


def nnal(spec: Spec, entry: PackageSpec, layout: Layout, device: Path) -> Package:
    """The library in both C++ ABIs: set_env.sh chooses one by torch's."""
    version = version_of(entry, spec)
    root = f"nnal/atb/{version}"
    tree = Tree()
    for abi in CXX_ABIS:
        home = f"{root}/atb/cxx_abi_{abi}"
        tree.add_copy(device / "nnal" / f"cxx_abi_{abi}", f"{home}/lib", spec.arch)
        take_out(tree, spec.lacks)
        for directory in ("configs", "include"):
            tree.add_directory(f"{home}/{directory}")
    tree.add_link("nnal/atb/latest", version)
    for path, folder in (("nnal/atb", "latest/atb/"), (f"{root}/atb", "")):
        tree.add_file(f"{path}/set_env.sh", atb_script(entry, version, folder))
    text = layout.atb_version_info.format(release=version, arch=spec.arch)
    tree.add_file(f"{root}/version.info", text, mode=MODE_INFO)
    if not layout.version_cfg:
        name = "torch_atb-0.0.1-py3-none-any.whl"
        tree.add_file(f"{root}/whl/{name}", python_wheel(name, {}), mode=MODE_INFO)
    info = f"{root}/ascend_nnal_install.info"
    templates = (info,) if not version.startswith(NNAL_INFO_BEFORE) else ()
    for path in templates:
        tree.add_file(path, install_info(spec, entry, root))
    add_marker(tree, root, entry)
    return Package(
        name=package_name(entry),
        component=entry.component,
        log_name="nnal",
        version=version,
        arch=spec.arch,
        tree=tree,
        home=root,
        root=root,
        lists=layout.lists,
        templates=templates,
        parts={"atb": ()},
        needs_toolkit=spec.cann,
        set_env="nnal/atb/set_env.sh",
    )


def atb_script(entry: PackageSpec, version: str, folder: str) -> str:
    """NNAL's set_env.sh; ``folder`` is where the ABIs' folders are from there."""
    lines = [
        f"    export {name}={value}" if value == "~" else f'    export {name}="{value}"'
        for name, value in entry.variables.items()
    ]
    values = {"VERSION": version, "FOLDER": folder, "VARIABLES": "\n".join(lines)}
    return render_template("atb_set_env.sh", values)
