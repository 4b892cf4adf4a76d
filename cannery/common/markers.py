# SPDX-License-Identifier: Apache-2.0
"""Whether a requirement is meant for a target's interpreter and platform, by its marker."""

from __future__ import annotations

from packaging.requirements import Requirement

from cannery.common.model import Target


def applies(requirement: Requirement, target: Target) -> bool:
    """Whether ``requirement`` has no marker, or one that holds in the image of ``target``."""
    if requirement.marker is None:
        return True
    # All names that there are, because those left out would be of this machine.
    return requirement.marker.evaluate(
        {
            "python_version": target.python.minor,
            "python_full_version": target.python.version,
            "implementation_name": "cpython",
            "implementation_version": target.python.version,
            "platform_python_implementation": "CPython",
            "os_name": "posix",
            "sys_platform": "linux",
            "platform_system": "Linux",
            "platform_machine": target.machine,
            "platform_release": "",
            "platform_version": "",
            "extra": "",
        }
    )
