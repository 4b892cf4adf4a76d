# SPDX-License-Identifier: Apache-2.0
"""The commands that make, check and start images."""

from __future__ import annotations

from cannery.cli.command import Command

IMAGE_COMMANDS = (
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
        name="scan",
        summary="look for known vulnerabilities in the packages of images",
        description="Compares the packages in the SBOM of targets, images or SBOM files with a "
        "database of advisories in OSV's format, or lets grype or trivy do so. Leaves out what a "
        "file of exceptions accepts for a time. Exits with code 14 if something as severe as "
        "--fail-on is left, or if an exception has expired. See docs/security.md.",
        reads="images of the engine, images/, releases/, the registry, exceptions.yaml, and the "
        "database",
        writes="nothing but the files of --json and --sarif",
        example="scan py39-torch231-cann8t39 --database osv --fail-on critical",
        options=("scan.ScanOptions",),
        one_of=("names", "published"),
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
)
