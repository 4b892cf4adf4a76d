# SPDX-License-Identifier: Apache-2.0
"""``docker buildx bake``, with programs in the place of docker that note how they are called."""

from __future__ import annotations

import base64
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cannery.common.errors import BuildError, EngineError, UsageError
from cannery.common.package_index import PackageIndex, package_index
from cannery.engine import client as engine
from cannery.engine.bake import BakeSettings, bake, write_stage
from cannery.engine.builder import Builder
from cannery.image.bake_events import Event, EventKind
from cannery.image.bake_file import Caches, ImageBuild
from tests.unit.fake_bake import FakeBake, builds, failing, run
from tests.unit.rawjson import ERROR, compact, done, spread, started, status


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeBake:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(engine, "image_id", lambda digest: "" if "gone" in digest else digest)
    return FakeBake(folder)


@pytest.fixture
def settings(tmp_path: Path) -> BakeSettings:
    return BakeSettings(
        builder=Builder(name="default", local=True),
        source=PackageIndex(ca=None, index_url=""),
        caches=Caches(),
        logs=tmp_path / "logs",
    )


def test_all_at_once(docker: FakeBake, settings: BakeSettings) -> None:
    docker.then(spread([done("[a os 1/1] RUN x"), done("[b_c os 1/1] RUN x")]), a="i1", b_c="i2")
    baked, heard = run(settings, "a", "b.c")
    assert (baked.images, baked.failures) == ({"a": "i1", "b.c": "i2"}, {})
    assert heard == [("a", EventKind.DONE), ("b.c", EventKind.DONE), ("a", "i1"), ("b.c", "i2")]
    [(words, _, environ)] = docker.asked
    assert words[:6] == ["buildx", "bake", "--builder", "default", "--progress", "rawjson"]
    assert environ["BUILDX_BAKE_ENTITLEMENTS_FS"] == "0"
    assert "CANNERY_INDEX_URL" not in environ
    assert (settings.logs / "b.c.log").read_text() == "os 1/1 RUN: done (2.2 s)\n"


