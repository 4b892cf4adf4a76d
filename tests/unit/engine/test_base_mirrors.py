# SPDX-License-Identifier: Apache-2.0
"""Bases come from the first mirror that has them, and are the same base wherever they come from."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from cannery.common.bases import Base, FoundBase, Origin
from cannery.common.errors import EngineError
from cannery.engine.base import BaseCache, Bases, base_names, expected_base
from cannery.engine.builder import Builder
from cannery.engine.images import LocalImage
from cannery.image.content_key import bases_labels, used_bases
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
    stand_in=Path("/nonexistent/make-base"),
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
assert words[:2] == ["buildx", "build"], words
reference = Path(words[-1], "Dockerfile").read_text().split()[1]
with (here / "asked").open("a") as asked:
    print("pull", words[words.index("--platform") + 1], reference, file=asked)
if reference in state["remote"]:
    sys.exit(0)
host = reference.partition("/")[0]
why = "failed to do request: Head \\"https://x\\": dial tcp: lookup x: no such host"
if host in state["answering"]:
    why = f"{{reference}}: not found"
print(f"ERROR: failed to solve: {{reference}}: failed to resolve source metadata for "
      f"docker.io/library/{{reference}}: {{why}}")
sys.exit(1)
"""


@dataclass
class Docker:
    folder: Path

    def has(
        self,
        *,
        local: tuple[str, ...] = (),
        remote: tuple[str, ...] = (),
        answering: tuple[str, ...] = (),
    ) -> None:
        """The images of the engine and of registries, and registries that answer."""
        state = json.dumps({"local": local, "remote": remote, "answering": answering})
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


def find(docker: Docker, base: Base, architecture: str = "arm64") -> FoundBase:
    """What a new run finds."""
    builder = Builder(name="default", local=True)
    notes = BaseCache(state=docker.folder / "state-of-the-checkout")
    return Bases(builder=builder, notes=notes).find(base, architecture)


def test_mirrors_are_asked_in_their_order_and_then_the_registry(
    docker: Docker, capsys: pytest.CaptureFixture[str]
) -> None:
    docker.has(remote=(SECOND, PINNED), answering=("one.test",))
    found = find(docker, BASE)
    assert found == FoundBase(reference=SECOND, identity=PINNED, origin=Origin.REGISTRY)
    assert docker.pulls == [FIRST, SECOND]
    said = capsys.readouterr().err
    assert f"base debian-12: one.test does not give {FIRST} for linux/arm64: not found." in said


def test_a_local_stand_in_is_used_only_without_registries(
    docker: Docker, capsys: pytest.CaptureFixture[str]
) -> None:
    docker.has(local=(STAND_IN,), remote=(PINNED,))
    assert find(docker, BASE).origin is Origin.REGISTRY
    docker.has(local=(STAND_IN,))
    found = find(docker, BASE)
    assert found == FoundBase(reference=STAND_IN, identity="sha256:1", origin=Origin.STAND_IN)
    said = capsys.readouterr().err
    assert "base debian-12: no registry can be reached (one.test: failed to do request" in said
    assert f"the stand-in {STAND_IN} is used" in said


@pytest.mark.parametrize("answering", ["one.test", "two.test"])
def test_a_reachable_registry_rules_out_a_stand_in(docker: Docker, answering: str) -> None:
    docker.has(local=(STAND_IN,), answering=(answering,))
    with pytest.raises(EngineError) as caught:
        find(docker, BASE)
    first, last = map(str, caught.value.problems)
    assert first.startswith(f"{answering} does not give ")
    assert f"base debian-12 ({PINNED}) is not available for linux/arm64." in last
    assert "Check the reference in matrix.yaml" in first


def test_a_failed_builder_is_not_an_unreachable_registry(docker: Docker) -> None:
    docker.has()
    text = "#!/bin/sh\necho 'ERROR: no builder found'\nexit 1\n"
    (docker.folder / "docker").write_text(text, encoding="utf-8")
    with pytest.raises(EngineError, match="the builder default reports:\nERROR: no builder"):
        find(docker, BASE)


