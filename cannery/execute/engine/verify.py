# SPDX-License-Identifier: Apache-2.0
"""Runs the image tests in containers of an image, one for each kind of device."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from cannery import console
from cannery.deploy.run_spec import DeviceKind, RunSpec
from cannery.errors import CanneryError
from cannery.execute.engine import client as engine
from cannery.execute.hardware import hardware
from cannery.execute.process import run
from cannery.execute.threads import each_in_thread
from cannery.image.checks import checks_digest, folder_of_checks
from cannery.matrix.project import Project
from cannery.model import Target
from cannery.report.verification import Check, DeviceRun, Verification


def verify(
    project: Project,
    target: Target,
    *,
    image: str,
    name: str,
    simulated: bool,
    specs: Sequence[RunSpec],
    ca: Path | None = None,
    only: Sequence[str] = (),
) -> Verification:
    """Run the checks of ``target`` in ``image`` for all of ``specs`` in parallel.

    ``name`` is the image's name in the report. ``simulated`` says whether the image must contain
    stand-ins; otherwise it must not. ``ca`` has the certificates to trust for package indexes.
    ``only`` names components; empty means all.

    Raises:
        EngineError: the engine cannot run the image.
        CanneryError: the checks could not be run.
    """

    def checked(spec: RunSpec) -> DeviceRun:
        console.say(f"{target.id}: checking {name} (device: {spec.kind})")
        with engine.container(image, target.platform, spec, ca) as container:
            checks = checks_in(
                project, target, container, spec.kind, simulated=simulated, only=only
            )
        ran_on = hardware(spec.kind, target.machine)
        return DeviceRun(device=spec.kind, checks=checks, hardware=ran_on)

    runs = each_in_thread(checked, specs)
    digest = "" if only else checks_digest(project)
    return Verification(
        target=target.id,
        image=name,
        image_id=image,
        runs=tuple(runs),
        simulated=simulated,
        checks=digest,
        date=datetime.now(UTC).date().isoformat(),
    )


def checks_in(
    project: Project,
    target: Target,
    container: str,
    kind: DeviceKind,
    *,
    simulated: bool,
    only: Sequence[str] = (),
) -> tuple[Check, ...]:
    """Run the checks of ``target`` in a running container with a device of this kind.

    ``simulated`` and ``only`` are those of ``verify``.

    Raises:
        CanneryError: the checks could not be run.
    """
    with tempfile.TemporaryDirectory(prefix="cannery-test-") as folder:
        report = Path(folder) / "report.json"
        folders = [str(folder_of_checks(project) / component) for component in only]
        argv = [sys.executable, "-m", "pytest", *(folders or [str(folder_of_checks(project))])]
        argv += ["--quiet", "--no-header", "-p", "no:cacheprovider", "--tb=short"]
        argv += ["--hosts", f"docker://{container}", "--device", str(kind)]
        argv += ["--simulated"] if simulated else []
        argv += ["--record", str(project.images / target.id / "target.json")]
        argv += ["--report", str(report), "--rootdir", str(project.root)]
        code, said = run(argv, cwd=project.root, capture=True)
        # 0: all passed; 1: some failed. Any other code is an error of pytest itself.
        if code not in (0, 1) or not report.exists():
            what = f"the image tests could not be run (pytest ended with code {code}):\n{said}"
            raise CanneryError(what)
        checks = json.loads(report.read_text(encoding="utf-8"))
    return tuple(Check(name=name, **each) for name, each in checks.items())
