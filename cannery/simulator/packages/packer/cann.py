# SPDX-License-Identifier: Apache-2.0
"""What is inside the three CANN packages: toolkit, kernels (called ops from 8.5 on) and NNAL."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from . import marker
from .exports import take_out
from .layout import PACKAGES, Layout, render_template
from .spec import PackageSpec, Spec
from .tree import Tree

# The release alone is read by torch_npu; a likely internal version would be an invention.
INTERNAL_VERSION = "0.0.0.0.0"
INNER_VERSION = "V000R000C00-simulated"

TOOLKIT_PARTS = ("runtime", "compiler", "hccl", "opp", "toolkit", "aoe", "ncs")
CXX_ABIS = (0, 1)

# Sources that users compile, here in both layouts (HCCL performance tester, CANN 8.0 and 8.5).
# compat.yaml says which releases have none.
HCCL_TEST = "tools/hccl_test"
WITHOUT_HCCL_TEST = ("5.", "6.")

# As runtime.xml of hicann/runtime has it: only the owner and the group may read these.
MODE_INFO = 0o440
# The date of all that is packed, in the form of generate_version_info.py of hicann/cmake.
BUILT = "19800101_000000000"


@dataclass(frozen=True)
class Package:
    """A tree relative to the install path, and what its installer has to know."""

    name: str
    log_name: str
    version: str
    arch: str
    tree: Tree
    # The folder with its marker.
    home: str
    # Files in which the installer writes the install path.
    templates: tuple[str, ...]
    # The toolkit that it is installed on; empty for the toolkit itself.
    needs_toolkit: str = ""
    needs_environment: bool = False
    # The .info file of operators, which another chip's must not replace; empty for all others.
    exclusive: str = ""
    # Where version.cfg lists these parts; empty when the package is not listed there.
    version_cfg: str = ""
    version_parts: tuple[str, ...] = ()
    # Written to ascend_cann_install.info; empty for all but the toolkit.
    record: str = ""
    set_env: str = ""


def build_package(spec: Spec, entry: PackageSpec, layout: Layout, device: Path) -> Package:
    """The package of ``entry``; PackError when ``device`` lacks a library that goes into it."""
    if entry.component == "kernels":
        return kernels(spec, entry, layout)
    builder = {"toolkit": toolkit, "nnal": nnal}[entry.component]
    return builder(spec, entry, layout, device)


def toolkit(spec: Spec, entry: PackageSpec, layout: Layout, device: Path) -> Package:
    """The software device's libraries in the layout's tree, with set_env.sh."""
    root = fill(layout.toolkit_tree, spec)
    tree = Tree()
    for directory in layout.tree_directories:
        tree.add_directory(f"{root}/{fill(directory, spec)}")
    for path, text in layout.tree_files.items():
        tree.add_file(f"{root}/{path}", text)
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
    values = {"LAYOUT": layout.fragment("toolkit_env.sh"), "VERSION": spec.cann}
    tree.add_file(f"{root}/set_env.sh", render_template("toolkit_set_env.sh", values))
    info = add_install_info(tree, spec, entry, layout, "toolkit")
    add_version_infos(tree, spec, entry, layout, layout.toolkit_parts)
    add_marker(tree, root, entry)
    return Package(
        name=package_name(entry),
        log_name="toolkit",
        version=spec.cann,
        arch=spec.arch,
        tree=tree,
        home=root,
        templates=(f"{root}/set_env.sh", info),
        version_cfg=f"{root}/version.cfg" if layout.version_cfg else "",
        version_parts=TOOLKIT_PARTS,
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
    folder = f"{root}/opp/built-in/op_impl/ai_core/tbe/kernel/{entry.kernel_folder}"
    tree = Tree()
    version = version_of(entry, spec)
    content = {"simulated": True, "kernels": [], "chip": entry.chip, "version": version}
    tree.add_file(f"{folder}/simulated_kernels.json", json.dumps(content, indent=2) + "\n")
    add_version_infos(tree, spec, entry, layout, layout.operator_parts)
    info = ""
    if layout.operators_info:
        info = add_install_info(tree, spec, entry, layout, layout.operators)
    add_marker(tree, folder, entry)
    return Package(
        name=package_name(entry),
        log_name=layout.operators,
        version=version,
        arch=spec.arch,
        tree=tree,
        home=folder,
        templates=(info,) if info else (),
        needs_toolkit=spec.cann,
        exclusive=info,
        version_cfg=f"{root}/version.cfg" if layout.version_cfg else "",
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
        for directory in ("bin", "examples", "include", "tests/atbopstest"):
            tree.add_directory(f"{home}/{directory}")
    tree.add_link("nnal/atb/latest", version)
    tree.add_link("nnal/atb/set_env.sh", "latest/atb/set_env.sh")
    values = {"LAYOUT": layout.fragment("atb_env.sh"), "VERSION": version}
    set_env = f"{root}/atb/set_env.sh"
    tree.add_file(set_env, render_template("atb_set_env.sh", values))
    tree.add_file(
        f"{root}/version.info", layout.atb_version_info.format(release=version, arch=spec.arch)
    )
    info = f"{root}/ascend_nnal_install.info"
    tree.add_file(info, install_info(spec, entry, root))
    add_marker(tree, root, entry)
    return Package(
        name=package_name(entry),
        log_name="nnal",
        version=version,
        arch=spec.arch,
        tree=tree,
        home=root,
        templates=(set_env, info),
        needs_toolkit=spec.cann,
        needs_environment=True,
        set_env="nnal/atb/set_env.sh",
    )


def fill(text: str, spec: Spec) -> str:
    """Put the spec's version and architecture in place of {version} and {arch}."""
    return text.format(version=spec.cann, arch=spec.arch)


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
