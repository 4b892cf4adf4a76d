# SPDX-License-Identifier: Apache-2.0
"""What a build leaves in a builder's cache, and which of it is removed."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cannery.engine.builder import CANN_STEPS, Builder, forget_cann
from cannery.image.render import Renderer
from cannery.matrix.project import Project
from tests.policy.dockerfile import parse
from tests.unit.matrices import CHECKOUT

# Notes its arguments, one call a line, and says what is in the file "usage".
DOCKER = f"""#!{sys.executable}
import sys
from pathlib import Path
here = Path(__file__).parent
with (here / "asked").open("a") as asked:
    print(*sys.argv[1:], file=asked)
if "du" in sys.argv:
    print((here / "usage").read_text())
    sys.exit(int((here / "code").read_text()))
"""

INSTALLER = """mount / from exec /bin/bash -euo pipefail -c \
  install-cann toolkit /tmp/Ascend-cann-toolkit_8.0.T39_linux-aarch64.run"""


def _record(name: str, description: str) -> str:
    fields = {"ID": name, "Parent": "zzz", "Mutable": "false", "Size": "1.5GB"}
    fields |= {"Description": description} if description else {}
    fields |= {"Usage count": "1", "Type": "regular"}
    return "".join(f"{key}:\t{value}\n" for key, value in fields.items())


USAGE = "\n".join(
    [
        _record("aaa", INSTALLER.replace("\\\n", "")),
        _record("nothing", ""),
        _record("copied", "[image 2/15] COPY --link --from=layer-toolkit /layer/ /"),
        _record("source", "local source for artifacts"),
        _record("other", "mount / from exec ./toolkit.run --install-path=/usr/local/Ascend"),
        _record("bbb", INSTALLER.replace("\\\n", "").replace("toolkit", "kernels")),
        "Reclaimable:\t2GB\nTotal:\t2GB\n",
    ]
)


def _asked(folder: Path, usage: str, code: int = 0) -> list[str]:
    (folder / "docker").write_text(DOCKER, encoding="utf-8")
    (folder / "docker").chmod(0o755)
    (folder / "usage").write_text(usage, encoding="utf-8")
    (folder / "code").write_text(str(code), encoding="utf-8")
    forget_cann(Builder(name="pool", local=False))
    return (folder / "asked").read_text(encoding="utf-8").splitlines()


def test_only_the_results_of_installers_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _asked(tmp_path, USAGE) == [
        "buildx du --builder pool --verbose",
        "buildx prune --builder pool --force --filter id=aaa|bbb",
    ]


@pytest.mark.parametrize(("usage", "code"), [("", 0), (_record("x", "other"), 0), ("ERROR", 1)])
def test_where_there_is_none_nothing_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, usage: str, code: int
) -> None:
    """Above all not everything, as without a filter."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _asked(tmp_path, usage, code) == ["buildx du --builder pool --verbose"]


@pytest.mark.slow
@pytest.mark.parametrize("emulated", [False, True])
def test_the_steps_of_dockerfiles_that_are_meant(*, emulated: bool) -> None:
    project = Project(root=CHECKOUT)
    for target in project.matrix().targets.values():
        own = replace(target, cann=replace(target.cann, emulated=emulated))
        text = Renderer(project).render(own).files["Dockerfile"]
        runs = [each for each in parse(text) if each.word == "RUN"]
        components = {"toolkit", "kernels", "nnal"} & target.artifacts.keys()
        expected = {f"layer-{each}" for each in components}
        found = {each.stage for each in runs if CANN_STEPS.search(each.rest)}
        assert found == expected | (components if emulated else set())


def test_the_steps_that_take_cann_out_of_an_image_are_meant() -> None:
    project = Project(root=CHECKOUT)
    target = replace(
        project.matrix().targets["py39-torch231-cann8t39"], vendor_image=f"x@sha256:{'0' * 64}"
    )
    text = Renderer(project).render(target).files["Dockerfile"]
    runs = [each for each in parse(text) if each.word == "RUN"]
    assert [each.stage for each in runs if CANN_STEPS.search(each.rest)] == [
        "layer-toolkit",
        "layer-kernels",
        "layer-nnal",
    ]
