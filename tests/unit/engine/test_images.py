# SPDX-License-Identifier: Apache-2.0
"""Local images, and pulls that fail."""

from __future__ import annotations

import io
import json
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cannery.common.errors import EngineError
from cannery.engine import images
from cannery.engine.builder import Builder
from cannery.engine.images import ImageFiles, LocalImage, Refusal, export_layout, local_images, pull

BASE = "registry.test/debian@sha256:" + "ab" * 32
REPEATED = (
    "failed to solve",
    "failed to build: failed to solve",
    "failed to run Build function",
)
"""The words with which versions of buildx, and busy engines, repeat the error of a step."""

DOCKER = f"""#!{sys.executable}
import sys
from pathlib import Path
here, words = Path(__file__).parent, sys.argv[1:]
shown = words[:2] + (words[words.index("--force") :] if "--force" in words else [])
with (here / "asked").open("a") as asked:
    print(*shown, file=asked)
if words[1] == "prune":
    (here / "damaged").unlink(missing_ok=True)
    sys.exit(0)
if (here / "damaged").exists() or (here / "lies").exists():
    print('ERROR: failed to solve: {BASE}: failed commit on ref "manifest-x": unexpected commit'
          " digest sha256:1, expected sha256:2: failed precondition")
    sys.exit(1)
for words in {REPEATED}:
    if (here / words).exists():
        print(f"ERROR: {{words}}: {BASE}: not found")
        sys.exit(1)
if (here / "broken").exists():
    print("#4 sha256:1 2MB / 3MB")
    print("ERROR: failed to solve:", (here / "broken").read_text())
    sys.exit(1)
"""
BROKEN = (
    "snapshotter not loaded: overlayfs: invalid argument",
    "failed to copy: write /var/lib/docker/x: no space left on device",
    "rpc error: code = Unavailable desc = error reading from server: EOF",
)
"""What BuildKit says of an engine that has failed."""

BUILD, COLLECT = "buildx build", "buildx prune --force --filter id=^none$"


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "docker").write_text(DOCKER, encoding="utf-8")
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("state", "asked", "why"),
    [
        ("", [BUILD], ""),
        ("damaged", [BUILD, COLLECT, BUILD], ""),
        ("lies", [BUILD, COLLECT, BUILD], "unexpected commit digest"),
        *((words, [BUILD], "not found") for words in REPEATED),
    ],
)
def test_damaged_content_is_pruned_and_pulled_again(
    docker: Path, state: str, asked: list[str], why: str
) -> None:
    if state:
        (docker / state).touch()
    refusal = pull(Builder(name="default", local=True), BASE, "arm64")
    assert (docker / "asked").read_text(encoding="utf-8").splitlines() == asked
    assert why in refusal.why if refusal else not why


@pytest.mark.parametrize(
    ("why", "fix"),
    [
        ("not found", "Check the reference in matrix.yaml, and the mirrors in cannery.toml."),
        ("401 Unauthorized", "Log in with an account that may: docker login r.test"),
        ("429 Too Many Requests", "Wait, log in (docker login r.test), or name a mirror"),
        ("unexpected commit digest", "Its answer is not this image: ask who runs the registry."),
        ("no match for platform in manifest", "Name an image that is for this platform, too."),
        ("x509: unknown authority", "put the CA into /etc/docker/certs.d/r.test."),
        ("EOF", "Check that the builder can reach r.test."),
    ],
)
def test_a_registry_refusal_names_a_fix(why: str, fix: str) -> None:
    refusal = Refusal(reference="r.test/debian:12", platform="linux/arm64", why=why, silent=False)
    said = f"r.test does not give r.test/debian:12 for linux/arm64: {why}."
    assert refusal.problem.what == said
    assert fix in refusal.problem.fix


@pytest.mark.parametrize("words", BROKEN)
def test_a_registry_is_not_blamed_for_a_failed_engine(docker: Path, words: str) -> None:
    (docker / "broken").write_text(words, encoding="utf-8")
    builder = Builder(name="default", local=True)
    with pytest.raises(EngineError, match=r" cannot be exported:\nERROR: failed to solve"):
        export_layout(builder, BASE, "arm64", docker / "layout")
    with pytest.raises(EngineError, match="the builder default reports") as raised:
        pull(builder, BASE, "arm64")
    (problem,) = raised.value.problems
    assert words in problem.what
    assert "2MB" not in problem.what, "the progress of the pull is not the reason"
    assert "docker buildx ls" in problem.fix


INSPECT = f"""#!{sys.executable}
import sys
from pathlib import Path
Path(__file__).with_name("asked").write_text(" ".join(sys.argv[1:]))
said, code = Path(__file__).with_name("answer").read_text().rsplit("\\n", 1)
print(said)
sys.exit(int(code))
"""


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "docker").write_text(INSPECT, encoding="utf-8")
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path / "answer"


def inspected(digit: str, labels: dict[str, str] | None = None) -> str:
    config = {"Labels": labels}
    return json.dumps({"Id": f"sha256:{digit}", "Architecture": "arm64", "Config": config})


