# SPDX-License-Identifier: Apache-2.0
"""Every test file that git has is collected by a nox session, with pytest's own rules.

All sessions run with programs that only record their arguments. The recorded pytest commands then
collect files, without importing them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from cannery.matrix.project import Project
from cannery.verify.image_checks import listed
from tests.workflows.sessions import SESSIONS

ROOT = Path(__file__).resolve().parents[2]
RECORDED = (
    *("actionlint", "check-jsonschema", "hadolint", "mypy", "nice", "node", "npm", "pip", "pytest"),
    *("python", "ruff", "sh", "shellcheck", "uv", "zizmor"),
)
RECORD = """\
#!/bin/sh
{python} - "$0" "$@" >>{log} <<'END'
import json, os, pathlib, sys
out = sys.argv[sys.argv.index("--out") + 1] if "--out" in sys.argv else ""
if out:  # a session goes on with the wheel that this program would have built
    pathlib.Path(out, "a.whl").touch()
print(json.dumps([os.getcwd(), os.path.basename(sys.argv[1]), *sys.argv[2:]]))
END
"""
COLLECT = """
import pytest, sys

class NotImported(pytest.File):
    def collect(self):
        return []

class Collector:
    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path, parent):
        if not (yield):
            return []
        print("file", file_path, file=sys.__stdout__)
        return [NotImported.from_parent(parent, path=file_path)]

pytest.main(["--collect-only", "-p", "no:cacheprovider", *sys.argv[1:]], plugins=[Collector()])
"""


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, list[str]]]:
    """Folder and words of every pytest command of every session."""
    folder = tmp_path_factory.mktemp("sessions")
    programs, log = folder / "bin", folder / "log"
    programs.mkdir()
    texts = dict.fromkeys(RECORDED, RECORD.format(python=sys.executable, log=log))
    texts["nox"] = f'#!/bin/sh\nexec {sys.executable} -m nox "$@"\n'
    for name, text in texts.items():
        (programs / name).write_text(text, encoding="utf-8")
        (programs / name).chmod(0o755)
    argv = [sys.executable, "-m", "nox", "--sessions", *SESSIONS]
    env = {**os.environ, "PATH": f"{programs}:/usr/bin:/bin", "CANNERY_TORCH_PYTHON": "python"}
    done = subprocess.run(
        argv, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=300
    )
    assert not done.returncode, done.stderr
    lines = map(json.loads, log.read_text(encoding="utf-8").splitlines())
    return [(Path(cwd), words) for cwd, program, *words in lines if program == "pytest"]


def collected(cwd: Path, words: Iterable[str]) -> set[str]:
    """The test files, from the top of the project, that a pytest command collects."""
    argv = [sys.executable, "-c", COLLECT, *sorted(words)]
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False, timeout=300)
    assert "\nfile " in f"\n{done.stdout}", f"{words} in {cwd}: {done.stdout}{done.stderr}"
    lines = [line.partition(" ") for line in done.stdout.splitlines()]
    return {str(Path(path).relative_to(ROOT)) for word, _, path in lines if word == "file"}


def selected(words: list[str]) -> str:
    """The marker that the tests of a command have, "not" and one that they do not have, or ""."""
    return words[words.index("-m") + 1] if "-m" in words else ""


def test_every_test_file_is_collected_by_a_session(commands: list[tuple[Path, list[str]]]) -> None:
    # Commands that leave out the same are collected together.
    together: dict[tuple[Path, str, frozenset[str]], set[str]] = {}
    for cwd, words in commands:
        ignored = frozenset(word for word in words if word.startswith("--ignore="))
        places = {word for word in words if (cwd / word.partition("::")[0]).exists()}
        together.setdefault((cwd, selected(words), ignored), set()).update(places)
    runs: dict[str, set[str]] = {}
    for (cwd, marker, ignored), places in together.items():
        for path in collected(cwd, places | ignored):
            runs.setdefault(path, set()).add(marker)
    whole = {
        path
        for path, markers in runs.items()
        if "" in markers or any(f"not {marker}" in markers for marker in markers)
    }
    argv = ["git", "ls-files", "tests", "packages", "site"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    tests = {
        name
        for name in done.stdout.splitlines()
        if re.fullmatch(r"(packages/[^/]+/|site/)?tests/(.*/)?test_[^/]*\.py", name)
    }
    in_images = {name for name in tests if name.startswith("tests/image/")}
    assert len(tests - in_images) > 300
    assert sorted(tests - in_images - whole) == []
    # These run in containers: a build and 'build.py test' ask for them.
    checks = {f"tests/image/{check.partition('::')[0]}" for check in listed(Project(root=ROOT))}
    assert in_images == checks
