# SPDX-License-Identifier: Apache-2.0
"""Bases come from the first mirror that has them, and are the same base wherever they come from."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from cannery.common.bases import Base
from cannery.common.errors import EngineError
from cannery.engine.base import ensure_base, identity, mirrored, names, reference
from cannery.engine.images import LocalImage
from cannery.matrix.distributions import load_distributions

DIGEST = "sha256:" + "ab" * 32
PINNED = f"debian:bookworm-slim@{DIGEST}"
FIRST, SECOND = f"one.test/hub/library/debian@{DIGEST}", f"two.test/library/debian@{DIGEST}"
BASE = Base(
    name="debian-12",
    image=PINNED,
    suite="bookworm",
    glibc="2.36",
    distribution=load_distributions()["debian"],
    mirrors=(FIRST, SECOND),
)
STAND_IN = "cannery/bootstrap:bookworm-arm64"

DOCKER = f"""#!{sys.executable}
import json, sys
from pathlib import Path
here, words = Path(__file__).parent, sys.argv[1:]
state = json.loads((here / "state").read_text())
with (here / "asked").open("a") as asked:
    print(" ".join(words), file=asked)
if words[0] == "image":
    for name in words[4:]:
        if name in state["local"]:
            print(json.dumps({{"Id": "sha256:1", "Architecture": "arm64", "Config": None}}))
        else:
            print(f"Error response from daemon: No such image: {{name}}")
    sys.exit({{*words[4:]}} - {{*state["local"]}} != set())
if words[0] == "pull" and words[-1] in state["remote"]:
    sys.exit(0)
