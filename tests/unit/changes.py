# SPDX-License-Identifier: Apache-2.0
"""Changes to make to a project that is under git, and the content keys that it has."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

from cannery.common.files import write_files
from cannery.image.content_key import KeyInputs, context_files
from cannery.image.render import Renderer
from cannery.image.simulator_spec import package_spec
from cannery.matrix.project import Project

SIM = "packages/ascend-sim"
HARMLESS = (
    *("README.md", "CHANGES.md", "LICENSE", "docs/new.md", "bench/timing.py", "noxfile.py"),
    *("tests/unit/test_new.py", "tests/policy/conftest.py", "tests/cli/x.py", "npm/x/y.json"),
    "tests/campaign/edits.py",
    "schemas/matrix.schema.json",
    *("releases/full/full-0123.json", "verified/full.yaml", "publish.yaml", "tests/publish/a b.py"),
    *(".github/workflows/update.yml", ".github/workflows/release.yml", "tests/engine/engines.py"),
    *(f"{SIM}/ascend_sim/command/host.py", f"{SIM}/tools/wheel.py", f"{SIM}/action.yml"),
    *("cannery/cli/cmd_list.py", f"{SIM}/ascend_sim/packages/README.md", "pyproject.toml"),
    *("new.txt", "Matrix.yaml", ".ci/new", "tests/unit.py", "docs.md/x", "sub/matrix.yaml"),
    *("setup.sh", "requirements-dev.txt", "tests/image/README.md", ".gitlab-ci.yml"),
    *("cannery/engine/client.py", "cannery/image/context/ascend-doctor.sha256"),
    *("image/x", ".github/workflows/new.yml", "tests/new/__init__.py", "tests/runs.py"),
)
UNSURE = (
    *("requirements.txt", "build.py", "cannery/cli/cmd_build.py", f"{SIM}/Dockerfile"),
    *("tests/image/os/test_os.py", ".github/workflows/ci.yml"),
)


def git(root: Path, *arguments: str) -> str:
    """Run git as if nobody had ever configured it."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env = {**own, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    argv = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "gc.auto=0"]
    done = subprocess.run(
        [*argv, *arguments], cwd=root, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit(root: Path) -> str:
    """Commit all there is, and return the id."""
    git(root, "add", "--all", ".")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "a change")
    return git(root, "rev-parse", "HEAD")


@dataclass(frozen=True)
class Change:
    """``make`` changes the project in a folder; ``unsure`` says that it may concern any target."""

    name: str
    make: Callable[[Path], None]
    unsure: bool = False

    def __repr__(self) -> str:
        return self.name


def edit(name: str, pattern: str, new: str, *, at: int = 0) -> Callable[[Path], None]:
    """Replaces the ``at``-th of what ``pattern`` finds, counted around, if there is any."""

    def make(root: Path) -> None:
        path = root / name
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        if found := [*re.finditer(pattern, text, re.MULTILINE)]:
            match = found[at % len(found)]
            changed = text[: match.start()] + match.expand(new) + text[match.end() :]
            path.write_text(changed, encoding="utf-8")

    return make


def touch(name: str, content: str) -> Callable[[Path], None]:
    """Writes a file, with what is in its way removed."""

    def make(root: Path) -> None:
        path = root / name
        if path.is_dir():
            return
        if path.parent.is_file():
            path.parent.unlink()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")

    return make


def bump_lock(number: int, version: str) -> Callable[[Path], None]:
    """Moves a package that any target has, in the lock of the ``number``-th one."""

    def make(root: Path) -> None:
        locks = sorted(root.glob("images/*/requirements.lock"))
        name = str(locks[number % len(locks)].relative_to(root))
        edit(name, r"^py-spy==[0-9.]+", f"py-spy=={version}")(root)

    return make


def double_target(number: int) -> Callable[[Path], None]:
    """Adds a target that is as another one, with locks that are the same."""

    def make(root: Path) -> None:
        path = root / "matrix.yaml"
        text = path.read_text(encoding="utf-8")
        head, mark, targets = text.rpartition("\ntargets:\n")
        blocks = re.split(r"(?m)^(?=  [a-z0-9])", targets)
        own = blocks[1 + number % (len(blocks) - 1)]
        name = own.strip().split(":")[0]
        again = f"{name}-again{number}"
        if (root / "images" / again).exists():
            return
        path.write_text(
            head + mark + targets.rstrip("\n") + "\n" + own.replace(name, again, 1).rstrip() + "\n",
            encoding="utf-8",
        )
        for lock in sorted((root / "images" / name).glob("*requirements.lock")):
            touch(f"images/{again}/{lock.name}", lock.read_text(encoding="utf-8"))(root)

    return make


