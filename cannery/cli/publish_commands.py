# SPDX-License-Identifier: Apache-2.0
"""The commands for CI and publishing."""

from __future__ import annotations

from cannery.cli.command import Command

PUBLISH_COMMANDS = (
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
        name="reproduce",
        summary="build an image again and compare its layers",
        description="Builds an image again from its commit, without the engine's cache, and "
        "compares the digest of each layer with that of the original. Names the layers that "
        "differ and the files in them, and then exits with code 8. Names, tags and publishes "
        "nothing. The checkout must have the files of the image's commit. See docs/provenance.md.",
        reads="the registry or the engine, releases/, git, and what 'build' reads",
        writes=".cannery/; the image that it builds is removed again",
        example="reproduce registry.example.com/ascend@sha256:DIGEST",
        options=("reproduce.ReproduceOptions", "fetch.TransferOptions"),
    ),
    Command(
        name="notes",
        summary="print the release notes of published images",
        description="Prints for each selected target, in Markdown, what its newest published image "
        "has: components, the driver that it needs, the changes since the previous one, checks, "
        "sizes and known issues. Needs no engine and no network.",
        reads="releases/, matrix.yaml and compat.yaml",
        writes="nothing",
        example="notes --target py39-torch231-cann8t39",
        options=("shared.RequiredTargetOptions",),
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
)