def test_the_index_is_in_no_file(
    docker: FakeBake, settings: BakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "https://name:word@index.test/simple"
    docker.then(a="i1")

    def hear(*_: object) -> None:
        pass

    source = PackageIndex(ca=Path("/ca.pem"), index_url=secret)
    bake(builds("a"), BakeSettings(**{**vars(settings), "source": source}), hear, hear)
    [(words, file, environ)] = docker.asked
    assert environ["CANNERY_INDEX_URL"] == secret
    assert "index.test" not in json.dumps([words, file])
    assert file["target"]["a"]["secret"] == ["id=ca,src=/ca.pem", "id=index,env=CANNERY_INDEX_URL"]
    assert "CANNERY_INDEX_URL" not in os.environ


def test_a_login_repeated_by_a_step_is_in_no_log(
    docker: FakeBake, settings: BakeSettings, capsys: pytest.CaptureFixture[str]
) -> None:
    url = "https://name:hunter2@index.test/simple"
    docker.then(failing("a", f"failed to fetch {url}"), 1)
    source = PackageIndex(ca=None, index_url=url)
    own = BakeSettings(**{**vars(settings), "source": source})
    baked, _ = run(own, "a")
    log = (settings.logs / "a.log").read_text()
    assert "https://****@index.test" in log
    for text in (log, str(baked.failures["a"]), capsys.readouterr().err):
        assert "hunter2" not in text


def test_a_failed_target_does_not_stop_the_others(docker: FakeBake, settings: BakeSettings) -> None:
    docker.then(failing("b"), 1)
    docker.then(failing("d"), 1)
    docker.then(a="i1", c="i3")
    baked, _ = run(settings, "a", "b", "c", "d")
    assert docker.targets == [["a", "b", "c", "d"], ["a", "c", "d"], ["a", "c"]]
    assert baked.images == {"a": "i1", "c": "i3"}
    assert {*baked.failures} == {"b", "d"}
    [problem] = baked.failures["b"].problems
    assert problem.what.startswith("b: the build failed (1).\n")
    assert ERROR in problem.what
    assert problem.fix == f"The whole log is in {settings.logs}/b.log."
    assert "os 1/1 RUN | one\nos 1/1 RUN | two\n" in (settings.logs / "b.log").read_text()


def test_a_long_step_does_not_hide_the_reason(docker: FakeBake, settings: BakeSettings) -> None:
    """buildx repeats the step's lines of the Dockerfile below what the step has said."""
    excerpt = "".join(f" {line} | >>>     command {line}; \\\n" for line in range(80, 130))
    said = failing("a").replace("ERROR: failed", f"Dockerfile:80\n{excerpt}ERROR: failed")
    reason = base64.b64encode(b"kernels: ERROR: another toolkit\n").decode()
    docker.then(said.replace(base64.b64encode(b"one\ntwo\n").decode(), reason), 1)
    baked, _ = run(settings, "a")
    assert "kernels: ERROR: another toolkit" in str(baked.failures["a"])
    assert "command 81" in (settings.logs / "a.log").read_text()


def test_a_lost_session_is_tried_once_more(docker: FakeBake, settings: BakeSettings) -> None:
    lost = failing("b", "no active sessions")
    docker.then(lost + failing("c"), 1)
    docker.then(a="i1", b="i2")
    baked, _ = run(settings, "a", "b", "c")
    assert docker.targets == [["a", "b", "c"], ["a", "b"]]
    assert (baked.images, {*baked.failures}) == ({"a": "i1", "b": "i2"}, {"c"})


def test_a_session_lost_twice_is_a_failure(docker: FakeBake, settings: BakeSettings) -> None:
    lost = failing("b", "no active sessions")
    docker.then(lost, 1)
    docker.then(a="i1")
    docker.then(lost, 1)
    baked, _ = run(settings, "a", "b")
    assert docker.targets == [["a", "b"], ["a"], ["b"]]
    assert baked.images == {"a": "i1"}
    assert "no active sessions" in str(baked.failures["b"])


def test_each_goes_alone_where_it_is_not_said_which_failed(
    docker: FakeBake, settings: BakeSettings
) -> None:
    docker.then("ERROR: something\n", 1)
    docker.then(a="i1")
    docker.then("ERROR: something\n", 1)
    docker.then(c="i3")
    baked, _ = run(settings, "a", "b", "c")
    assert docker.targets == [["a", "b", "c"], ["a"], ["b"], ["c"]]
    assert (baked.images, {*baked.failures}) == ({"a": "i1", "c": "i3"}, {"b"})


def test_an_old_buildx_tells_its_progress_as_text(docker: FakeBake, settings: BakeSettings) -> None:
    (docker.folder / "version").write_text("github.com/docker/buildx v0.12.1 x")
    docker.then("#1 [os 1/1] RUN x\n#1 DONE\n", a="i1")
    baked, heard = run(settings, "a")
    assert (baked.images, heard) == ({"a": "i1"}, [("a", "i1")])
    assert docker.asked[0][0][5] == "plain"
    assert (settings.logs / "a.log").read_text() == "#1 [os 1/1] RUN x\n#1 DONE\n"


def test_the_two_ways_in_which_engines_name_images(
    docker: FakeBake, settings: BakeSettings
) -> None:
    docker.then(a="gone")
    docker.turns[0]["metadata"]["a"]["containerimage.digest"] = "i1"
    (docker.folder / "plan").write_text(json.dumps(docker.turns))
    assert run(settings, "a")[0].images == {"a": "i1"}


def test_an_image_missing_from_the_engine_is_a_failure(
    docker: FakeBake, settings: BakeSettings
) -> None:
    docker.then(a="gone", b="i2")
    baked, _ = run(settings, "a", "b")
    assert baked.images == {"b": "i2"}
    assert isinstance(baked.failures["a"], EngineError)


def exporting(name: str, digest: str, step: str = "exporting to image") -> list[dict[str, Any]]:
    """As the engine's own store says it."""
    step = f"[{name}] {step}"
    return [
        started(step),
        status(step, f"writing image {digest}"),
        status(step, f"writing image {digest}", completed=True),
        done(step),
    ]


ONE, TWO = (f"sha256:{number:064}" for number in (1, 2))


def test_an_image_is_told_of_once_the_engine_has_it(
    docker: FakeBake, settings: BakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A builder elsewhere writes it before it is here."""
    there: list[str] = []
    monkeypatch.setattr(engine, "image_id", lambda digest: digest if there else "")
    late = [done("[b os 1/1] RUN x"), *exporting("a", ONE, "importing to docker")]
    docker.then(compact([*exporting("a", ONE, "exporting to docker image format"), *late]), a=ONE)
    steps: list[str] = []

    def hear(target: str, event: Event, _: tuple[int, int]) -> None:
        if target == "b":
            there.append("now")
        steps.append(event.step)

    bake(builds("a", "b"), settings, hear, lambda target, image: steps.append(f"{target} {image}"))
    assert steps[-2:] == ["importing to docker", f"a {ONE}"]
    assert steps.count(f"a {ONE}") == 1


@pytest.mark.parametrize("cached", [False, True])
def test_a_built_image_is_not_rebuilt_after_another_fails(
    docker: FakeBake, settings: BakeSettings, *, cached: bool
) -> None:
    """Unless its cache may not have been kept."""
    if cached:
        settings = replace(settings, caches=Caches(destinations=("r.test/cache",)))
    docker.then(compact(exporting("a", ONE)) + failing("b"), 1)
    docker.then(compact(exporting("a", ONE)), a=ONE, c=TWO)
    baked, _ = run(settings, "a", "b", "c")
    assert docker.targets == [["a", "b", "c"], ["a", "c"] if cached else ["c"]]
    assert baked.images == {"a": ONE, "c": TWO}
    assert {*baked.failures} == {"b"}


def test_a_log_begins_anew_with_every_run(docker: FakeBake, settings: BakeSettings) -> None:
    for _ in range(2):
        docker.then(compact([done("[os 1/1] RUN x")]), a="i1")
    run(settings, "a")
    run(settings, "a")
    assert (settings.logs / "a.log").read_text() == "os 1/1 RUN: done (2.2 s)\n"


NOWHERE = PackageIndex(ca=None, index_url="")

# Records its arguments, the bake file and the index; says and ends as the file "plan" asks.
STAGE_DOCKER = f"""#!{sys.executable}
import json, os, sys
from pathlib import Path
here, words = Path(__file__).parent, sys.argv[1:]
plan = json.loads((here / "plan").read_text())
file = json.loads(Path(words[-1]).read_text())
asked = [words[:-1], file, os.environ.get("CANNERY_INDEX_URL", "")]
(here / "asked").write_text(json.dumps(asked))
print(plan["says"], flush=True)
sys.exit(plan["code"])
"""


class FakeDocker:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "docker").write_text(STAGE_DOCKER, encoding="utf-8")
        (folder / "docker").chmod(0o755)
        self.plan()

    def plan(self, says: str = "#1 done", code: int = 0) -> None:
        text = json.dumps({"says": says, "code": code})
        (self.folder / "plan").write_text(text, encoding="utf-8")

    def asked(self) -> tuple[list[str], dict[str, Any], str]:
        words, file, index = json.loads((self.folder / "asked").read_text(encoding="utf-8"))
        return words, file, index


@pytest.fixture
def stage_docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return FakeDocker(folder)


BUILD = ImageBuild(
    id="full",
    tag="",
    dockerfile=Path("/images/full/Dockerfile"),
    folder=Path("/images/full"),
    platform="linux/arm64",
    contexts={"artifacts": "/vendor files"},
    arguments={"A_SHA256": "0", "B": ""},
)


def write(folder: Path, stage: str = "", source: PackageIndex = NOWHERE) -> None:
    builder = Builder(name="default", local=True)
    settings = BakeSettings(builder=builder, source=source, caches=Caches(), logs=folder / "logs")
    write_stage(BUILD, stage, Path("/out"), settings)


def test_the_last_stage_or_another_is_written(stage_docker: FakeDocker, tmp_path: Path) -> None:
    write(tmp_path)
    words, file, _ = stage_docker.asked()
    options = ["--builder", "default", "--progress", "plain", "--file"]
    assert words == ["buildx", "bake", *options]
    target = file["target"]["full"]
    assert target["output"] == ["type=local,dest=/out"]
    assert target["contexts"] == {"artifacts": "/vendor files"}
    assert not {"target", "secret"} & target.keys()
    write(tmp_path, "facts")
    assert stage_docker.asked()[1]["target"]["full"]["target"] == "facts"


def test_certificates_and_index_are_secrets(stage_docker: FakeDocker, tmp_path: Path) -> None:
    address = "https://name:word@index.test/simple"
    write(tmp_path, source=PackageIndex(ca=tmp_path / "ca", index_url=address))
    words, file, index = stage_docker.asked()
    secrets = [f"id=ca,src={tmp_path}/ca", "id=index,env=CANNERY_INDEX_URL"]
    assert file["target"]["full"]["secret"] == secrets
    assert index == address
    assert "index.test" not in json.dumps([words, file])


def test_output_goes_to_the_log_only(
    stage_docker: FakeDocker, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    stage_docker.plan(says="#1 one\n#2 ünö")
    write(tmp_path)
    assert (tmp_path / "logs" / "full.log").read_text(encoding="utf-8") == "#1 one\n#2 ünö\n"
    assert capfd.readouterr() == ("", "")


LONG = "\n".join(f"#{number} step" for number in range(100))
FAILURES = {
    "an error": (
        f"{LONG}\nERROR: failed to solve: exit code: 1",
        "(9).\nERROR: exit code: 1",
        "The w",
    ),
    "a cause": (
        f"{LONG}\nerror: no answer\n  cause: x\nERROR: code: 2\nERROR: failed to solve: code: 2",
        "(9).\nerror: no answer\n  cause: x\nERROR: code: 2\n",
        "The whole log",
    ),
    "no error line": (LONG, "#95 step\n#96 step\n#97 step\n#98 step\n#99 step", "The whole log"),
    "a full disk": (
        "ERROR: write /x: No space left on device",
        "No space left",
        "The engine's disk is full: 'docker system df' shows its use.",
    ),
    "a full disk in dash": (
        f"{LONG}\n/bin/sh: 1: echo: echo: I/O error\nERROR: process: exit code: 2",
        "(9).\n/bin/sh: 1: echo: echo: I/O error\nERROR: process",
        "The engine's disk is full or broken: 'docker system df' shows its use.",
    ),
    "a certificate": (
        "error: invalid peer certificate: UnknownIssuer\nERROR: exit code: 2",
        "UnknownIssuer\nERROR: exit",
        "name your own CA file with --ca.",
    ),
    "a mirror without a login": (
        "E: Failed to fetch http://m/debian/InRelease  401  Unauthorized\nERROR: ca-certificates",
        "401  Unauthorized",
        "put it into CANNERY_APT_MIRROR",
    ),
    "an index without a login": (
        "ERROR: HTTP error 401 while getting x\nERROR: 401 Client Error: Unauthorized for url: x",
        "401 Client Error",
        "put it into CANNERY_INDEX_URL",
    ),
    "a proxy without a login": (
        "error: Failed to fetch x\n  cause: tunnel error: proxy authorization required",
        "proxy authorization required",
        "put it into CANNERY_PROXY",
    ),
    "certificates as a package only": (
        'ERROR: process "install-tools ca-certificates" exit code: 100',
        "exit code: 100",
        "The whole log",
    ),
    "a lost connection": (
        "ERROR: failed to receive status: rpc error: code = Unavailable desc = EOF",
        "code = Unavailable",
        "The connection to the engine was lost: check that it runs, and build again.",
    ),
    "a newer buildx": (
        "ERROR: failed to build: failed to solve: debian:none: not found",
        "\nERROR: debian:none: not found",
        "",
    ),
}


@pytest.mark.parametrize(("says", "what", "fix"), FAILURES.values(), ids=FAILURES)
def test_a_failed_build_is_reported(
    stage_docker: FakeDocker, tmp_path: Path, says: str, what: str, fix: str
) -> None:
    stage_docker.plan(says=says, code=9)
    with pytest.raises(BuildError) as caught:
        write(tmp_path)
    [problem] = caught.value.problems
    assert problem.what.startswith("full: the build failed (9).\n")
    assert what in problem.what
    assert fix in problem.fix
    assert ("certificate" in problem.fix) is ("UnknownIssuer" in says)
    assert problem.fix.endswith(f"The whole log is in {tmp_path}/logs/full.log.")
    assert len(problem.what.splitlines()) <= 7


def test_where_packages_come_from(tmp_path: Path) -> None:
    names = ("option", "pip", "ssl")
    option, pip, ssl = (tmp_path / name for name in names)
    for path in (option, pip, ssl):
        path.touch()
    both = {"PIP_CERT": str(pip), "SSL_CERT_FILE": str(ssl), "PIP_INDEX_URL": "pip's"}
    assert package_index(option, "mine", both) == PackageIndex(ca=option, index_url="mine")
    assert package_index(None, "", both) == PackageIndex(ca=pip, index_url="pip's")
    both |= {"PIP_CERT": "", "UV_DEFAULT_INDEX": "uv's"}
    assert package_index(None, "", both) == PackageIndex(ca=ssl, index_url="uv's")
    with pytest.raises(UsageError, match="there is no file /nonexistent, named by PIP_CERT"):
        package_index(None, "", {"PIP_CERT": "/nonexistent"})
    assert package_index(option, "", {"PIP_CERT": "/nonexistent"}).ca == option
    assert package_index(None, "", {}).index_url == ""
