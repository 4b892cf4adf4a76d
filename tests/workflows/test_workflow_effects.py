# SPDX-License-Identifier: Apache-2.0
"""The scripts of workflows that run for real, in a copy of the project."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
import yaml

from cannery.cli.commands import load
from cannery.matrix.project import Project
from tests.unit.changes import commit, git
from tests.workflows.api import serving
from tests.workflows.steps import CHILD, MAIN, ROOT, STEPS, VALUES, WORKFLOWS, Machine, Step

LOCK = f"images/{MAIN}/requirements.lock"
SERVICES = {"GH_TOKEN": "x", "BASE": "main"}


def names_in(done_output: str) -> set[str]:
    """The targets of the matrix that a step gave to the next job."""
    assert done_output.startswith("matrix=")
    rows = json.loads(done_output.removeprefix("matrix="))["include"]
    return {name for row in rows for name in row["targets"].split()}


def plan(machine: Machine, step: Step) -> None:
    """The step that compares: nothing, one target, or all are in what it gives."""
    docs = machine.checkout / "docs" / "new.md"
    docs.write_text("x\n", encoding="utf-8")
    commit(machine.checkout)
    done = machine.run(step, {"SINCE": "HEAD^1"})
    assert (done.code, names_in(done.output)) == (0, set()), done.said
    assert "targets: 0 of" in done.summary
    lock = machine.checkout / LOCK
    lock.write_text("# another comment\n" + lock.read_text(encoding="utf-8"), encoding="utf-8")
    render = [str(machine.checkout / ".venv/bin/python"), "build.py", "render"]
    subprocess.run(render, cwd=machine.checkout, check=True, capture_output=True)
    commit(machine.checkout)
    done = machine.run(step, {"SINCE": "HEAD^1"})
    assert names_in(done.output) == {MAIN}, done.said
    assert f"{MAIN}: changed: Dockerfile" in done.summary
    everything = machine.run(step, {"SINCE": ""})
    assert len(names_in(everything.output)) > 5
    none_there = machine.run(step, {"SINCE": "0" * 40})
    assert names_in(none_there.output) == names_in(everything.output)
    (machine.checkout / "matrix.yaml").write_text("[]", encoding="utf-8")
    wrong = machine.run(step, {"SINCE": ""})
    assert (wrong.code, wrong.output) == (3, "")
    assert "matrix.yaml" in wrong.said


def compare(machine: Machine, step: Step) -> None:
    """A push whose run was cancelled is in what the next push selects."""
    checkout = machine.checkout
    selecting = STEPS["ci/plan/Compare content keys"]
    with serving() as api:
        api.ran(git(checkout, "rev-parse", "HEAD"), "success")
        path = checkout / f"images/{MAIN}/Dockerfile"
        path.write_text(path.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
        api.ran(commit(checkout), "cancelled")
        with (checkout / "README.md").open("a", encoding="utf-8") as stream:
            stream.write("changed\n")
        readme = commit(checkout)
        done = machine.run(step, api.of_github)
        assert done.code == 0, done.said
        since = done.output.removeprefix("since=").strip()
        assert names_in(machine.run(selecting, {"SINCE": since}).output) == {MAIN}
        api.ran(readme, "success")
        done = machine.run(step, api.of_github)
        assert done.output == f"since={readme}\n"
        assert names_in(machine.run(selecting, {"SINCE": readme}).output) == set()


def files_are_enough(machine: Machine, step: Step) -> None:
    """The step that looks which targets the vendor's files are enough for."""
    artifacts = machine.folder / "vendor"
    artifacts.mkdir()
    target = Project(root=ROOT).matrix().targets[MAIN]
    for file in target.artifacts.values():
        (artifacts / file.name).touch()
    env = {"ARTIFACTS": str(artifacts), "PATTERN": "py39-*", "REGISTRY": ""}
    done = machine.run(step, env)
    assert (done.code, done.output.split("=")[0]) == (0, "targets"), done.said
    assert MAIN in done.output.split("=")[1].split()
    assert machine.run(step, {**env, "PATTERN": "nothing-*"}).code == 2
    none = machine.run(step, {**env, "ARTIFACTS": str(machine.checkout)})
    if step.name.startswith("npu/"):
        assert (none.code, none.output) == (0, "targets=\n"), none.said
    else:
        assert (none.code, none.output) == (1, ""), none.said
        assert f"no target's files are in {machine.checkout}" in none.said
        [name] = [file.name for file in target.artifacts.values()][:1]
        assert name in none.said