def absent(name: str) -> str:
    return f"Error response from daemon: No such image: {name}"


def test_each_name_gets_its_own_image(answers: Path) -> None:
    pinned = f"c@sha256:{'3' * 64}"
    lines = [absent("a:1"), inspected("2"), absent(pinned), inspected("4", {"k": "v"})]
    answers.write_text("\n".join([*lines, "1"]), encoding="utf-8")
    assert local_images(["a:1", "b:2", pinned, "d:4", "b:2", "HEAD~1"]) == {
        "b:2": LocalImage(id="sha256:2", architecture="arm64", labels={}),
        "d:4": LocalImage(id="sha256:4", architecture="arm64", labels={"k": "v"}),
    }
    asked = answers.with_name("asked").read_text(encoding="utf-8")
    assert asked.endswith(f" a:1 b:2 {pinned} d:4")


@pytest.mark.parametrize(
    "said",
    [
        "permission denied by a plugin",
        inspected("1") + "\nError response from daemon: broken pipe",
    ],
)
def test_an_engine_failure_is_reported_once(answers: Path, said: str) -> None:
    answers.write_text(f"{said}\n{said}\n1", encoding="utf-8")
    last = said.splitlines()[-1]
    with pytest.raises(EngineError) as caught:
        local_images(["a:1", "b:2"])
    assert str(caught.value).startswith(f"the container engine reports: {last}")
    assert str(caught.value).count(last) == 1
    assert "Start it" not in str(caught.value)


class Zeros(Iterator[bytes]):
    """The archive of a file with ``size`` bytes; ``open`` counts those that nobody has closed."""

    open = 0

    def __init__(self, size: int) -> None:
        member = tarfile.TarInfo("passwd")
        member.size = size
        self.pieces = [member.tobuf(tarfile.GNU_FORMAT)]
        Zeros.open += 1

    def __next__(self) -> bytes:
        return self.pieces.pop() if self.pieces else bytes(1 << 20)

    def __del__(self) -> None:
        Zeros.open -= 1


class Giant:
    """A container in which every file has a TB."""

    def get_archive(self, _: str) -> tuple[Iterator[bytes], dict[str, object]]:
        return Zeros(1 << 40), {"size": 1 << 40, "linkTarget": ""}


def test_a_giant_file_of_an_image_is_neither_read_nor_passed_over() -> None:
    """As a sparse file, which has no bytes in the image and all of them in an archive."""
    files = ImageFiles(Giant())  # type: ignore[arg-type]
    with pytest.raises(EngineError, match=r"/etc/passwd.* has 1,099,511,627,776 bytes"):
        files.text("/etc/passwd")
    with pytest.raises(EngineError, match="no image needs more than 17,179,869,184"):
        [*files.files("/etc/.", lambda _: False)]
    with pytest.raises(EngineError, match=r"/lib/libatb\.so in the image"):
        files.contains("/lib/libatb.so", b"mark")
    assert files.exists("/etc/passwd")
    assert Zeros.open == 0, "an open archive keeps the next one from being read"


class Folder:
    """A container in which every path is a folder with three files of 1,000 bytes."""

    def get_archive(self, _: str) -> tuple[Iterator[bytes], dict[str, object]]:
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w") as archive:
            folder = tarfile.TarInfo("status")
            folder.type = tarfile.DIRTYPE
            archive.addfile(folder)
            for name in "abc":
                member = tarfile.TarInfo(f"status/{name}")
                member.size = 1000
                archive.addfile(member, io.BytesIO(bytes(1000)))
        stream.seek(0)
        return iter(lambda: stream.read(512), b""), {"size": 4096, "linkTarget": ""}


FOLDER = ImageFiles(Folder())  # type: ignore[arg-type]


def test_a_folder_in_place_of_a_file_of_an_image_is_refused() -> None:
    with pytest.raises(EngineError, match="/var/lib/dpkg/status in the image is not a file"):
        FOLDER.text("/var/lib/dpkg/status")


def test_what_is_read_of_the_files_of_a_folder_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "_MOST_READ", 2500)
    assert len([*FOLDER.files("/d/.", lambda name: not name.endswith("c"))]) == 2
    with pytest.raises(EngineError, match=r"/d/\. \(status/c\) .* 3,000 bytes"):
        [*FOLDER.files("/d/.", lambda _: True)]


def test_what_is_passed_over_in_a_folder_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not FOLDER.contains("/d", b"mark")
    monkeypatch.setattr(images, "_MOST_PASSED", 2500)
    with pytest.raises(EngineError, match=r"/d/\. \(status/c\) .* 3,000 bytes"):
        [*FOLDER.files("/d/.", lambda _: False)]
    monkeypatch.setattr(images, "_MOST_PASSED", 5000)
    with pytest.raises(EngineError, match=r"/d in the image .* 5,120 bytes"):
        FOLDER.contains("/d", b"mark")