def test_only_mirrors_are_asked_where_nothing_else_is_allowed(docker: Docker) -> None:
    docker.has(local=(STAND_IN,), remote=(PINNED,))
    with pytest.raises(EngineError, match="no mirror of it can be reached") as caught:
        find(docker, replace(BASE, only_mirrors=True))
    assert caught.value.problems[0].fix == "Check [mirrors] in cannery.toml, and retry."
    assert docker.pulls == [FIRST, SECOND]
    docker.has(remote=(SECOND, PINNED))
    assert find(docker, replace(BASE, only_mirrors=True)).reference == SECOND


def test_a_base_without_the_mirror_that_it_needs_is_an_error(docker: Docker) -> None:
    docker.has(remote=(PINNED,))
    with pytest.raises(EngineError) as caught:
        find(docker, replace(BASE, only_mirrors=True, mirrors=()))
    assert "cannery.toml names no mirror of docker.io." in str(caught.value)
    assert not (docker.folder / "asked").exists()


STAND_INS = f"""#!{sys.executable}
import json, os, sys
from pathlib import Path
here = Path(__file__).parent
(here / "made").write_text(" ".join([*sys.argv[1:], os.environ.get("DOCKER_HOST", "")]))
state = json.loads((here / "state").read_text())
if state["remote"]:
    sys.exit("E: the mirror does not answer")
print("without security updates")
state["local"] = sys.argv[-1:]
(here / "state").write_text(json.dumps(state))
"""
"""Fails while any registry has an image."""


@pytest.fixture
def allowed(docker: Docker) -> Base:
    """A base for which cannery.toml names the program ``STAND_INS``."""
    program = docker.folder / "make-base"
    program.write_text(STAND_INS, encoding="utf-8")
    program.chmod(0o755)
    return replace(BASE, stand_in=program)