def no_npu(machine: Machine, step: Step) -> None:
    """The step that refuses a machine without an NPU, as this one is."""
    if [*Path("/dev").glob("davinci[0-9]*")]:
        machine.fake("npu-smi")
        assert machine.run(step, {**VALUES, "REGISTRY": ""}).code == 0
    else:
        assert machine.run(step, {**VALUES, "REGISTRY": ""}).code != 0


def install(machine: Machine, step: Step) -> None:
    done = machine.run(step, {"REGISTRY": "", "REMOVE": ""})
    assert (done.code, "setup: ready" in done.said) == (0, True), done.said


def summary(machine: Machine, step: Step) -> None:
    """The step that shows sizes, with an engine that has one of two images."""
    shown = [{"Size": 4123456789, "Id": "sha256:01", "RepoDigests": []}]
    docker = machine.fakes / "docker"
    docker.write_text(
        f"#!/bin/sh\n[ \"$3\" = cannery:{MAIN}-sim ] && echo '{json.dumps(shown)}'\n",
        encoding="utf-8",
    )
    docker.chmod(0o755)
    done = machine.run(step, {"TARGETS": f"{MAIN} other", "CACHE": ""})
    assert done.code == 0, done.said
    assert f"| cannery:{MAIN}-sim | 4.12 GB | sha256:01 |" in done.summary + done.said
    assert "| cannery:other-sim |  | not built |" in done.summary + done.said


RECORD = {
    "registry": "registry.example.com",
    "repository": "ascend",
    "tag": f"{MAIN}-0123",
    "digest": "sha256:02",
    "platforms": {"linux/arm64": {"size": 2_000_000_000}},
}


def published(machine: Machine, step: Step) -> None:
    """The step that shows what was published: the records that are new."""
    record = machine.checkout / "releases" / MAIN / "new.json"
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text(json.dumps(RECORD), encoding="utf-8")
    done = machine.run(step, {**VALUES, "REGISTRY": ""})
    assert done.code == 0, done.said
    image = f"registry.example.com/ascend:{MAIN}-0123 (linux/arm64)"
    assert done.summary.splitlines()[2:] == [f"| {image} | 2.00 GB | sha256:02 |"]


def gather(machine: Machine, step: Step) -> None:
    """The step that gives changes to the job with the token: nothing, or a patch and its text."""
    (machine.folder / "temp" / "body.md").write_text("news\n", encoding="utf-8")
    assert machine.run(step, {}).output == ""
    with (machine.checkout / "matrix.yaml").open("a", encoding="utf-8") as stream:
        stream.write("# changed\n")
    done = machine.run(step, {})
    assert (done.code, done.output) == (0, "made=true\n"), done.said
    folder = machine.checkout / "proposal"
    assert {each.name for each in folder.iterdir()} == {"body.md", "change.patch"}
    assert "+# changed\n" in (folder / "change.patch").read_text(encoding="utf-8")


def scanner(machine: Machine, step: Step) -> None:
    """The step that installs a scanner unpacks an archive of the right hash only."""
    archive = machine.folder / "grype.tar.gz"
    (machine.folder / "grype").write_text("a scanner", encoding="utf-8")
    subprocess.run(["tar", "-czf", archive, "-C", machine.folder, "grype"], check=True)
    place = {"SCANNER": archive.as_uri(), "RUNNER_TEMP": str(machine.folder / "temp")}
    program = machine.folder / "temp" / "scanner" / "grype"
    assert machine.run(step, {**place, "SHA256": "0" * 64}).code != 0
    assert not program.exists()
    done = machine.run(step, {**place, "SHA256": sha256(archive.read_bytes()).hexdigest()})
    assert (done.code, program.read_text(encoding="utf-8")) == (0, "a scanner"), done.said


