# SPDX-License-Identifier: Apache-2.0
"""Where the bytes of an image come from: everything is checked, and no secret is in it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from cannery.common.model import Target
from cannery.image.content_key import (
    CONTEXT_LIST,
    context_files,
    context_names,
    read_context,
)
from cannery.image.plan import SIMULATED_ARGUMENT
from cannery.matrix.project import Project
from tests.policy.dockerfile import CHOSEN, Dockerfile, assignments

DOWNLOADERS = re.compile(
    r"\b(curl|wget|git|aria2c|pip3?|uv|conda|mamba|npm|gem|cargo|go|scp|rsync|docker)\b"
)
"""Programs that can bring in bytes. apt is not among them: it checks Debian's signatures."""

CHECKED_DOWNLOAD = re.compile(r"^(install-uv|install-wheels --lock) \S+")
OTHERS = ("install-uv", "install-wheels", "apt", "python3")
LOCAL_FILE = re.compile(r"^install-wheels --file /tmp/\S+\.whl( |$)")


def unchecked_downloads(dockerfile: Dockerfile) -> list[str]:
    """The commands that can bring in bytes without comparing them with a hash."""
    return [
        step
        for instruction in dockerfile
        if instruction.word == "RUN"
        for step in instruction.steps
        for program in [re.sub(r"^(\w+=\S* +)*", "", step).split(" ")[0].rsplit("/", 1)[-1]]
        if DOWNLOADERS.fullmatch(program) or program in OTHERS
        if not CHECKED_DOWNLOAD.match(step) and not LOCAL_FILE.match(step)
        if not re.match(r"python3 (-m venv|-c) ", step)
    ]


def test_every_download_is_compared_with_a_hash(dockerfile: Dockerfile) -> None:
    assert not unchecked_downloads(dockerfile)
    assert not [each for each in dockerfile if each.word == "ADD"]


def test_every_file_of_the_shared_context_is_listed(project: Project) -> None:
    folder = str(project.build_context.relative_to(project.root))
    listed = subprocess.run(
        ["git", "ls-files", "-z", folder], cwd=project.root, capture_output=True, check=True
    )
    committed = listed.stdout.decode().split("\0")[:-1]
    names = {name.removeprefix(f"{folder}/") for name in committed} - {CONTEXT_LIST}
    assert names == {*context_names(project)}


def test_the_key_has_every_file_named_in_a_dockerfile(
    dockerfile: Dockerfile, folder: Path, project: Project
) -> None:
    text = (folder / "Dockerfile").read_text(encoding="utf-8")
    names = {
        name.removeprefix("cannery/")
        for name in context_files({"Dockerfile": text}, read_context(project))
        if name.startswith("cannery/")
    }
    copied = [each.rest.split() for each in dockerfile if each.word == "COPY"]
    sources = {
        word
        for words in copied
        if "--from=cannery" in words
        for word in words[:-1]
        if not word.startswith("--")
    }
    for each in dockerfile:
        sources |= {mount["source"] for mount in each.mounts if mount.get("from") == "cannery"}
    assert "seal-layer" in names
    assert names == {
        name
        for name in context_names(project)
        if name in sources or name.partition("/")[0] in sources
    }


