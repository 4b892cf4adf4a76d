# SPDX-License-Identifier: Apache-2.0
"""A matrix whose targets have stacks, wheels of vendors, or another framework; locks for any."""

from __future__ import annotations

import re
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from cannery.common.model import Target
from cannery.image.render import Renderer
from cannery.lock.lock_file import INPUTS
from cannery.lock.requirements import Requirements
from cannery.matrix.project import Project
from tests.unit.matrices import DIGEST, Checkout, edited, load, locked, make_checkout

APPLICATIONS = f"""\
torch_npu_wheels:
  1.11.0:
    file: torch_npu-1.11.0-{{tag}}-{{abi}}-linux_{{machine}}.whl
    origin: a release page

deepspeed_wheels:
  0.6.0:
    file: deepspeed-0.6.0-py3-none-any.whl
    origin: built where torch is

applications:
  serve-1.2:
    component: serve
    version: 1.2
    requirements: [serve==1.2, "accelerate>=0.34.0"]
    overrides: [accelerate==0.34.2, "pyext; python_version < '3'"]
    sdists: [fire, rouge-score]
    wheels:
      serve_npu:
        file: serve_npu-1.2-{{tag}}-none-linux_{{machine}}.whl
        origin: its makers
    packages: [pdsh, git]
    environment: {{DISABLE_VERSION_CHECK: "1", SERVE_CACHE: /var/cache/serve}}
    ports: [7860, 8000]
    volumes:
      ./hf_cache: /root/.cache/huggingface
      /data: /data
    sources:
      - folder: serve_lib
        file: serve-lib-1.2.tar.gz
        sha256: {DIGEST}
        origin: a tag
      - folder: serve_extra
        file: serve-extra-7.tar.gz
        origin: a branch
  plain:
    component: plain
    version: 3
  other-2.0.0:
    component: other
    version: 2.0.0
    requirements: [other==2.0.0]

"""

TARGETS = """\
  served:
    summary: a server
    platform: linux/arm64
    base: debian-11
    python: base-python
    cann: {toolkit: 8.0.RC2, kernels: 8.0.RC2, nnal: 8.0.RC2, chip: 910b}
    torch: 2.3.1
    torch_npu: 2.3.1.post2
    application: serve-1.2
    requirements: [tqdm]
  old:
    summary: what only a vendor has
    platform: linux/arm64
    base: debian-11
    python: own-python
    cann: {toolkit: 8.0.RC2, kernels: 8.0.RC2, chip: 910b}
    torch: 1.11.0
    torch_npu: 1.11.0
    apex: 0.1+ascend
    deepspeed: 0.6.0
    application: plain
  other:
    summary: another framework
    platform: linux/arm64
    base: debian-11
    python: base-python
    cann: {toolkit: 8.0.RC2, kernels: 8.0.RC2, nnal: 8.0.RC2, chip: 910b}
    application: other-2.0.0
"""

TEXT = edited("targets:\n", f"{APPLICATIONS}targets:\n") + TARGETS


def version_for(requirement: Requirement) -> str:
    """Some version that ``requirement`` is satisfied with."""
    named = [each.version for each in requirement.specifier if "=" in each.operator]
    return next((v for v in [*named, "1.0", "99"] if requirement.specifier.contains(v)), "1.0")


def lock_of(target: Target) -> str:
    """A lock with what ``target`` asks for and no more."""
    over = [Requirement(text) for text in Requirements(target).overrides]
    replaced = {canonicalize_name(each.name): version_for(each) for each in over}
    versions: dict[str, str] = {}
    groups: dict[str, list[str]] = {}
    for group, wanted in Requirements(target).groups.items():
        for each in map(Requirement, wanted):
            name = canonicalize_name(each.name)
            versions[name] = replaced.get(name) or version_for(each)
            groups.setdefault(name, []).append(f"-r {group}.in")
    text = "".join(locked(f"{name}=={versions[name]}", *groups[name]) for name in sorted(versions))
    return f"{INPUTS}{Requirements(target).digest}\n{text}"


def stacked_checkout(root: Path, text: str = TEXT) -> Checkout:
    """As ``make_checkout``, with locks that fit each target."""
    checkout = make_checkout(root)
    checkout = Checkout(project=Project(root=root), matrix=load(root, text))
    for target in checkout.matrix.targets.values():
        checkout.lock(target, lock_of(target))
    return checkout


def rendered(checkout: Checkout, name: str) -> dict[str, str]:
    """Name to text of the files of the target ``name``."""
    target = checkout.matrix.targets[name]
    return {**Renderer(checkout.project).render(target).files}


def stage(dockerfile: str, name: str) -> str:
    """The text of a stage, from its FROM to the next."""
    found = re.search(rf"(?ms)^FROM \S+[^\n]* AS {name}\n(.*?)(?=^FROM |\Z)", dockerfile)
    assert found, name
    return found[1]
