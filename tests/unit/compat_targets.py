# SPDX-License-Identifier: Apache-2.0
"""A target of real versions that is known to work, and what the project's own compat.yaml says."""

from __future__ import annotations

from dataclasses import replace

from cannery.common.bases import Base, File, Python, PythonSource
from cannery.common.errors import Span
from cannery.common.model import MACHINE_OF, CannRelease, Layout, Target
from cannery.common.wheels import VendorWheel
from cannery.compat import Finding, judge, refusals_of
from cannery.matrix.distributions import load_distributions
from cannery.matrix.project import Project
from tests.unit.cann_packages import packages
from tests.unit.matrices import CHECKOUT

COMPAT = Project(root=CHECKOUT).compat()
BASE = Base(
    name="debian-11",
    image="debian:11@sha256:" + "0" * 64,
    suite="bullseye",
    glibc="2.31",
    distribution=load_distributions()["debian"],
)
APEX = VendorWheel(
    version="0.1+ascend",
    file="apex-0.1+ascend-{tag}-{abi}-linux_{machine}.whl",
    origin="its makers",
)
PLUGIN = VendorWheel(
    version="0.6.0", file="deepspeed_npu-0.1-py3-none-any.whl", origin="its makers"
)


def file_of(package: str, version: str) -> VendorWheel:
    """A wheel that is a file, so that it need not be in an index."""
    tags = "{tag}-{abi}-linux_{machine}"
    return VendorWheel(version=version, file=f"{package}-{version}-{tags}.whl", origin="its makers")


NUMPY = ("numpy<2", "protobuf==3.20.3")


def python(version: str) -> Python:
    """An interpreter that no base has."""
    file = File(name="python.tar.gz", origin="its makers")
    archives = dict.fromkeys(MACHINE_OF.values(), file)
    return Python(name=version, version=version, source=PythonSource.STANDALONE, archives=archives)


def cann(version: str, *, chip: str = "910b", nearest_public: str = "") -> CannRelease:
    public = nearest_public or version
    newer = public[0].isdigit() and tuple(public.split(".")[:2]) >= ("8", "5")
    return CannRelease(
        version=version,
        layout=Layout.CANN if newer else Layout.ASCEND_TOOLKIT,
        interim=bool(nearest_public),
        nearest_public=nearest_public,
        packages=packages(
            File(name="toolkit.run", origin="its makers"),
            {chip: File(name="kernels.run", origin="its makers")},
            File(name="nnal.run", origin="its makers"),
        ),
        requirements=NUMPY,
    )


GOOD = Target(
    id="good",
    summary="what is known to work",
    platform="linux/arm64",
    base=BASE,
    build_base=BASE,
    python=python("3.9.19"),
    cann=cann("8.0.RC3"),
    chip="910b",
    with_nnal=True,
    torch="2.3.1",
    torch_npu="2.3.1.post2",
    apex=APEX,
    deepspeed="0.15.0",
    deepspeed_plugin=None,
    requirements=(),
    span=Span(file="matrix.yaml", line=1, column=1),
)


def changed(**changes: object) -> Target:
    return replace(GOOD, **changes)  # type: ignore[arg-type]


def findings(target: Target) -> dict[str, Finding]:
    """Component to what is said of it; the last one, where there are several."""
    return {finding.component: finding for finding in judge(target, COMPAT)}


def problems(target: Target) -> list[str]:
    """Each problem with the key that it is at."""
    return [
        f"{each.finding.key}: {each.problem}"
        for each in refusals_of(target, judge(target, COMPAT), COMPAT)
    ]
