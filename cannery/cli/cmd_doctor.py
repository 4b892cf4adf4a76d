# SPDX-License-Identifier: Apache-2.0
"""``build.py doctor``: what is wrong with this host, or was wrong with a run."""

from __future__ import annotations

from cannery.cli.common import read
from cannery.image.context.ascend_doctor.command import main
from cannery.matrix.project import Project
from cannery.options.doctor import DoctorOptions
from cannery.options.given import Given


def run(given: Given, project: Project) -> int:
    """Do what ``ascend-doctor`` in an image does; the exit code is 0, 1, 2, 8 or 9."""
    options = read(DoctorOptions, given, project)
    values = {name: getattr(options, name) for name in ("cann", "explain", "log", "fix")}
    argv = [f"--{name}={value}" for name, value in values.items() if value]
    argv += ["--json"] if options.json else []
    if options.nodes:
        argv += ["--nodes", *map(str, options.nodes)]
    if options.yes:
        argv.append("--yes")
    return main(argv)