print(f"Error response from daemon: manifest for {{words[-1]}} not found")
sys.exit(1)
"""


@dataclass
class Docker:
    folder: Path

    def has(self, *, local: tuple[str, ...] = (), remote: tuple[str, ...] = ()) -> None:
        state = json.dumps({"local": local, "remote": remote})
        (self.folder / "state").write_text(state, encoding="utf-8")

    @property
    def pulls(self) -> list[str]:
        lines = (self.folder / "asked").read_text(encoding="utf-8").splitlines()
        return [line.split()[-1] for line in lines if line.startswith("pull ")]


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Docker:
    (tmp_path / "docker").write_text(DOCKER, encoding="utf-8")
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return Docker(tmp_path)


def test_mirrors_are_asked_in_their_order_and_then_the_registry(
    docker: Docker, capsys: pytest.CaptureFixture[str]
) -> None:
    docker.has(remote=(SECOND, PINNED))
    assert ensure_base(BASE, "arm64") == SECOND
    assert docker.pulls == [FIRST, SECOND]
    said = capsys.readouterr().err
    assert f"pulling {FIRST} for arm64" in said
    assert f"cannot be pulled from there: Error response from daemon: manifest for {FIRST}" in said
    assert f"pulling {SECOND} for arm64" in said


def test_the_registry_itself_is_the_last(docker: Docker) -> None:
    docker.has(remote=(PINNED,))
    assert ensure_base(BASE, "arm64") == PINNED
    assert docker.pulls == [FIRST, SECOND, PINNED]


@pytest.mark.parametrize("name", [PINNED, SECOND, STAND_IN])
def test_a_base_that_is_here_is_not_pulled(docker: Docker, name: str) -> None:
    docker.has(local=(name,), remote=(FIRST,))
    assert ensure_base(BASE, "arm64") == name
    assert "pull" not in (docker.folder / "asked").read_text(encoding="utf-8").split()


def test_without_any_registry_it_is_bootstrapped(docker: Docker) -> None:
    docker.has()
    with pytest.raises(EngineError, match="mmdebstrap, which can bootstrap a stand-in, is not"):
        ensure_base(BASE, "arm64")
    assert docker.pulls == [FIRST, SECOND, PINNED]


MMDEBSTRAP = f"""#!{sys.executable}
import sys
from pathlib import Path
words = sys.argv[1:]
here = Path(__file__).parent
(here / "bootstrapped").write_text("\\n".join(words))
hook = next(word for word in words if word.startswith("--extract-hook="))
(here / "settings").write_text(Path(hook.split()[-1]).read_text())
sys.exit("E: no such snapshot" if "none.test" in words[-1] else 0)
"""
DATED = replace(
    BASE,
    image="debian:bookworm-20261101T000000Z",
    mirrors=(),
    snapshot="20261101T000000Z",
    archive="https://dated.test/archive",
)
DATED_TAG = "cannery/bootstrap:bookworm-20261101T000000Z-arm64"


@pytest.fixture
def bootstrap(docker: Docker) -> Path:
    """The file with the words that mmdebstrap was called with, one a line."""
    docker.has()
    (docker.folder / "mmdebstrap").write_text(MMDEBSTRAP, encoding="utf-8")
    (docker.folder / "mmdebstrap").chmod(0o755)
    return docker.folder / "bootstrapped"


def test_a_base_with_a_snapshot_is_never_pulled(docker: Docker, bootstrap: Path) -> None:
    with pytest.raises(EngineError, match="could not import Debian bookworm"):
        ensure_base(DATED, "arm64")
    assert docker.pulls == []
    time = DATED.snapshot
    lines = [
        f"deb [check-valid-until=no] https://dated.test/archive/{archive}/{time} {suite} main"
        for archive, suite in (
            ("debian", "bookworm"),
            ("debian", "bookworm-updates"),
            ("debian-security", "bookworm-security"),
        )
    ]
    assert bootstrap.read_text(encoding="utf-8").splitlines()[-3:] == lines
    docker.has(local=(DATED_TAG,))
    assert ensure_base(DATED, "arm64") == DATED_TAG


def test_a_stand_in_has_the_settings_of_debian_s_slim_images(bootstrap: Path) -> None:
    with pytest.raises(EngineError, match="could not import"):
        ensure_base(DATED, "arm64")
    words = bootstrap.read_text(encoding="utf-8").splitlines()
    assert '--aptopt=Acquire::Languages "none"' in words
    settings = bootstrap.with_name("settings").read_text(encoding="utf-8").splitlines()
    assert {"path-exclude=/usr/share/doc/*", "force-unsafe-io"} <= {*settings}


def test_a_snapshot_that_does_not_exist_has_no_replacement(bootstrap: Path) -> None:
    with pytest.raises(EngineError, match="snapshot 20261101T000000Z:\nE: no such snapshot"):
        ensure_base(replace(DATED, archive="https://none.test"), "arm64")


def test_a_snapshot_needs_a_server(bootstrap: Path) -> None:
    said = "base debian-12 has a snapshot, and cannery.toml names no server of snapshots. Add it"
    with pytest.raises(EngineError, match=said):
        ensure_base(replace(DATED, archive=""), "arm64")
    assert not bootstrap.exists()


def test_a_base_with_a_snapshot_is_the_same_on_every_machine() -> None:
    for here in (local(), local(DATED_TAG), local(STAND_IN)):
        assert identity(DATED, "arm64", here) == "debian:bookworm-20261101T000000Z"


def local(*references: str, architecture: str = "arm64") -> dict[str, LocalImage]:
    image = LocalImage(id="sha256:1", architecture=architecture, labels={})
    return dict.fromkeys(references, image)


def test_it_is_the_same_base_wherever_it_is_from() -> None:
    assert names(BASE, "arm64") == (PINNED, FIRST, SECOND, STAND_IN)
    for here in (local(), local(PINNED), local(FIRST, STAND_IN), local(SECOND)):
        assert identity(BASE, "arm64", here) == PINNED
    assert identity(BASE, "arm64", local(STAND_IN)) == "sha256:1"
    assert identity(BASE, "arm64", {**local(STAND_IN), **local(FIRST, architecture="amd64")}) == (
        "sha256:1"
    )
    assert reference(BASE, "arm64", local(SECOND, STAND_IN)) == SECOND
    assert reference(BASE, "arm64", {}) == PINNED


def test_a_mirror_s_image_is_a_build_context_under_the_base_s_name() -> None:
    assert mirrored(BASE, FIRST) == {PINNED: f"docker-image://{FIRST}"}
    assert mirrored(BASE, PINNED) == mirrored(BASE, STAND_IN) == {}


@pytest.mark.parametrize("distribution", ["ubuntu", "openeuler"])
def test_only_debian_has_stand_ins(docker: Docker, distribution: str) -> None:
    docker.has()
    base = replace(BASE, distribution=load_distributions()[distribution])
    with pytest.raises(EngineError, match="can be bootstrapped for Debian only") as caught:
        ensure_base(base, "arm64")
    assert "docker load" in str(caught.value)


def test_an_image_without_a_digest_is_identified_by_its_id() -> None:
    base = replace(BASE, image="debian:bookworm-slim", mirrors=())
    assert identity(base, "arm64", local("debian:bookworm-slim")) == "sha256:1"
    assert identity(base, "arm64", {}) == "debian:bookworm-slim"
    assert identity(BASE, "arm64", local(PINNED)) == PINNED


def test_programs_of_this_machine_help_only_where_the_base_is_emulated(
    docker: Docker, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker.has()
    calls = docker.folder / "calls"
    text = f'#!/bin/sh\nprintf "%s\\n" "$*" >>{calls}\n'
    (docker.folder / "mmdebstrap").write_text(text, encoding="utf-8")
    (docker.folder / "mmdebstrap").chmod(0o755)
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    for suite, architecture, wanted in (
        ("bullseye", "amd64", 1),
        ("bullseye", "arm64", 2),
        ("bookworm", "arm64", 1),
    ):
        calls.unlink(missing_ok=True)
        with pytest.raises(EngineError, match="could not import"):
            ensure_base(replace(DATED, suite=suite), architecture)
        said = calls.read_text(encoding="utf-8").splitlines()
        assert len(said) == wanted
        assert ("--variant=extract --architectures=amd64" in said[0]) == (wanted == 2)
        assert ("bootstrap-hook essential" in said[-1]) == (wanted == 2)
