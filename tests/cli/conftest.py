# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
from collections.abc import Container, Iterable
from pathlib import Path

import pytest
import yaml

from cannery.common import process
from tests.cli.checkout import CAN_MOUNT, Checkout
from tests.cli.docker_program import Docker, docker_in
from tests.cli.indexes import NOW, PIP, Index
from tests.cli.uv import PIP as PIP_OF_LOCKS
from tests.cli.uv import UNSOLVED, UV
from tests.copies import copy_tree
from tests.unit.changes import commit, git

ROOT = Path(__file__).resolve().parents[2]
READ = [
    *("images", "tests/image", "cannery/data", "cannery/image/templates"),
    "cannery/image/context",
    *("build.py", "matrix.yaml", "publish.yaml", "docs/targets.md"),
]
"""What a run reads of the checkout that it is about, wherever its code is."""

FAMILIES = {"training", "applied", "swift", "current"}
TARGETS = {
    "py39-mindspore271-cann83rc1",
    *("py311-torch231-cann8t39-opencompass039", "py39-torch251-cann81rc1-vllm073"),
    *("py37-torch1110-cann63rc1-llama13b", "py37-mindspore200-cann63rc1"),
    *("py310-torch210-cann80rc1-llamafactory082", "py310-torch271-cann900-mindspeed2600"),
}
"""The part of matrix.yaml that these tests use. What the whole of it costs, bench/ measures."""
LATEST = "py311-torch290-cann910-910b"
STAND_INS = {"uv": ("PYTHONPATH", "UV_*"), "pip": ("PYTHONPATH", "PIP_*")}
"""Which variables programs in the place of these get."""
UNWANTED = {
    ("families", "current", "axes", "torch"): {"torch2100"},
    ("families", "current", "axes", "chip"): {"310p", "910", "950"},
}
"""Of these families the values of axes that are left out."""


def copy(names: Iterable[str], source: Path, root: Path) -> Checkout:
    for name in names:
        copy_tree(source / name, root / name)
    # So that no test asks a server beyond this machine.
    (root / "cannery.toml").write_text('source = ["folder"]\n', encoding="utf-8")
    return Checkout(root=root)


def with_code(made: Checkout) -> Checkout:
    # With what is compiled already, so that no process has to.
    copy_tree(ROOT / "cannery", made.root / "cannery", caches=True)
    (made.root / "packages").symlink_to(ROOT / "packages")
    with (made.root / "cannery" / "common" / "process.py").open("a") as code:
        code.write(f"\n_OF.update({STAND_INS})\n")
    return made


@pytest.fixture(autouse=True)
def _reached_stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs in the place of uv and pip get their settings, which no other program gets."""
    for program, names in STAND_INS.items():
        monkeypatch.setitem(process._OF, program, names)


def some_targets(text: str, kept: Container[str] = FAMILIES | TARGETS) -> str:
    """matrix.yaml ``text`` with the families and targets in ``kept``, and one platform of each."""
    text = text.replace("[linux/arm64, linux/amd64]", "[linux/arm64]")
    lines = text.splitlines(keepends=True)
    for section in ("targets", "families"):
        for key, value in reversed(_below(text, section)):
            if key.value not in kept:
                end = value.end_mark.line + bool(getattr(value, "flow_style", False))
                del lines[key.start_mark.line : end]
    for path, unwanted in UNWANTED.items():
        if path[1] not in kept:
            continue
        for key, value in reversed(_below("".join(lines), *path)):
            if key.value in unwanted:
                del lines[key.start_mark.line : value.end_mark.line + 1]
    return "".join(lines)


def use_some_targets(root: Path, kept: Container[str] = FAMILIES | TARGETS) -> None:
    """Leave only the targets in ``kept`` in matrix.yaml and publish.yaml below ``root``.

    None of them is recommended for training, so that 'latest' is of one by its name.
    """
    matrix = root / "matrix.yaml"
    matrix.write_text(some_targets(matrix.read_text(encoding="utf-8"), kept), encoding="utf-8")
    publish = root / "publish.yaml"
    text = publish.read_text(encoding="utf-8").replace("latest: training", f"latest: {LATEST}")
    before, _, after = text.partition("\nindexes:")
    after = after.partition("\n\n")[2]
    publish.write_text(f"{before}\nindexes: {{}}\n\n{after}", encoding="utf-8")


def _below(text: str, *path: str) -> list[tuple[yaml.ScalarNode, yaml.Node]]:
    """The keys and values of the mapping at ``path``."""
    node = yaml.compose(text, yaml.BaseLoader)
    for name in path:
        assert isinstance(node, yaml.MappingNode)
        node = next(value for key, value in node.value if key.value == name)
    assert isinstance(node, yaml.MappingNode)
    found: list[tuple[yaml.ScalarNode, yaml.Node]] = node.value
    return found


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A copy to read: in sync, whatever is being worked on in the checkout itself."""
    folder = tmp_path_factory.mktemp("original")
    made = copy(READ, ROOT, folder / "checkout")
    use_some_targets(made.root)
    made.run("render").accepted()
    made.run("catalog").accepted()
    return made


