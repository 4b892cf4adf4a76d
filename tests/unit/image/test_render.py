# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cannery.common.errors import FileError, MatrixError
from cannery.common.model import Target
from cannery.common.wheels import VendorWheel
from cannery.image.content_key import read_context
from cannery.image.drift import MADE
from cannery.image.render import Renderer
from tests.unit.matrices import CHECKOUT, MATRIX, Checkout, make_checkout

PROGRAM = """
import hashlib, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from cannery.matrix.project import Project
from cannery.image.drift import MADE
from cannery.image.render import Renderer
project = Project(root=Path(sys.argv[1]))
digest = hashlib.sha256()
for target in project.matrix().targets.values():
    for path, text in Renderer(project).render(target).paths(project).items():
        digest.update(f"{path}\\0{text}\\0".encode())
print(digest.hexdigest())
"""

LAYERS = [
    "cann",
    "torch",
    "torch-deps",
    "torch_npu",
    "torch_npu-deps",
    "pip",
    "py-spy",
    "deepspeed",
]
"""The layers of wheels of a full target."""


def rendered(checkout: Checkout, target: Target) -> dict[str, str]:
    """Name to text of the files of ``target``."""
    return {**Renderer(checkout.project).render(target).files}


def stages(dockerfile: str) -> list[str]:
    return re.findall(r"^FROM .* AS (\S+)$", dockerfile, re.MULTILINE)


@pytest.mark.slow
def test_rendering_depends_on_the_files_alone(tmp_path: Path) -> None:
    odd = {"LC_ALL": "tr_TR.UTF-8", "LANG": "C", "TZ": "Pacific/Kiritimati"}
    odd |= {"PYTHONUTF8": "0", "SOURCE_DATE_EPOCH": "1", "HOME": "/nonexistent", "USER": "nobody"}
    texts = set()
    for seed, extra, cwd in (("0", {}, CHECKOUT), ("1", odd, tmp_path), ("77", odd, Path("/"))):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(CHECKOUT)],
            env={"PATH": os.environ["PATH"], "PYTHONHASHSEED": seed, **extra},
            cwd=cwd,
            capture_output=True,
            text=True,
            check=True,
        )
        texts.add(done.stdout)
    assert len(texts) == 1


def test_the_files_of_a_target(checkout: Checkout) -> None:
    files = rendered(checkout, checkout.target())
    assert files.keys() == {"Dockerfile", "requirements.lock", "target.json"}
    # Else they would be strays once the target is gone.
    assert files.keys() <= {*MADE}
    assert [*json.loads(files["target.json"])["layers"]] == [f"wheels-{each}" for each in LAYERS]


def test_the_machine_is_in_every_path_and_option(checkout: Checkout) -> None:
    text = rendered(checkout, checkout.target(platform="linux/amd64"))["Dockerfile"]
    assert "WHEEL_PLATFORM=x86_64-manylinux_2_31" in text
    assert "op_tiling/lib/linux/x86_64:" in text
    assert "source=apex-0.1+ascend-cp39-cp39-linux_x86_64.whl" in text


def test_emulated_installers_run_on_the_target_platform(tmp_path: Path) -> None:
    layout = "    layout: ascend-toolkit\n"
    checkout = make_checkout(tmp_path, MATRIX.replace(layout, f"{layout}    installer: emulated\n"))
    text = rendered(checkout, checkout.target())["Dockerfile"]
    found = stages(text)
    start = found.index("installer-base")
    assert found[start : found.index("wheels")] == [
        *("installer-base", "installer-packages", "installer"),
        *("toolkit", "layer-toolkit", "kernels", "layer-kernels", "nnal", "layer-nnal"),
        "cann-python",
    ]
    parents = dict(re.findall(r"^FROM (?:--\S+ )?(\S+) AS (\S+)$", text, re.MULTILINE))
    assert parents["${INSTALLER_IMAGE}"] == "installer-base"
    assert "\nFROM installer AS toolkit\n" in text
    assert "\nFROM sealer AS layer-toolkit\n" in text
    assert text.count("seal-layer --before /before --after /after --only") == 3
    assert "--link --only" not in text


LEFT_OUT: dict[str, tuple[dict[str, Any], str]] = {
    "nnal": ({"with_nnal": False}, "nnal|atb|asdops|lccl"),
    "deepspeed": ({"deepspeed": ""}, "wheels-deepspeed|deepspeed=="),
    "apex": ({"apex": None}, "apex"),
}


@pytest.mark.parametrize(("changes", "trace"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_an_omitted_component_leaves_no_trace(
    checkout: Checkout, changes: dict[str, Any], trace: str
) -> None:
    def traces(target: Target) -> set[str]:
        files = rendered(checkout, target)
        skipped = r"^CMD|NNAL;|DeepSpeed's|^# ----"
        return {
            line
            for name, text in files.items()
            for line in [name, *text.splitlines()]
            if re.search(trace, line, re.IGNORECASE) and not re.search(skipped, line)
        }

    assert traces(checkout.target())
    assert not traces(checkout.target(**changes))


def test_an_invalid_template_is_an_error(checkout: Checkout) -> None:
    template = checkout.project.templates / "Dockerfile.j2"
    template.write_text("FROM x\n{% if %}\n", encoding="utf-8")
    with pytest.raises(MatrixError, match=r"Dockerfile.j2:2:1: Expected an expression"):
        Renderer(checkout.project).render(checkout.target())


def test_a_missing_context_file_is_an_error(checkout: Checkout) -> None:
    (checkout.project.build_context / "install-wheels").unlink()
    with pytest.raises(FileError, match="install-wheels: no such file"):
        Renderer(checkout.project).render(checkout.target())


def test_only_files_of_the_context_list_count(checkout: Checkout) -> None:
    project = checkout.project
    before = read_context(project)
    for name in ("guard/extra.pth", "seal-layer.orig", "new/file"):
        path = project.build_context / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("not committed", encoding="utf-8")
    assert read_context(project) == before
    assert {"seal-layer", "guard/cannery_guard.py"} <= before.keys()


def test_the_executable_bit_of_a_context_file_counts(checkout: Checkout) -> None:
    before = read_context(checkout.project)
    path = checkout.project.build_context / "seal-layer"
    assert path.stat().st_mode & 0o100
    path.chmod(0o644)
    after = read_context(checkout.project)
    assert {name for name in after if after[name] != before[name]} == {"seal-layer"}
    path.chmod(0o775)
    assert read_context(checkout.project) == before


def test_a_vendor_wheel_keeps_its_place_beside_torch_npu(checkout: Checkout) -> None:
    plugin = VendorWheel(
        version="0.9.2", file="deepspeed_npu-0.9.2-py3-none-any.whl", origin="its makers"
    )
    target = checkout.target(deepspeed="0.9.2", deepspeed_plugin=plugin)
    text = rendered(checkout, target)["Dockerfile"]
    copied = re.findall(r"^COPY --link --from=wheels-(\S+) ", text, re.MULTILINE)
    assert copied[4:7] == ["torch_npu-deps", "vendor-apex", "vendor-deepspeed_plugin"]
