# SPDX-License-Identifier: Apache-2.0
"""The commands about the targets of matrix.yaml."""

from __future__ import annotations

from cannery.cli.command import Command

MATRIX_COMMANDS = (
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
        reads="matrix.yaml, the locks and the templates",
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
        "row for it, you are asked to add one. --new proposes whole targets.",
        reads="matrix.yaml, compat.yaml, and the package index; with --table a makers' table",
        writes="with --write matrix.yaml; with --table also compat.yaml",
        example="update --check",
        options=("matrix.UpdateOptions",),
    ),
)
