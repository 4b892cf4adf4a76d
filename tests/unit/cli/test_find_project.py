# SPDX-License-Identifier: Apache-2.0
"""Which folder a command is about."""

from __future__ import annotations

import json
import os
import re
import subprocess
from contextlib import chdir
from pathlib import Path

import pytest
import yaml

from cannery.cli import main, results
from cannery.cli.find_project import find_project, project_option
from cannery.common import program
from cannery.common.errors import Problem, UsageError


def made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "matrix.yaml").write_text("", encoding="utf-8")
    return folder


def test_it_is_the_working_directory_or_one_above(tmp_path: Path) -> None:
    project = made(tmp_path / "team")
    (project / "images" / "one").mkdir(parents=True)
    for here in (project, project / "images" / "one"):
        with chdir(here):
            assert find_project(None) == project


def test_without_one_the_message_says_how_to_make_it(tmp_path: Path) -> None:
    with chdir(tmp_path), pytest.raises(UsageError) as caught:
        find_project(None)
    assert f"there is no matrix.yaml in {tmp_path} or above it." in str(caught.value)
    assert "cannery init" in str(caught.value)
    with pytest.raises(UsageError, match=f"no matrix.yaml in {tmp_path}"):
        find_project(tmp_path)


def test_of_nested_projects_one_is_chosen_by_option(tmp_path: Path) -> None:
    outer, inner = made(tmp_path / "team"), made(tmp_path / "team" / "part")
    with chdir(inner):
        with pytest.raises(UsageError) as caught:
            find_project(None)
        assert str(caught.value) == (
            f"{inner}/matrix.yaml and {outer}/matrix.yaml are both above {inner}, one project in "
            f"the other. Choose one: --project {inner}; or move it out of the other."
        )
    assert find_project(inner) == inner


def test_the_option_is_taken_from_the_words(tmp_path: Path) -> None:
    other = ["run", "a", "--", "--project", "b"]
    assert project_option(other) == (None, other)
    both = ["list", "--project", str(tmp_path)], [f"--project={tmp_path}", "list"]
    for words in both:
        assert project_option(words) == (tmp_path, ["list"])
    for words in (["list", "--project"], ["--project", "/nonexistent", "list"]):
        with pytest.raises(UsageError, match="there is no folder"):
            project_option(words)
    with pytest.raises(UsageError, match="twice"):
        project_option(["--project=.", "--project=."])


FILES = [".github/workflows/images.yml", ".gitignore", "cannery.toml", "matrix.yaml"]
FILES.append("publish.yaml")


def files(folder: Path) -> list[str]:
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file())


def test_init_writes_a_project_beside_a_readme(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("", encoding="utf-8")
    with chdir(tmp_path):
        assert main(["init", "--repository", "team/ascend"]) == 0
        assert main(["check"]) == 0
    assert files(tmp_path) == [*FILES[:2], "README.md", *FILES[2:]]
    assert "repository: team/ascend\n" in (tmp_path / "publish.yaml").read_text(encoding="utf-8")
    assert (tmp_path / "matrix.yaml").read_text(encoding="utf-8").count("\n") < 15


@pytest.mark.parametrize("ci", ["github", "gitlab", "none"])
def test_init_writes_the_ci_file_of_the_service(tmp_path: Path, ci: str) -> None:
    assert main(["init", "--ci", ci, "--project", str(tmp_path)]) == 0
    services = {".github/workflows/images.yml": "github", ".gitlab-ci.yml": "gitlab"}
    assert [services[name] for name in files(tmp_path) if name in services] == [ci] * (ci != "none")
    for name in files(tmp_path):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert not re.search("@[A-Z]+@", text)


@pytest.mark.parametrize("executor", ["shell", "docker", "kubernetes"])
def test_init_writes_a_pipeline_for_the_executor(tmp_path: Path, executor: str) -> None:
    words = ("--ci", "gitlab", "--executor", executor)
    assert main(["init", *words, "--project", str(tmp_path)]) == 0
    path = tmp_path / ".gitlab-ci.yml"
    argv = ["check-jsonschema", "--builtin-schema", "vendor.gitlab-ci", str(path)]
    subprocess.run(argv, check=True, capture_output=True)
    plan = yaml.safe_load(path.read_text(encoding="utf-8"))["plan"]
    assert f"--executor {executor} " in plan["script"][-1]
    assert ("image" in plan) is (executor != "shell")


def test_init_leaves_a_folder_with_files_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text("", encoding="utf-8")
    with chdir(tmp_path):
        assert main(["init"]) == 2
    assert f"{tmp_path} is not empty: train.py." in capsys.readouterr().err
    assert files(tmp_path) == ["train.py"]


def test_init_makes_no_project_in_a_project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made(tmp_path)
    (tmp_path / "below").mkdir()
    with chdir(tmp_path / "below"):
        assert main(["init"]) == 2
    assert f"is in a project already: {tmp_path}/matrix.yaml" in capsys.readouterr().err
    assert files(tmp_path) == ["matrix.yaml"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_init_in_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    with chdir(tmp_path):
        assert main(["init"]) == 9
    assert files(tmp_path) == []


def test_errors_as_json_name_the_program_that_was_started(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "_called", program.COMMAND)
    results.begin()
    results.show_errors([Problem(what="no lock.", fix="Run 'build.py lock'.")], 3)
    [error] = json.loads(capsys.readouterr().out)["errors"]
    assert error["fix"] == "Run 'cannery lock'."