def gather_records(machine: Machine, step: Step) -> None:
    """The step that adds records gives a patch with them."""
    folder = machine.checkout / "releases"
    folder.mkdir(exist_ok=True)
    (folder / "README.md").write_text("new\n", encoding="utf-8")
    done = machine.run(step, {})
    assert (done.code, done.output) == (0, "made=true\n"), done.said
    patch = (machine.checkout / "proposal" / "change.patch").read_text(encoding="utf-8")
    assert "+++ b/releases/README.md" in patch
    assert (machine.checkout / "proposal" / "body.md").read_text(encoding="utf-8")


def propose(machine: Machine, step: Step) -> None:
    """The step with the token takes from a patch the files that may change, and runs none."""
    checkout, folder = machine.checkout, machine.checkout / "proposal"
    machine.fake("gh")
    values = {**SERVICES, "BRANCH": "proposed/new", "TITLE": "New"}
    nothing = machine.run(step, values)
    assert (nothing.code, nothing.commands) == (0, []), nothing.said
    folder.mkdir()
    for name in ("matrix.yaml", f"images/{MAIN}/Dockerfile", ".ci/propose", "build.py"):
        with (checkout / name).open("a", encoding="utf-8") as stream:
            stream.write("# changed\n")
    (checkout / f"images/{MAIN}/target.json").unlink()
    for name in (".github/workflows/evil.yml", "releases/a.json", "releases/evil.sh"):
        (checkout / name).parent.mkdir(exist_ok=True)
        (checkout / name).write_text("new\n", encoding="utf-8")
    git(checkout, "add", ".")
    patch = git(checkout, "diff", "--cached", "--binary", "--no-renames") + "\n"
    git(checkout, "reset", "--quiet", "--hard")
    (folder / "change.patch").write_text(patch, encoding="utf-8")
    (folder / "body.md").symlink_to("/proc/self/environ")
    assert machine.run(step, values).commands == []
    (folder / "body.md").unlink()
    (folder / "body.md").write_text("news\n", encoding="utf-8")
    done = machine.run(step, values)
    assert done.code == 0, done.said
    changed = git(machine.folder / "server.git", "diff", "--name-only", "main", "proposed/new")
    own = {f"images/{MAIN}/{name}" for name in ("Dockerfile", "target.json")}
    assert {*changed.splitlines()} == {"matrix.yaml", "releases/a.json", *own}
    left = [line.split()[-1] for line in done.said.splitlines() if ": leaves out " in line]
    assert left == [".ci/propose", ".github/workflows/evil.yml", "build.py", "releases/evil.sh"]
    assert ["gh", "pr", "create"] in [words[:3] for words in done.commands]


def render(machine: Machine, step: Step) -> None:
    """The step that writes what comes from the matrix: what is committed is that already."""
    done = machine.run(step, {})
    assert (done.code, git(machine.checkout, "status", "--porcelain")) == (0, ""), done.said


def page(machine: Machine, step: Step) -> None:
    """The step that makes the page, with links to the repository."""
    github = {"GITHUB_SERVER_URL": "https://git.example.com", "GITHUB_REPOSITORY": "Some/One"}
    done = machine.run(step, {**github, "CI_PROJECT_URL": "https://git.example.com/Some/One"})
    assert done.code == 0, done.said
    made = (machine.checkout / "public" / "index.html").read_text(encoding="utf-8")
    assert MAIN in made
    assert 'href="https://git.example.com/Some/One"' in made


def child(machine: Machine, step: Step) -> None:
    """The job that writes a child pipeline."""
    with serving() as api:
        api.ran("0" * 40, "success")
        done = machine.run(step, api.of_gitlab)
    assert done.code == 0, done.said
    text = (machine.checkout / "pipeline.yml").read_text(encoding="utf-8")
    assert len([name for name in yaml.safe_load(text) if name.startswith("build ")]) > 1
    request = {"CI_PIPELINE_SOURCE": "merge_request_event", "GITLAB_CI": "true"}
    again = machine.run(step, {**request, "CI_MERGE_REQUEST_DIFF_BASE_SHA": "HEAD"})
    assert again.code == 0, again.said
    text = (machine.checkout / "pipeline.yml").read_text(encoding="utf-8")
    assert [*yaml.safe_load(text)] == ["stages", "nothing to build"]


def green(machine: Machine, step: Step) -> None:
    """The job that comes last says which commit it is for."""
    done = machine.run(step, {"CI_COMMIT_SHA": "0123"})
    assert (done.code, "0123" in done.said) == (0, True)


