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
from cannery.engine.base import Bases, Notes, base_names, expected_base
from cannery.engine.builder import Builder
from cannery.engine.images import LocalImage
from cannery.image.record import bases_labels, used_bases
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
    notes = Notes(state=docker.folder / "state-of-the-checkout")
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


def test_the_registry_itself_is_the_last(docker: Docker) -> None:
    docker.has(remote=(PINNED,))
    assert find(docker, BASE).reference == PINNED
    assert docker.pulls == [FIRST, SECOND, PINNED]


def test_a_stand_in_that_is_here_is_for_a_machine_without_registries(
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
def test_a_registry_that_answers_rules_out_a_stand_in(docker: Docker, answering: str) -> None:
    docker.has(local=(STAND_IN,), answering=(answering,))
    with pytest.raises(EngineError) as caught:
        find(docker, BASE)
    first, last = map(str, caught.value.problems)
    assert first.startswith(f"{answering} does not give ")
    assert f"base debian-12 ({PINNED}) cannot be had for linux/arm64." in last
    assert "Check the reference in matrix.yaml" in first


def test_without_any_registry_it_is_bootstrapped(docker: Docker) -> None:
    docker.has()
    with pytest.raises(EngineError, match="mmdebstrap, which can bootstrap a stand-in, is not"):
        find(docker, BASE)
    assert docker.pulls == [FIRST, SECOND, PINNED]


def test_a_builder_that_fails_is_no_registry_that_is_silent(docker: Docker) -> None:
    docker.has()
    text = "#!/bin/sh\necho 'ERROR: no builder found'\nexit 1\n"
    (docker.folder / "docker").write_text(text, encoding="utf-8")
    with pytest.raises(EngineError, match="the builder default reports:\nERROR: no builder"):
        find(docker, BASE)


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
        find(docker, DATED)
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
    assert find(docker, DATED).reference == DATED_TAG


def test_a_stand_in_has_the_settings_of_debian_s_slim_images(
    docker: Docker, bootstrap: Path
) -> None:
    with pytest.raises(EngineError, match="could not import"):
        find(docker, DATED)
    words = bootstrap.read_text(encoding="utf-8").splitlines()
    assert '--aptopt=Acquire::Languages "none"' in words
    settings = bootstrap.with_name("settings").read_text(encoding="utf-8").splitlines()
    assert {"path-exclude=/usr/share/doc/*", "force-unsafe-io"} <= {*settings}


def test_a_snapshot_that_does_not_exist_has_no_replacement(docker: Docker, bootstrap: Path) -> None:
    with pytest.raises(EngineError, match="snapshot 20261101T000000Z:\nE: no such snapshot"):
        find(docker, replace(DATED, archive="https://none.test"))


def test_a_snapshot_needs_a_server(docker: Docker, bootstrap: Path) -> None:
    said = "base debian-12 has a snapshot, and cannery.toml names no server of snapshots. Add it"
    with pytest.raises(EngineError, match=said):
        find(docker, replace(DATED, archive=""))
    assert not bootstrap.exists()


def local(*references: str, architecture: str = "arm64") -> dict[str, LocalImage]:
    image = LocalImage(id="sha256:1", architecture=architecture, labels={})
    return dict.fromkeys(references, image)


def identity(base: Base, here: dict[str, LocalImage], notes: Notes) -> str:
    return expected_base(base, "arm64", here, notes).identity


def test_a_base_with_a_snapshot_is_the_same_on_every_machine(tmp_path: Path) -> None:
    for here in (local(), local(DATED_TAG), local(STAND_IN)):
        assert identity(DATED, here, Notes(state=tmp_path)) == "debian:bookworm-20261101T000000Z"


def test_a_plan_expects_what_the_last_build_has_used(docker: Docker, tmp_path: Path) -> None:
    notes = Notes(state=docker.folder / "state-of-the-checkout")
    assert identity(BASE, local(), notes) == PINNED
    assert identity(BASE, local(STAND_IN), notes) == "sha256:1"
    docker.has(local=(STAND_IN,), remote=(SECOND,))
    assert find(docker, BASE).reference == SECOND
    assert expected_base(BASE, "arm64", local(STAND_IN), notes).reference == SECOND
    assert identity(BASE, local(STAND_IN), notes) == PINNED
    # What another architecture uses is another image.
    assert expected_base(BASE, "amd64", {}, notes).reference == PINNED
    docker.has(local=(STAND_IN,))
    assert find(docker, BASE).origin is Origin.STAND_IN
    assert identity(BASE, local(STAND_IN), notes) == "sha256:1"


@pytest.mark.parametrize("text", ["", "[]", "{", '{"debian": 1}', "null", "\0"])
def test_notes_that_cannot_be_read_are_none(tmp_path: Path, text: str) -> None:
    notes = Notes(state=tmp_path)
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
def test_a_label_that_cannot_be_read_says_nothing(text: str) -> None:
    assert used_bases({"io.cannery.bases": text}) == {}
    assert used_bases({}) == {}


@pytest.mark.parametrize("distribution", ["ubuntu", "openeuler"])
def test_only_debian_has_stand_ins(docker: Docker, distribution: str) -> None:
    docker.has()
    base = replace(BASE, distribution=load_distributions()[distribution])
    with pytest.raises(EngineError, match="can be bootstrapped for Debian only") as caught:
        find(docker, base)
    assert "docker load" in str(caught.value)


def test_an_image_without_a_digest_that_is_loaded_is_identified_by_its_id(
    tmp_path: Path,
) -> None:
    notes = Notes(state=tmp_path)
    base = replace(BASE, image="debian:bookworm-slim", mirrors=())
    assert base_names(base, "arm64") == ("debian:bookworm-slim", STAND_IN)
    assert identity(base, local("debian:bookworm-slim"), notes) == "sha256:1"
    assert identity(base, local("debian:bookworm-slim", architecture="amd64"), notes) == base.image
    assert identity(base, {}, notes) == "debian:bookworm-slim"
    assert base_names(BASE, "arm64") == (STAND_IN,)


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
            find(docker, replace(DATED, suite=suite), architecture)
        said = calls.read_text(encoding="utf-8").splitlines()
        assert len(said) == wanted
        assert ("--variant=extract --architectures=amd64" in said[0]) == (wanted == 2)
        assert ("bootstrap-hook essential" in said[-1]) == (wanted == 2)
