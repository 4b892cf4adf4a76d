# SPDX-License-Identifier: Apache-2.0
"""A small matrix of real versions with a family, to which new targets can be added."""

from __future__ import annotations

import difflib
from collections.abc import Collection

from packaging.version import Version

from cannery.compat.facts import Compat
from cannery.lock.index_questions import Answers, Question, runtime_of
from cannery.matrix.matrix import Matrix
from cannery.matrix.schema import parse_matrix
from tests.unit.compat_targets import COMPAT
from tests.unit.matrices import DIGEST

TEXT = """\
schema: 2
build_base: debian-12
bases:
  debian-11: {image: "debian:11@sha256:DIGEST", suite: bullseye, glibc: 2.31}
  debian-12: {image: "debian:12@sha256:DIGEST", suite: bookworm, glibc: 2.36}
pythons:
  cpython-3.9.2: {version: 3.9.2, source: base, base: debian-11}
  cpython-3.11.2: {version: 3.11.2, source: base, base: debian-12}
cann_layouts:
  cann:
    origin: Huawei
    toolkit: Ascend-cann-toolkit_{release}_linux-{machine}.run
    kernels: {default: "Ascend-cann-{chip}-ops_{release}_linux-{machine}.run"}
    nnal: Ascend-cann-nnal_{release}_linux-{machine}.run
    requirements: [numpy, protobuf==3.20.3]
cann:
  9.0.0: {layout: cann, chips: [910b]}
applications:
  serve-1.0.0:
    component: serve
    version: 1.0.0
    # Newer pyarrow crashes.
    requirements: [serve==1.0.0, &arrow pyarrow<22]

families:
  # Pairs of Huawei's table.
  pairs:
    id: "{python}-{pair}"
    axes:
      python:
        py311: {base: debian-12, python: cpython-3.11.2}
      pair:
        torch280-cann900:
          summary: PyTorch 2.8.0 on CANN 9.0.0
          cann: &cann {toolkit: 9.0.0, kernels: 9.0.0, nnal: 9.0.0, chip: 910b}
          torch: 2.8.0
          torch_npu: 2.8.0.post4
          torchvision: 0.23.0
    common: {platform: linux/arm64}
  older:
    id: "{python}-torch280-cann900"
    axes:
      python:
        py39: {base: debian-11, python: cpython-3.9.2}
    common: {platform: linux/arm64, cann: *cann, torch: 2.8.0, torch_npu: 2.8.0.post4}
  uses:
    id: "py311-{use}"
    axes:
      use:
        serve100: {summary: serve 1.0.0 on PyTorch 2.8.0, application: serve-1.0.0}
    common:
      platform: linux/arm64
      base: debian-12
      python: cpython-3.11.2
      cann: *cann
      torch: 2.8.0
      torch_npu: 2.8.0.post4
""".replace("DIGEST", DIGEST)

OLD, NEW = "2.8.0.post4", "2.9.0.post6"
"""The torch_npu that is in use, on CANN 9.0.0, and one on CANN 9.1.0 for Python 3.10 and later."""


def matrix_of(text: str = TEXT) -> Matrix:
    return parse_matrix(text, "matrix.yaml")


def removed(before: str, after: str) -> list[str]:
    """The lines of ``before`` that ``after`` does not have in the same order."""
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return [line for line in lines if line.startswith("- ")]


def facts(*torch_npu: str) -> Compat:
    """compat.yaml with Huawei's rows for these versions only."""
    rows = [row for row in COMPAT.pairings if row.torch_npu in torch_npu and row.branch]
    return COMPAT.model_copy(update={"pairings": tuple(rows)})


def answers(package: str, versions: Collection[str], text: str = TEXT) -> Answers:
    """An index that has these versions of a package for every target."""
    runtimes = [runtime_of(target) for target in matrix_of(text).targets.values()]
    found = frozenset(map(Version, versions))
    return {Question(package=package, runtime=runtime): found for runtime in runtimes}