@pytest.fixture
def checkout(original: Checkout, tmp_path: Path) -> Checkout:
    """A copy to do anything to; it has no code, so that only ``run`` works on it."""
    return copy([*READ, ".cannery/cache/passed"], original.root, tmp_path / "checkout")


@pytest.fixture
def installed(checkout: Checkout) -> Checkout:
    """A copy to do anything to that has its own code, for what only a process shows."""
    return with_code(checkout)


@pytest.fixture(scope="session")
def program(original: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A copy to read that has its own code, for what only a process shows."""
    return with_code(copy(READ, original.root, tmp_path_factory.mktemp("program") / "checkout"))


@pytest.fixture
def docker(tmp_path: Path) -> Docker:
    return docker_in(tmp_path / "docker")


@pytest.fixture(scope="session")
def mounts(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skips a test where no small disk can be mounted."""
    argv = ["sh", "-c", 'mount -t tmpfs -o size=64k tmpfs "$1"', "sh"]
    folder = str(tmp_path_factory.mktemp("probe"))
    try:
        code = subprocess.run(
            [*CAN_MOUNT, *argv, folder], capture_output=True, check=False
        ).returncode
    except FileNotFoundError:
        code = 127
    if code:
        pytest.skip("this machine lets nobody mount a small disk (unshare --mount)")


@pytest.fixture
def repository(checkout: Checkout) -> Checkout:
    """A checkout in a repository of one commit, with the tag first."""
    git(checkout.root, "init", "--quiet")
    (checkout.root / ".gitignore").write_text(".cannery/\n__pycache__/\n", encoding="utf-8")
    commit(checkout.root)
    git(checkout.root, "tag", "first")
    return checkout


@pytest.fixture
def index(tmp_path: Path) -> Index:
    """Has what is known, and nothing that is newer; a program in pip's place reads it."""
    own = Index(folder=tmp_path / "index")
    own.add("torch-2.9.0-cp311-cp311-manylinux_2_28_aarch64.whl", "deepspeed-0.18.4.tar.gz")
    own.add_torch_npu(NOW)
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "pip.py").write_text(PIP, encoding="utf-8")
    own.env = {"PYTHONPATH": str(tmp_path / "pip"), "PIP_PAGES": str(own.folder / "simple")}
    return own


@pytest.fixture
def note(tmp_path: Path) -> Path:
    return tmp_path / "note"


@pytest.fixture
def uv(tmp_path: Path, note: Path) -> dict[str, str]:
    package = tmp_path / "stand-in" / "uv"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(UV, encoding="utf-8")
    (package.parent / "pip.py").write_text(PIP_OF_LOCKS, encoding="utf-8")
    unset = dict.fromkeys(("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "PIP_CERT", "SSL_CERT_FILE"), "")
    return {"PYTHONPATH": str(package.parent), "UV_NOTE": str(note), "UV_SAYS": UNSOLVED, **unset}
