# SPDX-License-Identifier: Apache-2.0
"""CANN copied out of a simulated image into another one is told by push and test.

Nothing of the images runs.
"""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from cannery.engine.containers import stand_ins

from .conftest import Built

TOOLKIT = "/usr/local/Ascend/ascend-toolkit"
Copied = Callable[..., str]


@pytest.fixture
def copied(main: Built) -> Iterator[Copied]:
    """Makes an image that has ``path`` of the simulated image, without what ``without`` names."""
    made: list[str] = []

    def make(path: str, to: str, *, without: str = "", only: str = "", env: str = "") -> str:
        name = f"cannery-test:{uuid4().hex[:12]}"
        argv = ["docker", "create", "--platform", main.target.platform, main.image]
        container = subprocess.run(argv, capture_output=True, check=True, text=True).stdout.strip()
        argv = ["docker", "cp", f"{container}:{path}", "-"]
        archive = subprocess.run(argv, capture_output=True, check=True).stdout
        subprocess.run(["docker", "rm", container], capture_output=True, check=True)
        stream, out = io.BytesIO(archive), io.BytesIO()
        with tarfile.open(fileobj=stream) as old, tarfile.open(fileobj=out, mode="w") as new:
            for member in old:
                keeps = not only or member.name.endswith(only)
                if keeps and not (without and member.name.endswith(without)):
                    content = old.extractfile(member) if member.isreg() else None
                    new.addfile(member.replace(name=f"{to}/{member.name}"), content)
        argv = ["docker", "import", "--platform", main.target.platform]
        argv += ["--change", f"ENV {env}", "-", name] if env else ["-", name]
        subprocess.run(argv, input=out.getvalue(), capture_output=True, check=True)
        made.append(name)
        return name

    yield make
    for name in made:
        subprocess.run(["docker", "image", "rm", name], capture_output=True, check=True)


def test_the_toolkit_without_its_marker_files(main: Built, copied: Copied) -> None:
    found = stand_ins(copied(TOOLKIT, "usr/local/Ascend", without="SIMULATED"), main.target)
    assert found == (f"{TOOLKIT}/latest/lib64/libascendcl.so",)


def test_one_library_in_a_folder_of_its_own(main: Built, copied: Copied) -> None:
    env = "LD_LIBRARY_PATH=/opt/mine/lib64"
    image = copied(f"{TOOLKIT}/latest/lib64/", "opt/mine", only="libascendcl.so", env=env)
    assert stand_ins(image, main.target) == ("/opt/mine/lib64/libascendcl.so",)