def test_no_address_is_written_down(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            found = re.findall(r"\b(?:https?|ftp|git)\w*://\S+", path.read_text(encoding="utf-8"))
            assert not found, path


def test_no_secret_is_an_argument_or_a_variable(dockerfile: Dockerfile) -> None:
    named = r"token|password|passwd|secret|credential|_key\b|index_url|proxy"
    for each in dockerfile:
        if each.word in ("ARG", "ENV", "LABEL"):
            assert not re.search(named, " ".join(assignments(each.rest)), re.IGNORECASE), each


UNPINNED = {
    "debian:trixie-slim",
    "ubuntu:22.04",
    "ubuntu:24.04",
    "openeuler/openeuler:22.03-lts",
    "openeuler/openeuler:24.03-lts",
}
"""Bases whose digests nobody has looked up yet; 'push --release' refuses their images."""


def test_bases_are_pinned_by_digest(dockerfile: Dockerfile) -> None:
    first = next(n for n, each in enumerate(dockerfile) if each.word == "FROM")
    arguments = dict(each.rest.split("=", 1) for each in dockerfile[:first])
    assert arguments.pop(SIMULATED_ARGUMENT) == ""
    assert sorted(arguments) == ["BASE_IMAGE", "BUILD_IMAGE"]
    for image in arguments.values():
        assert re.fullmatch(r"\S+:\S+@sha256:[0-9a-f]{64}", image) or image in UNPINNED
    assert "@" in arguments["BUILD_IMAGE"]
    stages = {each.stage for each in dockerfile if each.word == "FROM"}
    known = stages | {f"${{{name}}}" for name in arguments} | {"scratch", CHOSEN}
    for each in dockerfile:
        if each.word == "FROM":
            assert each.rest.split()[-3] in known, each


def test_vendor_files_are_mounted_checked_and_in_no_layer(
    target: Target, dockerfile: Dockerfile, folder: Path
) -> None:
    mounted = {
        mount["source"]: each
        for each in dockerfile
        for mount in each.mounts
        if mount.get("from") == "artifacts"
    }
    assert mounted.keys() == {file.name for file in target.artifacts.values()}
    for component, file in target.artifacts.items():
        run = mounted[file.name]
        assert {mount["type"] for mount in run.mounts if "from" in mount} == {"bind"}
        [where] = [each["target"] for each in run.mounts if each.get("from") == "artifacts"]
        name = f"{component.upper()}_SHA256"
        words = [word for e in dockerfile if e.word == "ARG" for word in e.rest.split()]
        declared = [word for word in words if word.startswith(name)]
        assert declared == [f"{name}={file.sha256}"]
        for each in dockerfile:
            assert each.word not in ("COPY", "ADD") or file.name not in each.rest
        if component in ("toolkit", "kernels", "nnal"):
            # The program compares it before it runs the file.
            argv = f'install-cann {component} {where} "${{{name}}}" '
        elif component == "python" or where.endswith(".tar.gz"):
            argv = f'unpack-archive {where} "${{{name}}}" '
        else:
            argv = f'install-wheels --file {where} --sha256 "${{{name}}}"'
        assert run.steps[0].startswith(argv)
        assert not [step for step in run.steps[1:] if where in step]


INNER = {
    "sealer": ("--from=files /files/leave-out /opt/build/",),
    "build-python": (
        "--from=native-python /python /python",
        "--from=files /files/leave-out /files/compile /opt/build/",
    ),
}
"""Stage to what it takes from others."""


def test_only_project_files_are_copied(
    dockerfile: Dockerfile, folder: Path, project: Project
) -> None:
    shared = context_names(project)
    for each in dockerfile:
        if each.word != "COPY":
            continue
        words = [word for word in each.rest.split() if not word.startswith("--")]
        if "--from=cannery " in each.rest:
            assert all(word in shared for word in words[:-1]), each
        elif each.stage in INNER:
            assert each.rest in INNER[each.stage]
        elif "--from=" in each.rest:
            assert each.rest.endswith(" /layer/ /"), each
        else:
            assert all((folder / word).is_file() for word in words[:-1]), each
        assert not re.search(r"\.(run|whl|gz|zip|xz|tar|deb)\b", each.rest), each


def test_the_tools_of_the_build_stage_are_installed_by_their_hashes(project: Project) -> None:
    """And so are sdists and wheels, as test_download_sdist.py and test_install_wheels.py show."""
    tools = (project.build_context / "install-uv").read_text(encoding="utf-8")
    assert tools.count(" install ") == tools.count("--require-hashes") == 1