def test_without_any_registry_a_program_makes_a_stand_in(
    docker: Docker,
    allowed: Base,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://engine.test")
    docker.has()
    expected = FoundBase(reference=STAND_IN, identity="sha256:1", origin=Origin.STAND_IN)
    assert find(docker, allowed) == expected
    assert docker.pulls == [FIRST, SECOND, PINNED]
    made = (docker.folder / "made").read_text(encoding="utf-8")
    assert made == f"bookworm arm64 {STAND_IN} tcp://engine.test"
    said = capsys.readouterr().err
    assert "base debian-12: make-base makes a stand-in for arm64, because no registry" in said
    assert "base debian-12: without security updates" in said


def test_a_failed_program_is_an_error_with_its_output(docker: Docker, allowed: Base) -> None:
    docker.has(remote=("another.test/debian",))
    with pytest.raises(EngineError, match="the mirror does not answer") as caught:
        find(docker, allowed)
    assert f"make-base has not made {STAND_IN} (1):" in str(caught.value)
    assert "Name a mirror of its registry below [mirrors] in cannery.toml." in str(caught.value)


@pytest.mark.parametrize("local", [(), (STAND_IN,)])
def test_an_unreachable_base_without_a_stand_in_program_is_an_error(
    docker: Docker, local: tuple[str, ...]
) -> None:
    """Also if the engine has a stand-in that was made for another base of this suite."""
    docker.has(local=local)
    base = replace(BASE, stand_in=None)
    assert identity(base, images(*local), BaseCache(state=docker.folder)) == PINNED
    with pytest.raises(EngineError) as caught:
        find(docker, base)
    [problem] = caught.value.problems
    assert f"base debian-12 ({PINNED}): no registry of it can be reached (one.test:" in problem.what
    assert problem.fix == (
        "Name a mirror of its registry below [mirrors] in cannery.toml, or a program that makes a "
        "stand-in for docker.io/library/debian below [stand-ins]."
    )


def images(*references: str, architecture: str = "arm64") -> dict[str, LocalImage]:
    image = LocalImage(id="sha256:1", architecture=architecture, labels={})
    return dict.fromkeys(references, image)


def identity(base: Base, here: dict[str, LocalImage], notes: BaseCache) -> str:
    return expected_base(base, "arm64", here, notes).identity


def test_a_plan_expects_the_base_used_by_the_last_build(docker: Docker, tmp_path: Path) -> None:
    notes = BaseCache(state=docker.folder / "state-of-the-checkout")
    assert identity(BASE, images(), notes) == PINNED
    assert identity(BASE, images(STAND_IN), notes) == "sha256:1"
    docker.has(local=(STAND_IN,), remote=(SECOND,))
    assert find(docker, BASE).reference == SECOND
    assert expected_base(BASE, "arm64", images(STAND_IN), notes).reference == SECOND
    assert identity(BASE, images(STAND_IN), notes) == PINNED
    # What another architecture uses is another image.
    assert expected_base(BASE, "amd64", {}, notes).reference == PINNED
    docker.has(local=(STAND_IN,))
    assert find(docker, BASE).origin is Origin.STAND_IN
    assert identity(BASE, images(STAND_IN), notes) == "sha256:1"


@pytest.mark.parametrize("text", ["", "[]", "{", '{"debian": 1}', "null", "\0"])
def test_invalid_notes_are_ignored_and_replaced(tmp_path: Path, text: str) -> None:
    notes = BaseCache(state=tmp_path)
    notes.path.write_text(text, encoding="utf-8")
    assert notes.known(BASE, "arm64") is None
    found = FoundBase(reference=FIRST, identity=PINNED, origin=Origin.REGISTRY)
    notes.keep(BASE, "arm64", found)
    assert notes.known(BASE, "arm64") == found


def test_an_image_says_which_bases_it_is_on(docker: Docker) -> None:
    docker.has(remote=(SECOND,))
    labels = bases_labels(BASE, {"BASE_IMAGE": find(docker, BASE)})
    assert used_bases(labels) == {"BASE_IMAGE": (Origin.REGISTRY, PINNED)}
    # The same wherever it is from.
    assert labels["org.opencontainers.image.base.name"] == PINNED
    docker.has(local=(STAND_IN,))
    labels = bases_labels(BASE, {"BASE_IMAGE": find(docker, BASE)})
    assert used_bases(labels) == {"BASE_IMAGE": (Origin.STAND_IN, "sha256:1")}
    assert labels["org.opencontainers.image.base.name"] == STAND_IN
    loose = replace(BASE, image="debian:bookworm-slim")
    found = FoundBase(
        reference=f"one.test/library/debian:bookworm-slim@{DIGEST}",
        identity=f"debian:bookworm-slim@sha256:{'cd' * 32}",
        origin=Origin.REGISTRY,
    )
    labels = bases_labels(loose, {"BASE_IMAGE": found})
    assert labels["org.opencontainers.image.base.name"] == PINNED


@pytest.mark.parametrize("text", ["", "[]", "{", '{"BASE_IMAGE": ["nowhere", "x"]}', "null"])
def test_an_invalid_bases_label_is_ignored(text: str) -> None:
    assert used_bases({"io.cannery.bases": text}) == {}
    assert used_bases({}) == {}


def test_a_loaded_base_without_a_digest_is_identified_by_its_image_id(
    tmp_path: Path,
) -> None:
    notes = BaseCache(state=tmp_path)
    base = replace(BASE, image="debian:bookworm-slim", mirrors=())
    assert base_names(base, "arm64") == ("debian:bookworm-slim", STAND_IN)
    assert identity(base, images("debian:bookworm-slim"), notes) == "sha256:1"
    assert identity(base, images("debian:bookworm-slim", architecture="amd64"), notes) == base.image
    assert identity(base, {}, notes) == "debian:bookworm-slim"
    assert base_names(BASE, "arm64") == (STAND_IN,)
