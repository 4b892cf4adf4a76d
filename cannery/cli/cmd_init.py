# SPDX-License-Identifier: Apache-2.0
"""``build.py init``: the files of a new project, in an empty folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from cannery import __version__
from cannery.building.ci_jobs import EXECUTORS, JOB_IMAGE, PROGRAMS
from cannery.cli.command import Command
from cannery.cli.find_project import projects_above
from cannery.common import console
from cannery.common.errors import Problem, UsageError, some_of
from cannery.common.files import read_text
from cannery.common.option import OptionSet, option
from cannery.matrix.files import MATRIX
from cannery.matrix.project import Project

_TEMPLATES = Path(__file__).with_name("project")
_CI = {
    "github": {"github.yml": ".github/workflows/images.yml"},
    "gitlab": {"gitlab.yml": ".gitlab-ci.yml"},
    "none": {},
}
_FILES = {MATRIX: MATRIX, "cannery.toml": "cannery.toml", "publish.yaml": "publish.yaml"}
_FILES["gitignore"] = ".gitignore"
"""Template to file."""

_MAY_BE_THERE = re.compile(r"\.git|(README|LICENSE|NOTICE|CODEOWNERS)(\.\w+)?", re.IGNORECASE)
"""What a repository has that somebody has just made."""

_NO_NAME = re.compile(r"[^a-z0-9]+")
_SHOWN = 5


def _repository(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9]+([._/-][a-z0-9]+)*", text):
        raise ValueError(f"{text!r} is no repository. Write it as in team/ascend.")
    return text


@dataclass(frozen=True, kw_only=True)
class InitOptions(OptionSet):
    """The parts of a project that are not the same for all."""

    ci: str = option("write a CI file for this service", default="github", choices=(*_CI,))
    executor: str = option(
        "of GitLab's runners; with docker and kubernetes jobs are in containers",
        default=EXECUTORS[0],
        choices=EXECUTORS,
    )
    repository: str = option(
        "the repository of published images, as in REGISTRY/REPOSITORY:TAG",
        default="",
        parse=_repository,
        metavar="NAME",
        default_text="the name of the folder",
    )


COMMAND = Command(
    description="Makes a project in the working directory, which must be empty but for .git, a "
    "README and a licence: a matrix.yaml with one target, cannery.toml, publish.yaml, .gitignore "
    "and a CI file. 'sync' then locks and renders the target.",
    reads="nothing",
    writes="these files",
    example="init --ci gitlab",
    options=InitOptions,
    quick=True,
    without_project=True,
)


def run(options: InitOptions, project: Project) -> None:
    """Write all files, or none.

    Raises:
        UsageError: the folder has other files, or is in a project.
        FileError: it cannot be written.
    """
    root = project.root
    if projects := projects_above(root):
        what = f"{root} is in a project already: {projects[0] / MATRIX}."
        fix = "Add targets there ('cannery new'), or choose a folder outside of it."
        raise UsageError(Problem(what=what, fix=fix))
    if there := [each.name for each in root.iterdir() if not _MAY_BE_THERE.fullmatch(each.name)]:
        what = f"{root} is not empty: {some_of(sorted(there), _SHOWN)}."
        fix = "Make a folder for the project, go there, and run this again."
        raise UsageError(Problem(what=what, fix=fix))
    named = _NO_NAME.sub("-", root.name.lower()).strip("-") or "ascend"
    variable = f"    JOB_IMAGE: {JOB_IMAGE}\n"
    in_container = f"{variable}  image: $JOB_IMAGE\n  before_script:\n    - '{PROGRAMS}'\n"
    values = {
        "VERSION": __version__,
        "REPOSITORY": options.repository or named,
        "EXECUTOR": options.executor,
        "IMAGE": "" if options.executor == EXECUTORS[0] else in_container,
    }
    files = {}
    for template, name in {**_FILES, **_CI[options.ci]}.items():
        text = read_text(_TEMPLATES / template)
        for key, value in values.items():
            text = text.replace(f"@{key}@", value)
        files[root / name] = text
    project.write(files, before=dict.fromkeys(files))
    for path in files:
        console.say(f"wrote {path.relative_to(root)}")
    console.say("now run: python build.py sync, and then: python build.py build --all --simulate")