def all_is_well(machine: Machine, step: Step) -> None:
    """The step that says whether a pull request may be merged."""
    fine = "success success"
    for checked, planned, built, code in (
        (fine, "success", "success", 0),
        (fine, "success", "skipped", 0),
        (fine, "success", "failure", 1),
        (fine, "success", "cancelled", 1),
        (fine, "failure", "skipped", 1),
        ("success failure", "success", "skipped", 1),
        ("success cancelled", "success", "skipped", 1),
        ("success skipped", "success", "success", 1),
    ):
        values = {"CHECKED": checked, "PLANNED": planned, "BUILT": built}
        assert machine.run(step, values).code == code, values


DONE: dict[str, Callable[[Machine, Step], None]] = {
    "ci/plan/Install requirements": install,
    "ci/plan/Look for the commit to compare with": compare,
    "ci/plan/Compare content keys": plan,
    "ci/build/Sizes and digests": summary,
    "ci/done/Check that no job has failed": all_is_well,
    "npu/npu/Check that there is an NPU": no_npu,
    "npu/npu/Select the targets whose files are here": files_are_enough,
    "release/publish/Check that there is an NPU": no_npu,
    "release/publish/Select the targets whose files are here": files_are_enough,
    "release/publish/Sizes and digests": published,
    "release/table/Gather the proposal": gather_records,
    "release/record/Open a pull request": propose,
    "pages/make/Generate the page": page,
    "update/update/Render": render,
    "update/update/Gather the proposal": gather,
    "update/propose/Open a pull request": propose,
    "update/scan/Install the scanner": scanner,
    "gitlab/plan/script": child,
    "gitlab/green/script": green,
    "gitlab/pages/script": page,
    "child/.build/after_script": summary,
}


@pytest.mark.parametrize("name", DONE)
def test_effects_of_a_script(name: str, machine: Machine) -> None:
    DONE[name](machine, {**STEPS, **CHILD}[name])


def _written(checkout: Path) -> set[str]:
    """Files for the paths that the help of the commands of proposals has after "writes"."""
    scripts = [
        "\n".join(step.get("run", "") for step in job["steps"])
        for content in WORKFLOWS.values()
        for job in content["jobs"].values()
    ]
    gathering = "\n".join(script for script in scripts if ".ci/gather" in script)
    commands = {"push", *re.findall(r"build\.py (\w+)", gathering)}
    assert {"update", "lock", "render", "catalog"} <= commands
    found = {f"images/{MAIN}/build-requirements.lock", "images/a-new-target/Dockerfile"}
    for path in {
        path
        for name in commands
        for path in re.findall(r"[\w./-]*\w(?:/|\.\w+)(?:ID/)?", load(name).writes)
        if path != "build.py"
    }:
        folder = checkout / path.replace("ID", MAIN)
        if path == "releases/":
            found.add(f"releases/{MAIN}/{MAIN}-0123456789ab.json")
        elif path.endswith("/"):
            files = [each for each in folder.rglob("*") if each.is_file()]
            found |= {str(each.relative_to(checkout)) for each in files}
        else:
            found.add(path)
    return found


def test_every_file_that_the_commands_write_is_proposed(machine: Machine) -> None:
    checkout = machine.checkout
    names = _written(checkout)
    assert {"matrix.yaml", "cannery/data/compat.yaml", "docs/targets.md", "README.md"} <= names
    assert {"cannery/data/cann.yaml", "cannery/image/context/requirements.txt"} <= names
    for name in names:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        with (checkout / name).open("a", encoding="utf-8") as stream:
            stream.write("# changed\n")
    (machine.folder / "temp" / "body.md").write_text("news\n", encoding="utf-8")
    machine.fake("gh")
    values = {**SERVICES, "BRANCH": "proposed", "TITLE": "New"}
    done = machine.run(STEPS["update/update/Gather the proposal"], {})
    assert done.code == 0, done.said
    git(checkout, "reset", "--quiet", "--hard")
    done = machine.run(STEPS["update/propose/Open a pull request"], values)
    assert done.code == 0, done.said
    changed = git(machine.folder / "server.git", "diff", "--name-only", "main", "proposed")
    assert {*changed.splitlines()} == names
    assert "leaves out" not in done.said
