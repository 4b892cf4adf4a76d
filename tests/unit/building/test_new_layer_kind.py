# SPDX-License-Identifier: Apache-2.0
"""A new kind of layer takes two files, as docs/architecture.md says: layers.py and the template.

A copy of the package gets a made-up kind in these two, and everything that reads layers is asked.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from tests.unit.matrices import CHECKOUT, edited, make_checkout

NEW = """\
def _notice(target):
    inputs = [target.build_base.image, "hello"]
    return _layer("notice", LayerKind.NOTICE, inputs, ["base"])


"""
LAYERS = (
    ("class LayerKind(StrEnum):\n", 'class LayerKind(StrEnum):\n    NOTICE = "notice"\n'),
    (
        "        make.guard(environment),\n    )",
        "        _notice(target),\n        make.guard(environment),\n    )",
    ),
    ("class _Layers:\n", NEW + "class _Layers:\n"),
)
BLOCK = """\
{% for layer in layers if layer.kind == "notice" %}
FROM build AS {{ layer.stage }}
RUN mkdir /layer; echo hello >/layer/notice; seal-layer
{% endfor %}
"""
TEMPLATE = (("FROM build-python AS guard\n", BLOCK + "FROM build-python AS guard\n"),)

ASK = """
import json, sys
from dataclasses import replace
from pathlib import Path
from cannery.image.layers import (shared)
from cannery.image.render import Renderer
from cannery.matrix.project import Project
from cannery.matrix.schema import parse_matrix
from cannery.building.plan import change_of
from cannery.building.ci_jobs import target_cost

project = Project(root=Path(sys.argv[1]))
text = (project.root / "matrix.yaml").read_text(encoding="utf-8")
targets = [replace(each, cxx_abi=0) for each in parse_matrix(text, "matrix.yaml").targets.values()]
found = {target.id: Renderer(project).render(target) for target in targets}
layers = {name: each.layers for name, each in found.items()}
print(json.dumps({
    "dockerfile": found["full"].files["Dockerfile"],
    "order": [layer.name for layer in layers["full"]][-2:],
    "shared": [each.layer.name for each in shared(layers)],
    "cost": len(target_cost("full", layers["full"]).costs) == len(layers["full"]),
    "change": change_of("base", targets, layers).rebuilt["full"],
}))
"""


def test_a_new_kind_of_layer_takes_two_files(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path)
    shutil.copytree(
        CHECKOUT / "cannery",
        tmp_path / "cannery",
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    for name, edits in (("layers.py", LAYERS), ("templates/Dockerfile.j2", TEMPLATE)):
        path = tmp_path / "cannery" / "image" / name
        text = path.read_text(encoding="utf-8")
        for old, new in edits:
            text = edited(old, new, text)
        path.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", ASK, str(checkout.project.root)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["order"] == ["notice", "guard"]
    assert "COPY --link --from=notice /layer/ /\nCOPY --link --from=guard" in said["dockerfile"]
    assert "FROM build AS notice\nRUN mkdir /layer; echo hello" in said["dockerfile"]
    assert "notice" in said["shared"]
    assert said["cost"]
    assert "notice" in said["change"]