def changes() -> st.SearchStrategy[Change]:
    """What people do to a project, one thing at a time."""
    number = st.integers(0, 9)
    hexadecimal = st.integers(0, 2**64).map(lambda n: f"{n:064x}")

    def change(name: str, *arguments: object) -> Change:
        return Change(f"{name} {arguments}", MAKERS[name](*arguments))

    return st.one_of(
        st.builds(change, st.just("bump a lock"), number, st.sampled_from(["0.4.2", "0.4.3"])),
        st.builds(change, st.just("summary"), number, st.sampled_from(["one", "another one"])),
        st.builds(change, st.just("template"), st.sampled_from(sorted(LINES)), number),
        st.builds(change, st.just("double"), st.integers(0, 3)),
        st.builds(change, st.just("remove"), number),
        st.builds(change, st.just("comment"), number),
        st.builds(change, st.just("vendor file"), number),
        st.builds(change, st.just("vendor hash"), hexadecimal, number),
        st.builds(change, st.just("base"), hexadecimal, number),
        st.builds(change, st.just("suite"), st.sampled_from(["forky", "duke"]), number),
        st.builds(change, st.just("file"), st.sampled_from(HARMLESS), number),
        st.sampled_from(UNSURE).map(
            lambda name: Change(f"unsure {name}", touch(name, "x"), unsure=True)
        ),
    )


LINES = {
    "Dockerfile.j2": r"^CMD .*$",
    "macros.j2": r"^RUN .*$",
    "install-wheels": r"\Z",
    "compose.yaml.j2": r"\Z",
    "seal-layer": r"\Z",
    "nnal": r"\Z",
}
"""Where a comment goes into a template, at the end of a line or of the file."""


def template(name: str, number: int) -> Callable[[Path], None]:
    """Adds a comment to a template; ``nnal`` is what only targets with NNAL have of one."""
    if name == "nnal":
        old = r"(\{\{ macros\.cann_layer\(target, layer\) \}\})"
        new = rf'\1{{% if layer.artifact == "nnal" %}}\n# {number}{{% endif %}}'
        return edit("cannery/image/templates/Dockerfile.j2", old, new)
    folder = "templates" if name.endswith(".j2") else "context"
    return edit(f"cannery/image/{folder}/{name}", f"({LINES[name]})", rf"\1\n# {number}\n")


def remove_target(number: int) -> Callable[[Path], None]:
    """Takes a target out of the matrix, and its folder away, unless it is the last one."""

    def make(root: Path) -> None:
        path = root / "matrix.yaml"
        head, mark, targets = path.read_text(encoding="utf-8").rpartition("\ntargets:\n")
        blocks = re.split(r"(?m)^(?=  [a-z0-9])", targets)
        if len(blocks) > 2:
            del blocks[1 + number % (len(blocks) - 1)]
            path.write_text(head + mark + "".join(blocks), encoding="utf-8")

    return make


def rename_suite(new: str, number: int) -> Callable[[Path], None]:
    """Gives another name to the suite of a base, there and in what is known of suites."""

    def make(root: Path) -> None:
        suites = re.findall(r"(?m)^    suite: (\w+)$", (root / "matrix.yaml").read_text("utf-8"))
        old = suites[number % len(suites)] if suites else new
        if new not in (old, *suites):
            edit("matrix.yaml", f"^    suite: {old}$", f"    suite: {new}")(root)
            edit("cannery/data/compat.yaml", f"suite: {old},", f"suite: {new},")(root)

    return make


MAKERS: Mapping[str, Callable[..., Callable[[Path], None]]] = {
    "bump a lock": bump_lock,
    "summary": lambda at, text: edit(
        "matrix.yaml", r"^    summary: .*$", f"    summary: {text}", at=at
    ),
    "template": template,
    "double": double_target,
    "remove": remove_target,
    "comment": lambda n: edit("matrix.yaml", r"\A", f"# {n}\n"),
    "vendor file": lambda n: edit(
        "matrix.yaml", r"""(file: "?)([^\s"]+\.run)""", rf"\g<1>v{n}-\2", at=n
    ),
    "vendor hash": lambda new, n: edit("matrix.yaml", r"^( +sha256: )\w+", rf"\g<1>{new}", at=n),
    "base": lambda new, n: edit(
        "matrix.yaml", r"(image: debian:.*@sha256:)\w+", rf"\g<1>{new}", at=n
    ),
    "suite": rename_suite,
    "file": lambda name, n: touch(name, f"{n}\n"),
}


def render(project: Project) -> None:
    """Write images/, and remove the folders of targets that are no more."""
    renderer = Renderer(project)
    targets = project.matrix().targets
    for folder in project.images.iterdir():
        if folder.name not in targets:
            for path in sorted(folder.rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()
            folder.rmdir()
    for target in targets.values():
        write_files(renderer.render(target).paths(project))


def keys(project: Project, *, simulate: bool) -> dict[str, str]:
    """Id to content key of each target, from what is rendered and from nothing that git says."""
    renderer = Renderer(project)
    found = {}
    for target in project.matrix().targets.values():
        files = context_files(renderer.render(target).files, renderer.context)
        real = target.real_artifacts if simulate else target.artifacts
        artifacts = {name: file.sha256 or file.name for name, file in real.items()}
        if simulate:
            artifacts["simulator"] = json.dumps(package_spec(target))
        bases = {"BASE": target.base.image, "TOOLS": target.build_base.image}
        found[target.id] = KeyInputs(
            files=files, artifacts=artifacts, bases=bases, simulate=simulate
        ).key
    return found
