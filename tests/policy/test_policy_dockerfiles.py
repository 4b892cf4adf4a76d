# SPDX-License-Identifier: Apache-2.0
"""The stages, layers, environment and labels of every Dockerfile that is committed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from string import Template

from cannery.common.model import Target
from cannery.image.environment import environment_of
from cannery.image.plan import SIMULATED_ARGUMENT, SIMULATED_ENVIRONMENT, simulated_labels
from cannery.matrix.project import Project
from tests.policy.dockerfile import CHOSEN, Dockerfile, assignments
from tests.unit.described import described_folder


def test_every_stage_is_used(dockerfile: Dockerfile) -> None:
    froms = [each for each in dockerfile if each.word == "FROM"]
    used = {each.rest.split()[-3] for each in froms}
    assert CHOSEN in used
    used |= {"image", "simulated-image"}
    used |= set(re.findall(r"\bfrom=([^\s,]+)", "\n".join(map(str, dockerfile))))
    assert {each.stage for each in froms} - used == {froms[-1].stage}
    assert len({each.stage for each in froms}) == len(froms)


def test_the_image_is_its_base_and_a_layer_a_component(dockerfile: Dockerfile) -> None:
    """So that a layer depends on no other, and nothing that an image is made of is emulated."""
    base, image = ([e for e in dockerfile if e.stage == stage] for stage in ("base", "image"))
    # The image starts a shell of root, whatever its base starts.
    started = [f"{each.word} {each.rest}" for each in (*base[1:], image[-1])]
    assert started == ["USER 0:0", "WORKDIR /", "ENTRYPOINT []", 'CMD ["/bin/bash"]']
    assert image[0].rest == "base AS image"
    assert not [each for each in image if each.word in ("RUN", "ADD")]
    copies = [each.rest for each in image if each.word == "COPY"]
    assert all(re.fullmatch(r"--link --from=[\w-]+ /layer/ /", each) for each in copies)
    assert copies[0] == "--link --from=os /layer/ /"
    assert copies[-1] == "--link --from=guard /layer/ /"


def test_only_builds_from_sources_run_on_the_machine_of_the_target(dockerfile: Dockerfile) -> None:
    """And dnf, and installers where a release asks for that, which no committed one does."""
    parents = {e.stage: e.rest.split()[-3] for e in dockerfile if e.word == "FROM"}
    building = {each.stage for each in dockerfile if "--platform=$BUILDPLATFORM" in each.rest}
    for each in dockerfile:
        stage = each.stage
        while stage in parents and stage not in building:
            stage = parents[stage]
        if each.stage.endswith("-installed") and stage not in building:
            assert "bash /tmp/install-rpms " in each.rest or each.word != "RUN", each
        elif each.word == "RUN" and stage not in building:
            assert each.stage.startswith("built-"), each
            assert each.rest.startswith("--network=none "), each


def test_every_layer_is_sealed(dockerfile: Dockerfile) -> None:
    copied = {e.rest.split()[1] for e in dockerfile if e.word == "COPY" and e.stage == "image"}
    for stage in (each.removeprefix("--from=") for each in copied):
        last = [each for each in dockerfile if each.stage == stage][-1]
        assert last.word == "RUN", stage
        # These programs end with it.
        programs = "seal-layer|install-cann|install-guard|install-wheels"
        assert re.match(rf"({programs})( |$)", last.steps[-1]), stage


def test_cann_packages_are_installed_in_the_required_order(
    target: Target, dockerfile: Dockerfile
) -> None:
    order = ["toolkit", "kernels", *(["nnal"] if target.with_nnal else [])]
    installs = [each for each in dockerfile if " install-cann " in each.rest and each.word == "RUN"]
    stages = [f"layer-{name}" for name in order]
    assert [each.stage for each in installs] == stages
    parents = {e.stage: e.rest.split()[-3] for e in dockerfile if e.word == "FROM"}
    assert [parents[stage] for stage in stages] == ["installer", *stages[:-1]]
    for name, each in zip(order, installs, strict=True):
        file = target.artifacts[name].name
        assert f'install-cann {name} /tmp/{file} "${{{name.upper()}_SHA256}}" ' in each.rest
        [facts] = [mount["source"] for mount in each.mounts if mount.get("from") == "files"]
        assert facts == f"/files/cann/{name}.json"
        [before] = [mount["from"] for mount in each.mounts if mount["target"] == "/before"]
        assert before == parents[each.stage]


def environment(dockerfile: Dockerfile) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in dockerfile:
        if each.word == "ENV" and each.stage == "image":
            for name, value in assignments(each.rest).items():
                found[name] = Template(value).substitute(found)
    return found


def test_no_path_is_empty_or_for_the_compiler_only(dockerfile: Dockerfile) -> None:
    env = environment(dockerfile)
    for name in ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH"):
        parts = env[name].split(":")
        assert all(part.startswith("/") and "$" not in part for part in parts), env[name]
        assert len(set(parts)) == len(parts)
    assert "devlib" not in str(env)
    assert {"ASCEND_HOME_PATH", "ASCEND_OPP_PATH", "PIP_CONSTRAINT", "UV_CONSTRAINT"} <= env.keys()


def test_the_environment_is_the_one_on_record(
    target: Target, dockerfile: Dockerfile, folder: Path
) -> None:
    ours = {"PIP_CONSTRAINT", "UV_CONSTRAINT"}
    env = {name: value for name, value in environment(dockerfile).items() if name not in ours}
    application = target.application.environment if target.application else {}
    assert not environment_of(target).cann.keys() & application.keys()
    record = {**environment_of(target).cann}
    assert env == {**record, **application}
    assert json.loads(described_folder(folder)["target.json"])["environment"] == record


def test_labels_describe_the_contents(target: Target, dockerfile: Dockerfile) -> None:
    [label, simulated] = [assignments(each.rest) for each in dockerfile if each.word == "LABEL"]
    assert simulated == simulated_labels(target)
    for component, version in target.components.items():
        assert label[f"io.cannery.{component.replace('_', '-')}"] == version
    assert label["io.cannery.target"] == target.id
    assert label["org.opencontainers.image.title"] == target.id
    assert label["org.opencontainers.image.base.name"] == "${BASE_IMAGE}"
    interim = {"io.cannery.cann-edition", "io.cannery.cann-nearest-public"}
    if target.cann.interim:
        assert label["io.cannery.cann-edition"] == "interim"
        assert label["io.cannery.cann-nearest-public"] == target.cann.nearest_public != ""
    else:
        assert not interim & label.keys()


def test_simulated_packages_need_the_argument_and_the_image_says_so(
    target: Target, dockerfile: Dockerfile
) -> None:
    asking = {each.stage for each in dockerfile if each.word == "RUN" and "$SIMULATED" in each.rest}
    named = {re.sub("^(layer|wheels-vendor)-", "", stage) for stage in asking}
    assert named == {*(target.artifacts.keys() - target.real_artifacts.keys()), "guard"}
    arguments = [each for each in dockerfile if each.word == "ARG"]
    declaring = {each.stage for each in arguments if SIMULATED_ARGUMENT in each.rest.split()}
    assert asking == declaring
    marked = [each for each in dockerfile if each.stage == "simulated-image"]
    assert [each.word for each in marked] == ["FROM", "ENV", "LABEL"]
    assert assignments(marked[1].rest) == SIMULATED_ENVIRONMENT
    assert [each for each in dockerfile if each.stage == "result"] == dockerfile[-1:]
    assert dockerfile[-1].rest.split()[0] == CHOSEN


def test_a_failed_command_in_a_pipe_fails_the_build(dockerfile: Dockerfile) -> None:
    words = [each for each in dockerfile if each.stage == "build"]
    assert str(words[1]) == 'SHELL ["/bin/bash", "-euo", "pipefail", "-c"]'


def test_the_head_and_the_docs_name_the_inputs_of_a_plain_build(
    folder: Path, project: Project
) -> None:
    head, body = (folder / "Dockerfile").read_text(encoding="utf-8").split("\nARG ", 1)
    docs = (project.root / "docs" / "build.md").read_text(encoding="utf-8")
    secrets = set(re.findall(r"type=secret,(id=\w+)", body))
    contexts = set(re.findall(r"^FROM scratch AS (\w+)", body, re.MULTILINE))
    images = set(re.findall(r"^FROM .*\$\{(\w+_IMAGE)\}", body, re.MULTILINE))
    assert secrets and contexts and images
    assert [word for word in {*secrets, *images, "SIMULATED=true"} if word not in docs] == []
    assert [name for name in contexts if f"--build-context {name}=" not in head] == []


def test_the_main_dockerfile_can_be_read(project: Project) -> None:
    text = (project.images / "py39-torch231-cann8t39" / "Dockerfile").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 200
