# SPDX-License-Identifier: Apache-2.0
"""The devices on which images are checked, and what this machine knows of its images."""

from __future__ import annotations

from pathlib import Path

from cannery.build.plan import Local
from cannery.common.model import DeviceKind, Target
from cannery.deploy.run_spec import RunSpec, no_device, npu_device, simulated_device
from cannery.engine.images import Images
from cannery.image import vendor_image
from cannery.image.content_key import LABEL
from cannery.image.record import used_bases
from cannery.matrix.project import Project
from cannery.verify.image_checks import checks_digest, expected
from cannery.verify.results import report_text
from cannery.verify.verification import passed_on


def device_specs(host: Path | None) -> list[RunSpec]:
    """The containers in which an image is checked: one without a driver and one with a device.

    The device is simulated if ``host``, the simulated driver tree, is given; otherwise it is this
    machine's NPUs, if it has any.
    """
    device = simulated_device(host) if host else npu_device()
    return [no_device(), device] if device else [no_device()]


def device_kinds(*, simulate: bool) -> frozenset[str]:
    """The kinds of device on which a run checks images."""
    real = npu_device()
    kind = DeviceKind.SIMULATED if simulate else real.kind if real else DeviceKind.NONE
    return frozenset({str(DeviceKind.NONE), str(kind)})


def local_state(project: Project, target: Target, name: str, images: Images) -> Local:
    """The state of the image ``name`` of ``target`` on this machine, given the local ``images``."""
    if name not in images:
        return Local()
    image = images[name]
    report = report_text(project, name)
    passed = passed_on(
        report,
        image_id=image.id,
        checks=checks_digest(project),
        expected=lambda kind: expected(project, target, kind),
    )
    return Local(
        image=image.id,
        key=image.labels.get(LABEL, ""),
        vendor_image=image.labels.get(vendor_image.LABEL, ""),
        bases=used_bases(image.labels),
        passed=passed,
    )
