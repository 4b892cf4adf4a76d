# SPDX-License-Identifier: Apache-2.0
"""The commands: what each is called, does and takes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path

from cannery.options.given import Given, all_declared
from cannery.options.option import Declared, OptionSet


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command.

    ``options`` are the classes of its options, as MODULE.CLASS below ``cannery.options``, so that
    only those of the command in use are imported. ``one_of`` are fields of them of which it needs
    at least one. ``reads`` and ``writes`` name files and what else it uses, and ``example`` the
    words after build.py. The module ``cannery.cli.cmd_NAME`` has ``run(given, project)``.
    """

    name: str
    summary: str
    description: str
    reads: str
    writes: str
    example: str
    options: tuple[str, ...]
    one_of: tuple[str, ...] = ()

    @cached_property
    def declared(self) -> tuple[Declared, ...]:
        """Its options, in the order of its help."""
        return all_declared(map(_options_class, self.options))

    @property
    def notes(self) -> str:
        """What the help says after the options, in lines."""
        lines = [f"reads: {self.reads}", f"writes: {self.writes}", "example:"]
        return "\n".join([*lines, f"  python build.py {self.example}"])

    def run(self, given: Given, root: Path) -> int:
        """Do it in the checkout that is in ``root``, and return the exit code.

        Raises:
            CanneryError: as the command's module says.
        """
        # By name, because help is not to wait for what these import.
        project = import_module("cannery.matrix.project").Project(root=root)
        return int(import_module(f"cannery.cli.cmd_{self.name}").run(given, project))


def _options_class(name: str) -> type[OptionSet]:
    module, _, of_it = name.partition(".")
    found: type[OptionSet] = getattr(import_module(f"cannery.options.{module}"), of_it)
    return found


