# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cannery.common.errors import EngineError
from cannery.engine.images import LocalImage, local_images

DOCKER = f"""#!{sys.executable}
import sys
from pathlib import Path
Path(__file__).with_name("asked").write_text(" ".join(sys.argv[1:]))
said, code = Path(__file__).with_name("answer").read_text().rsplit("\\n", 1)
print(said)
sys.exit(int(code))
"""


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "docker").write_text(DOCKER, encoding="utf-8")
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path / "answer"


def inspected(digit: str, labels: dict[str, str] | None = None) -> str:
    config = {"Labels": labels}
    return json.dumps({"Id": f"sha256:{digit}", "Architecture": "arm64", "Config": config})


def absent(name: str) -> str:
    return f"Error response from daemon: No such image: {name}"


def test_each_name_gets_its_own_image(answers: Path) -> None:
    lines = [absent("a:1"), inspected("2"), absent("c@sha256:33"), inspected("4", {"k": "v"})]
    answers.write_text("\n".join([*lines, "1"]), encoding="utf-8")
    assert local_images(["a:1", "b:2", "c@sha256:33", "d:4", "b:2"]) == {
        "b:2": LocalImage(id="sha256:2", architecture="arm64", labels={}),
        "d:4": LocalImage(id="sha256:4", architecture="arm64", labels={"k": "v"}),
    }
    asked = answers.with_name("asked").read_text(encoding="utf-8")
    assert asked.endswith(" a:1 b:2 c@sha256:33 d:4")


def test_an_image_without_a_config_has_no_labels(answers: Path) -> None:
    answers.write_text('{"Id": "sha256:1", "Architecture": "amd64", "Config": null}\n0')
    assert local_images(["a"]) == {"a": LocalImage(id="sha256:1", architecture="amd64", labels={})}


def test_nothing_is_asked_about_nothing(answers: Path) -> None:
    assert local_images([]) == {}
    assert not answers.with_name("asked").exists()


@pytest.mark.parametrize(
    "said",
    [
        "invalid reference format",
        inspected("1") + "\nError response from daemon: broken pipe",
    ],
)
def test_an_engine_that_does_not_say(answers: Path, said: str) -> None:
    answers.write_text(f"{said}\n{said}\n1", encoding="utf-8")
    last = said.splitlines()[-1]
    with pytest.raises(EngineError) as caught:
        local_images(["a:1", "b:2"])
    assert str(caught.value).startswith(f"the container engine does not answer: {last}")
    assert str(caught.value).count(last) == 1
    assert "Start it" in str(caught.value)


def test_an_engine_that_is_not_there(answers: Path) -> None:
    said = "Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?"
    answers.write_text(f"{said}\n{said}\n1", encoding="utf-8")
    with pytest.raises(EngineError, match="the container engine is not running: "):
        local_images(["a:1", "b:2"])
