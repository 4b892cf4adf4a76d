# SPDX-License-Identifier: Apache-2.0
"""A small matrix of made-up versions, locks that fit it, and a checkout that holds both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from cannery.common.errors import MatrixError
from cannery.common.model import Target
from cannery.lock.lock_file import INPUTS
from cannery.lock.requirements import Requirements
from cannery.matrix.matrix import Matrix
from cannery.matrix.project import Project
from cannery.matrix.schema import load_matrix
from tests.copies import copy_tree

CHECKOUT = Path(__file__).resolve().parents[2]
OWN_FACTS = CHECKOUT / "cannery/data/compat.yaml"
DIGEST = "0123456789abcdef" * 4
HASH = f"    --hash=sha256:{DIGEST}"

MATRIX = """\
schema: 2
build_base: debian-12

bases:
  debian-11:
    image: debian:11@sha256:DIGEST
    suite: bullseye
    glibc: 2.31
  debian-12:
    image: debian:12@sha256:DIGEST
    suite: bookworm
    glibc: 2.36

pythons:
  base-python:
    version: 3.9.2
    source: debian
    base: debian-11
  own-python:
    version: 3.8.18
    source: standalone
    archive:
      file: cpython-3.8.18-aarch64.tar.gz
      sha256: DIGEST
      origin: the interpreter's makers

cann:
  8.0.RC2:
    layout: ascend-toolkit
    toolkit:
      file: toolkit_8.0.RC2_linux-aarch64.run
      origin: the vendor
    kernels:
      910b:
        file: kernels-910b_8.0.RC2_linux.run
        origin: the vendor
    nnal:
      file: nnal_8.0.RC2_linux-aarch64.run
      origin: the vendor
    requirements:
      - numpy<2
  8.0.T39:
    layout: ascend-toolkit
    edition: interim
    nearest_public: 8.0.RC3
    toolkit: {file: toolkit_8.0.T39_linux-aarch64.run, origin: a partner}
    kernels:
      910b: {file: kernels-910b_8.0.T39_linux.run, origin: a partner}

apex:
  0.1+ascend:
    file: apex-0.1+ascend-{tag}-{abi}-linux_{machine}.whl
    origin: built from source

deepspeed_plugins:
  0.6.0:
    file: deepspeed_npu-0.6.0-py3-none-any.whl
    origin: built from source
  0.9.2:
    file: deepspeed_npu-0.9.2-py3-none-any.whl
    origin: built from source

targets:
  full:
    summary: everything there is
    platform: linux/arm64
    base: debian-11
    python: base-python
    cann: {toolkit: 8.0.RC2, kernels: 8.0.RC2, nnal: 8.0.RC2, chip: 910b}
    torch: 2.3.1
    torch_npu: 2.3.1.post2
    apex: 0.1+ascend
    deepspeed: 0.15.0
  bare:
    summary: nothing that can be left out
    platform: linux/arm64
    base: debian-11
    python: own-python
    cann: {toolkit: 8.0.T39, kernels: 8.0.T39, chip: 910b}
    torch: 2.1.0
    torch_npu: 2.1.0.post6
""".replace("DIGEST", DIGEST)

FACTS_FILE = Path(__file__).with_name("facts.yaml")
FACTS = FACTS_FILE.read_text(encoding="utf-8")


def edited(old: str, new: str, text: str = MATRIX) -> str:
    """``text`` with its only ``old`` replaced, so that no case can be about an edit of nothing."""
    assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in the text"
    return text.replace(old, new)


def write_facts(folder: Path, text: str = FACTS) -> Path:
    """Let targets in ``folder`` be judged by ``text``; return its file."""
    path = folder / "cannery" / "data" / "compat.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def load(folder: Path, text: str = MATRIX) -> Matrix:
    """The matrix in ``text``, with the facts beside it."""
    path = folder / "matrix.yaml"
    path.write_text(text, encoding="utf-8")
    write_facts(folder)
    return load_matrix(path)


def refused(folder: Path, text: str) -> list[str]:
    """Each problem for which the matrix in ``text`` is refused."""
    with pytest.raises(MatrixError) as caught:
        load(folder, text)
    return [str(problem) for problem in caught.value.problems]


def place(text: str, anchor: str, start: int = 0) -> str:
    """Where the first ``anchor`` from ``start`` on begins, as a problem says it."""
    before = text[: text.index(anchor, start)]
    return f"matrix.yaml:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}: "


def locked(package: str, *parents: str) -> str:
    """One package of a lock."""
    name, _, version = package.partition("==")
    file = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    start = f"{package} \\\n{HASH}\n    # file: {file}\n    # via"
    if len(parents) == 1:
        return f"{start} {parents[0]}\n"
    return f"{start}\n" + "".join(f"    #   {each}\n" for each in parents)


def lock_for(target: Target, *, without: Sequence[str] = ()) -> str:
    """A lock that fits ``target``, with torch sharing a dependency with CANN's requirements."""
    packages = [
        locked("numpy==1.26.4", "-r cann.in", "torch"),
        locked("pip==26.0.1", "-r pip.in"),
        locked("py-spy==0.4.1", "-r py-spy.in"),
        locked("pyyaml==6.0.3", "-r torch_npu.in"),
        locked("setuptools==80.9.0", "-r torch_npu.in"),
        locked("sympy==1.14.0", "torch"),
        locked(f"torch=={target.torch}", "-r torch.in", "torch-npu"),
        locked(f"torch-npu=={target.torch_npu}", "-r torch_npu.in"),
    ]
    if target.cann.interim:
        packages[0] = locked("numpy==1.26.4", "torch")
    if target.deepspeed:
        packages.append(locked(f"deepspeed=={target.deepspeed}", "-r deepspeed.in"))
    kept = [text for text in packages if text.split("==")[0] not in without]
    inputs = f"{INPUTS}{Requirements(target).digest}\n"
    return f"# a comment\n{inputs}" + "".join(sorted(kept))


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """A throw-away checkout with the real templates and locks for every target."""

    project: Project
    matrix: Matrix

    def target(self, name: str = "full", **changes: object) -> Target:
        """A target of the matrix, changed as asked, with a lock that fits it."""
        target = replace(self.matrix.targets[name], **changes)  # type: ignore[arg-type]
        self.lock(target, lock_for(target))
        return target

    def lock(self, target: Target, text: str) -> None:
        path = self.project.lock(target)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def make_checkout(root: Path, text: str = MATRIX) -> Checkout:
    for name in ("templates", "context"):
        folder = Path("cannery") / "image" / name
        copy_tree(CHECKOUT / folder, root / folder)
    (root / "images").mkdir()
    checkout = Checkout(project=Project(root=root), matrix=load(root, text))
    for name in checkout.matrix.targets:
        checkout.target(name)
    return checkout


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below ``folder`` with its content; every empty folder with nothing."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in sorted(folder.rglob("*"))
        if "__pycache__" not in path.parts and (path.is_file() or not any(path.iterdir()))
    }
