# SPDX-License-Identifier: Apache-2.0
"""A program in the place of docker, which notes how it is called and answers as told."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cannery.engine.bake import BakeSettings, Failures, bake
from cannery.image.bake_events import Event, EventKind
from cannery.image.bake_file import ImageBuild
from tests.unit.rawjson import ERROR, compact, log, started, vertex

# Says and ends as the next entry of "plan" asks; notes the bake file and the environment.
DOCKER = f"""#!{sys.executable}
import json, os, sys
from pathlib import Path
here, words = Path(__file__).parent, sys.argv[1:]
if words == ["buildx", "version"]:
    print((here / "version").read_text())
    sys.exit(0)
plan = json.loads((here / "plan").read_text())
turn = plan.pop(0)
(here / "plan").write_text(json.dumps(plan))
file = Path(words[words.index("--file") + 1]).read_text()
with (here / "asked").open("a") as asked:
    print(json.dumps([words, file, dict(os.environ)]), file=asked)
if not turn["code"]:
    Path(words[words.index("--metadata-file") + 1]).write_text(json.dumps(turn["metadata"]))
print(turn["says"], end="", flush=True)
sys.exit(turn["code"])
"""


class FakeBake:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "docker").write_text(DOCKER, encoding="utf-8")
        (folder / "docker").chmod(0o755)
        (folder / "version").write_text("github.com/docker/buildx v0.13.1 x")
        self.turns: list[dict[str, Any]] = []

    def then(self, says: str = "", code: int = 0, **digests: str) -> None:
        metadata = {name: {"containerimage.config.digest": each} for name, each in digests.items()}
        self.turns.append({"says": says, "code": code, "metadata": metadata})
        (self.folder / "plan").write_text(json.dumps(self.turns), encoding="utf-8")

    @property
    def asked(self) -> list[tuple[list[str], dict[str, Any], dict[str, str]]]:
        lines = (self.folder / "asked").read_text(encoding="utf-8").splitlines()
        return [(w, json.loads(f), e) for w, f, e in map(json.loads, lines)]

    @property
    def targets(self) -> list[list[str]]:
        """The targets of each call."""
        return [[*file["target"]] for _, file, _ in self.asked]


def builds(*names: str) -> list[ImageBuild]:
    return [
        ImageBuild(
            id=name, tag=name, dockerfile=Path("D"), folder=Path("/x"), platform="linux/arm64"
        )
        for name in names
    ]


@dataclass(frozen=True)
class Baked:
    images: dict[str, str]
    failures: Failures


def run(settings: BakeSettings, *names: str) -> tuple[Baked, list[tuple[str, EventKind | str]]]:
    """What came out, and all that was told in between, images included."""
    heard: list[tuple[str, EventKind | str]] = []
    images: dict[str, str] = {}

    def hear(target: str, event: Event, steps: tuple[int, int]) -> None:
        heard.append((target, event.kind))

    def built(target: str, image: str) -> None:
        assert target not in images
        images[target] = image
        heard.append((target, image))

    failures = bake(builds(*names), settings, hear, built)
    return Baked(images, failures), heard


def failing(name: str, error: str = ERROR) -> str:
    step = f"[{name} os 1/1] RUN x"
    events = [started(step, "x"), log("x", "one\ntwo\n"), vertex(step, "x", error=error)]
    return compact(events) + f"ERROR: failed to solve: {error}\n"