_EVERY = (
    Command(
        name="build",
        summary="build images, check them, and tag those that pass",
        description="Builds all selected targets at once, with the layers that they share built "
        "once. Checks each image and tags it when it passes. Images that are up to date are "
        "skipped. A target that fails does not stop the others.",
        reads="matrix.yaml, compat.yaml, images/, and the vendor's files in artifacts/",
        writes="images of the engine, .cannery/, and with --record verified/",
        example="--target py39-torch231-cann8t39 --simulate",
        options=(
            *("build.SelectionOptions", "build.BuildOptions"),
            *("fetch.TransferOptions", "build.PlanOptions"),
        ),
        one_of=("targets", "where", "all", "resume", "from_bundle"),
    ),
    Command(
        name="fetch",
        summary="download the vendor's files",
        description="Downloads the files that targets or CANN releases need, verifies their sha256 "
        "and stores them for all checkouts of this user, as a build does with what it needs. "
        "Continues interrupted downloads. See docs/fetching.md.",
        reads="matrix.yaml, cannery.toml, artifacts/, and the servers of files",
        writes="the folder of fetched files, and with --trust-first-use matrix.yaml",
        example="fetch --cann 8.1.RC1 --accept-eula 'Example Ltd'",
        options=("fetch.FetchOptions", "fetch.TransferOptions"),
        one_of=("targets", "where", "cann", "all"),
    ),
    Command(
        name="cache",
        summary="list or prune the fetched files",
        description="Lists the fetched files, their sha256, and who accepted their licence and "
        "when; or removes files and unfinished downloads that no checkout has used for some time.",
        reads="the folder of fetched files, and cannery.toml",
        writes="nothing; 'prune' removes files from the folder of fetched files",
        example="cache prune --days 30",
        options=("fetch.CacheOptions",),
    ),
    Command(
        name="test",
        summary="check images that are already built",
        description="Checks built images again, on every kind of device that is available: "
        "without a device, on the simulated NPU with --simulate, and on the NPUs of this host. "
        "With --image alone it tests an image of any origin; see docs/test-any-image.md. Writes "
        "reports, builds and tags nothing, and exits with code 8 if a check fails.",
        reads="images of the engine, matrix.yaml, compat.yaml, and the checks in tests/image/",
        writes="a report for each image in .cannery/reports/",
        example="test --image mine:latest --simulate --profile docker",
        options=("run.CheckedTargetOptions", "run.CheckImageOptions", "audit.AnyImageOptions"),
        one_of=("targets", "where", "image"),
    ),
    Command(
        name="run",
        summary="start a container with the devices and mounts that it needs",
        description="Starts a container of one target's image with the devices, the driver and "
        "the shared memory that it needs, after checking that this host has them. Can print the "
        "command, or a file for another host, instead. See docs/running.md.",
        reads="matrix.yaml, and the devices and the driver of this host",
        writes="nothing",
        example="run --target py39-torch231-cann8t39 --simulate -- npu-smi info",
        options=("shared.RequiredTargetOptions", "run.RunOptions"),
    ),
    Command(
        name="list",
        summary="show the targets",
        description="Lists the targets of matrix.yaml with their state: where they were verified, "
        "whether they are published, and the files that they lack. --verbose adds the versions. "
        "Builds nothing and needs no engine.",
        reads="matrix.yaml, compat.yaml, artifacts/, verified/, releases/ and .cannery/reports/",
        writes="nothing",
        example="list --where python=3.9 chip=910b --verbose",
        options=("matrix.ListOptions",),
    ),
    Command(
        name="diff",
        summary="compare two images, records or commits",
        description="Shows the packages, files, layers, sizes, variables and labels in which two "
        "images differ. A and B are local images, targets whose image is on this machine, or "
        "published images and records of them below releases/. With --target A and B are commits, "
        "whose matrix.yaml, lock and rendered files are compared for that target.",
        reads="images of the engine, releases/ and matrix.yaml; with --target git only",
        writes="nothing",
        example="diff py39-torch210-cann8rc2 py39-torch231-cann8t39",
        options=("diff.DiffOptions",),
    ),
    Command(
        name="check",
        summary="check that the versions of the targets are known to work together",
        description="Compares every target with the facts in compat.yaml about torch, torch_npu, "
        "CANN, Python, NNAL, apex, DeepSpeed and their packages. For each conflict, names the "
        "reason, the source and the nearest known combinations. Builds nothing and needs no "
        "engine.",
        reads="matrix.yaml and compat.yaml",
        writes="nothing",
        example="check --target 'py39-*' --format json",
        options=("matrix.CheckOptions",),
    ),
    Command(
        name="explain",
        summary="show the source that allows each component of a target",
        description="For each component of a target, shows the row of compat.yaml that allows "
        "it, with its source and date. Where sources disagree, shows both sides.",
        reads="matrix.yaml and compat.yaml",
        writes="nothing",
        example="explain py39-torch231-cann8t39",
        options=("matrix.ExplainOptions",),
        one_of=("names", "targets", "where"),
    ),
    Command(
        name="new",
        summary="propose a target that is known to work",
        description="Picks the newest CANN, torch and torch_npu that are known to work with the "
        "given versions, with kernels, NNAL and DeepSpeed, and prints the lines for matrix.yaml. "
        "Only --python is required.",
        reads="matrix.yaml and compat.yaml",
        writes="with --write matrix.yaml",
        example="new --python 3.10 --torch 2.6.0 --write",
        options=("matrix.NewOptions",),
    ),
    Command(
        name="render",
        summary="write images/ from matrix.yaml and the locks",
        description="Writes the Dockerfile and the other files of each target below images/ from "
        "matrix.yaml, the templates and the locks. Removes the folders of targets that no longer "
        "exist. Run it after every change of matrix.yaml, and commit the result; builds refuse "
        "to start while images/ is out of date.",
        reads="matrix.yaml, compat.yaml, the locks and the templates",
        writes="images/; only files that build.py has written are replaced or removed",
        example="render --target py39-torch231-cann8t39",
        options=("matrix.RenderOptions",),
    ),
    Command(
        name="lock",
        summary="resolve the Python packages of the targets and pin them",
        description="Resolves the Python packages of each target and pins them in "
        "images/ID/requirements.lock, with the name and the hash of one file of each, and what "
        "builds wheels from sdists in build-requirements.lock beside it. Pinned packages keep "
        "their versions unless matrix.yaml or --upgrade asks for others. Needs the package index. "
        "Run 'build.py render' after it.",
        reads="matrix.yaml, compat.yaml, the locks, and the package index",
        writes="the locks in images/ID/, and cannery/image/context/requirements.txt",
        example="lock --target 'py39-*' --upgrade numpy",
        options=("matrix.LockOptions",),
    ),
    Command(
        name="update",
        summary="show newer versions in the package index",
        description="Asks the package index for torch, torch_npu and DeepSpeed, and shows which "
        "versions are newer than those in matrix.yaml and compat.yaml, and which targets they "
        "would change. No index names the CANN that a torch_npu needs: where compat.yaml has no "
        "row for it, you are asked to add one.",
        reads="matrix.yaml, compat.yaml, and the package index",
        writes="with --write matrix.yaml",
        example="update --check",
        options=("matrix.UpdateOptions",),
    ),
    Command(
        name="ci",
        summary="print the jobs of a CI run",
        description="Prints the jobs for a CI service: the selected targets that can be built "
        "there and have changed, divided into shards. Says on stderr why each target is included "
        "or left out. See docs/ci.md.",
        reads="matrix.yaml, compat.yaml, images/, artifacts/, and git",
        writes="nothing",
        example="ci --format github --simulate --since origin/main",
        options=("shared.TargetOptions", "ci.CiOptions"),
    ),
    Command(
        name="catalog",
        summary="write the table of images and the page to choose from",
        description="Writes the table of all images into README.md, and a page on which people "
        "choose an image and copy its commands. The page is one file without external resources; "
        "it can be opened from disk or published anywhere. Needs no engine.",
        reads="matrix.yaml, compat.yaml, publish.yaml, verified/ and releases/",
        writes="the table in README.md, and index.html in the folder of --out",
        example="catalog --out site",
        options=("publish.CatalogOptions",),
    ),
    Command(
        name="bundle",
        summary="pack all that a build needs into one file, for a machine without a network",
        description="Builds the selected targets once from nothing, and writes everything that "
        "this needed into one file: base images, the vendor's or the simulated files, wheels, "
        "Debian packages, and the packages of build.py itself. On a machine without a network, "
        "'build.py --from-bundle FILE' builds the same images from it. See docs/bundles.md.",
        reads="matrix.yaml, images/, artifacts/, the package index, Debian's mirrors",
        writes="the file of --out",
        example="bundle --target 'py39-*' --simulate --out npu.bundle",
        options=("shared.RequiredTargetOptions", "bundle.BundleOptions", "fetch.TransferOptions"),
    ),
    Command(
        name="push",
        summary="publish images that are built and checked",
        description="Uploads the selected images by digest, pulls and tests them again, writes a "
        "record below releases/, and moves the tags last. If anything fails, no tag has moved. "
        "See docs/publishing.md.",
        reads="images of the engine, matrix.yaml, publish.yaml, images/ and .cannery/reports/",
        writes="images and tags in the registry, and records in releases/",
        example="push --target 'py39-*' --registry registry.example.com",
        options=("shared.RequiredTargetOptions", "publish.PushOptions"),
    ),
    Command(
        name="promote",
        summary="copy a published image to another registry or tag",
        description="Copies a published image with its attestations and signatures, with the "
        "same digest, to another repository or tag. Refuses images that no file in releases/ "
        "records, and never changes an immutable tag. Nothing is built, and no engine is needed. "
        "See docs/publishing.md.",
        reads="the registry of FROM, and releases/",
        writes="images and tags in the registry of TO",
        example="promote test.example.com/ascend:ID registry.example.com/ascend",
        options=("publish.PromoteOptions",),
    ),
    Command(
        name="prune",
        summary="delete images from a registry that are no longer needed",
        description="Shows every image in the registry, whether it is kept, and why; deletes the "
        "others with --yes. Images that a file in releases/ records, images with a tag that "
        "'build.py push' moves, and everything that these refer to are always kept. See "
        "docs/publishing.md.",
        reads="the registry, matrix.yaml, publish.yaml and releases/",
        writes="nothing; with --yes it deletes images from the registry",
        example="prune --registry registry.example.com --keep 2",
        options=("publish.PruneOptions",),
    ),
    Command(
        name="completion",
        summary="print the script with which bash or zsh completes words",
        description="Prints a script with which bash or zsh completes commands, options, files "
        "and the ids of targets after ./build.py. The script asks build.py for the ids, so it "
        "knows new targets at once. Print it again after an update of build.py. Needs no engine. "
        "See docs/command-line.md.",
        reads="nothing",
        writes="nothing",
        example="completion bash >~/.build.py.bash",
        options=("completion.CompletionOptions",),
    ),
)

COMMANDS = {command.name: command for command in _EVERY}
