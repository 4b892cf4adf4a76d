# SPDX-License-Identifier: Apache-2.0
"""Files of a stage, with a program in the place of docker that records what it is asked."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from cannery.common.errors import BuildError
from cannery.common.package_index import PackageIndex, package_index
from cannery.engine.bake import BakeSettings, write_stage
from cannery.engine.builder import Builder
from cannery.image.bake_file import Caches, ImageBuild

NOWHERE = PackageIndex(ca=None, index_url="")

# Records its arguments, the bake file and the index; says and ends as the file "plan" asks.
DOCKER = f"""#!{sys.executable}
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
        (folder / "docker").write_text(DOCKER, encoding="utf-8")
        (folder / "docker").chmod(0o755)
        self.plan()

    def plan(self, says: str = "#1 done", code: int = 0) -> None:
        text = json.dumps({"says": says, "code": code})
        (self.folder / "plan").write_text(text, encoding="utf-8")

    def asked(self) -> tuple[list[str], dict[str, Any], str]:
        words, file, index = json.loads((self.folder / "asked").read_text(encoding="utf-8"))
        return words, file, index


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
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


def test_the_last_stage_or_another_is_written(docker: FakeDocker, tmp_path: Path) -> None:
    write(tmp_path)
    words, file, _ = docker.asked()
    options = ["--builder", "default", "--progress", "plain", "--file"]
    assert words == ["buildx", "bake", *options]
    target = file["target"]["full"]
    assert target["output"] == ["type=local,dest=/out"]
    assert target["contexts"] == {"artifacts": "/vendor files"}
    assert not {"target", "secret"} & target.keys()
    write(tmp_path, "facts")
    assert docker.asked()[1]["target"]["full"]["target"] == "facts"


def test_certificates_and_index_are_secrets(docker: FakeDocker, tmp_path: Path) -> None:
    address = "https://name:word@index.test/simple"
    write(tmp_path, source=PackageIndex(ca=tmp_path / "ca", index_url=address))
    words, file, index = docker.asked()
    secrets = [f"id=ca,src={tmp_path}/ca", "id=index,env=CANNERY_INDEX_URL"]
    assert file["target"]["full"]["secret"] == secrets
    assert index == address
    assert "index.test" not in json.dumps([words, file])


def test_output_goes_to_the_log_only(
    docker: FakeDocker, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    docker.plan(says="#1 one\n#2 ünö")
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
    "a certificate": (
        "error: invalid peer certificate: UnknownIssuer\nERROR: exit code: 2",
        "UnknownIssuer\nERROR: exit",
        "name your own CA file with --ca.",
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
def test_a_build_that_fails(
    docker: FakeDocker, tmp_path: Path, says: str, what: str, fix: str
) -> None:
    docker.plan(says=says, code=9)
    with pytest.raises(BuildError) as caught:
        write(tmp_path)
    [problem] = caught.value.problems
    assert problem.what.startswith("full: the build failed (9).\n")
    assert what in problem.what
    assert fix in problem.fix
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
    assert package_index(None, "", {"PIP_CERT": "/nonexistent"}) == NOWHERE
    assert package_index(None, "", {}).index_url == ""
