# SPDX-License-Identifier: Apache-2.0
"""What a push refuses, by which name it is allowed, and that all of it is said at once."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cannery.common.errors import EngineError, PublishError
from cannery.deploy.run_spec import npu_device
from cannery.publish import cosign, push_checks
from cannery.publish.push_checks import Candidate, PushOptions, candidates
from cannery.registry.client import LocatedImage
from cannery.verify import devices
from tests.unit.world import BOTH, OTHER_FILE, World, make_world


def git(world: World, *words: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    root = world.checkout.project.root
    subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True)


INDEX = LocatedImage(reference="", digest="", platforms={"linux/arm64": "sha256:1"})


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Both targets are built, checked and committed."""
    result = make_world(tmp_path, monkeypatch)
    result.run()
    # No test asks a server beyond this machine.
    monkeypatch.setattr(push_checks, "locate", lambda *_: INDEX)
    (result.checkout.project.root / ".gitignore").write_text("/.cannery/\n", encoding="utf-8")
    git(result, "init", "--quiet")
    git(result, "add", "--all")
    git(result, "commit", "--quiet", "--message", "all")
    return result


def ask(world: World, names: list[str] | None = None, *allow: str, **more: Any) -> list[Candidate]:
    push_options = PushOptions(
        simulate=more.pop("simulate", False),
        allow=allow,
        artifacts=world.artifacts,
        **more,
    )
    return candidates(world.checkout.project, world.selection(names or ["full"]), push_options)


def refused(world: World, names: list[str] | None = None, *allow: str, **more: Any) -> list[str]:
    with pytest.raises(PublishError) as caught:
        ask(world, names, *allow, **more)
    assert caught.value.exit_code == 10
    return [str(problem) for problem in caught.value.problems]


def test_a_built_checked_and_committed_image_may_be_pushed(world: World) -> None:
    full, bare = ask(world, BOTH)
    assert (full.target.id, full.name, full.simulated) == ("full", "cannery:full", False)
    assert full.key.startswith("sha256:")
    assert "toolkit" in full.hashes
    assert json.loads(full.report)["image_id"] == full.image
    assert bare.target.id == "bare"


def test_an_unbuilt_image_is_refused(world: World) -> None:
    [message] = refused(world, simulate=True)
    assert "full: this machine has no image cannery:full-sim." in message
    assert "python build.py --target full --simulate" in message


def test_an_unchecked_image(world: World) -> None:
    world.run(["full"], force=True, test=False)
    [message] = refused(world)
    assert "full: the current checks have not all passed on it (device: none)" in message
    [result] = ask(world, ["full"], "unverified")
    assert result.report == ""


def test_an_image_checked_with_other_checks(world: World) -> None:
    folder = world.checkout.project.root / "tests" / "image" / "os"
    folder.mkdir(parents=True)
    (folder / "test_os.py").write_text("def test_more(): ...\n", encoding="utf-8")
    assert "--allow unverified" in refused(world)[0]


def test_a_simulated_image_is_pushed_only_with_simulate(world: World) -> None:
    world.store["cannery:full-sim"] = world.store["cannery:full"]
    del world.store["cannery:full"]
    [message] = refused(world, ["full"], "simulated")
    assert message == (
        "full: this machine has no image cannery:full. To push the simulated one, "
        "cannery:full-sim, add --simulate and --allow simulated."
    )


def test_a_simulated_image(world: World) -> None:
    image, labels = world.store["cannery:full"]
    world.store["cannery:full-sim"] = (image, labels)
    message = refused(world, ["full"], "unverified", "differs", simulate=True)
    assert [each for each in message if "is simulated" in each and "--allow simulated" in each]
    assert ask(world, ["full"], "unverified", "differs", "simulated", simulate=True)[0].simulated


def test_a_simulated_image_whose_label_says_otherwise(world: World) -> None:
    image, labels = world.store["cannery:full"]
    assert labels["io.cannery.simulated"] == "false"
    world.markers[image] = ("/usr/local/Ascend/simulated",)
    assert [each for each in refused(world) if "is simulated" in each]
    [result] = ask(world, ["full"], "simulated", "unverified")
    assert result.simulated


def test_an_uncommitted_file_is_refused(world: World) -> None:
    folder = world.checkout.project.images / "full"
    git(world, "rm", "--quiet", "--cached", "images/full/Dockerfile")
    [message] = refused(world)
    assert "not committed: images/full/Dockerfile" in message
    assert (folder / "Dockerfile").is_file()
    assert ask(world, ["full"], "differs")


def test_an_edited_dockerfile(world: World) -> None:
    path = world.checkout.project.images / "full" / "Dockerfile"
    path.write_text(path.read_text(encoding="utf-8") + "# more\n", encoding="utf-8")
    [message] = refused(world)
    assert "not committed: images/full/Dockerfile" in message
    assert "images/ does not match matrix.yaml" in message


def test_an_image_of_other_files(world: World) -> None:
    name = world.checkout.matrix.targets["full"].artifacts["toolkit"].name
    (world.artifacts / name).write_text(OTHER_FILE, encoding="utf-8")
    [message] = refused(world)
    assert "its content key is sha256:" in message
    (world.artifacts / name).unlink()
    assert "its content key cannot be computed" in refused(world)[0]


def test_without_git_nothing_can_be_compared(world: World) -> None:
    git(world, "update-ref", "-d", "HEAD")
    assert "has no git commit to compare with" in refused(world)[0]


def test_an_image_without_a_content_key_is_refused(world: World) -> None:
    image, labels = world.store["cannery:full"]
    world.store["cannery:full"] = (image, {k: v for k, v in labels.items() if "key" not in k})
    allowed = ("unverified", "simulated", "differs")
    [message] = refused(world, ["full"], *allowed)
    assert "has no content key" in message


def test_all_problems_at_once(world: World) -> None:
    world.run(["full"], force=True, test=False)
    del world.store["cannery:bare"]
    git(world, "rm", "--quiet", "--cached", "images/full/Dockerfile")
    message = refused(world, BOTH)
    assert [each.partition(":")[0] for each in message] == ["full", "full", "bare"]


def test_a_release_asks_for_more(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cosign, "find_cosign", lambda: None)
    (world.checkout.project.root / "notes.txt").write_text("new\n", encoding="utf-8")
    message = "\n".join(refused(world, release=True))
    assert "a release needs a clean checkout, and these files differ: notes.txt" in message
    assert "a release needs a key to sign it with" in message
    assert "cosign, which signs images, is not installed" in message
    assert "(device: npu)" in message


def test_a_release_needs_bases_with_a_digest(world: World) -> None:
    targets = {
        name: replace(target, base=replace(target.base, image="debian:11"))
        for name, target in world.checkout.matrix.targets.items()
    }
    changed = replace(world.checkout.matrix, targets=targets)
    world.checkout = replace(world.checkout, matrix=changed)
    message = "\n".join(refused(world, BOTH, release=True))
    assert "base debian-11 (debian:11) of full, bare has no digest" in message
    assert "debian-12" not in message


def test_a_release_needs_an_answer_from_git(world: World) -> None:
    """A checkout that git cannot compare with its commit is not a clean one."""
    (world.checkout.project.root / ".git" / "index").write_text("not an index", encoding="utf-8")
    allowed = ("unverified", "differs")
    with pytest.raises(EngineError, match=r"git status failed .*index") as caught:
        ask(world, ["full"], *allowed, release=True, signing_key="awskms:///alias/release")
    assert caught.value.exit_code == 6


def relabelled(world: World, **origins: str) -> None:
    """Let the image say that its bases have these ``origins``, by build argument."""
    image, labels = world.store["cannery:full"]
    bases = json.loads(labels["io.cannery.bases"])
    bases |= {name: [origin, "sha256:1"] for name, origin in origins.items()}
    world.store["cannery:full"] = (image, {**labels, "io.cannery.bases": json.dumps(bases)})


@pytest.mark.parametrize(
    ("origin", "kind"), [("stand-in", "a stand-in"), ("local", "a local image")]
)
def test_a_release_has_no_stand_in_below_it(world: World, origin: str, kind: str) -> None:
    relabelled(world, BASE_IMAGE=origin)
    message = "\n".join(refused(world, release=True))
    assert f"full: cannery:full was built with {kind} for base debian-11 (BASE_IMAGE)." in message
    relabelled(world, BASE_IMAGE="registry", BUILD_IMAGE=origin)
    message = "\n".join(refused(world, release=True))
    assert (
        f"was built with {kind} for base debian-12 (BUILD_IMAGE). Build it again where" in message
    )
    # What is no release may be on one.
    assert ask(world)
    relabelled(world, BASE_IMAGE="registry", BUILD_IMAGE="registry")
    assert "was built with" not in "\n".join(refused(world, release=True))


def test_an_image_without_the_label_of_its_bases(world: World) -> None:
    image, labels = world.store["cannery:full"]
    own = {name: value for name, value in labels.items() if name != "io.cannery.bases"}
    world.store["cannery:full"] = (image, own)
    [message] = refused(world)
    assert "cannery:full does not say which images its bases are." in message
    assert "python build.py --target full --force" in message


def test_a_release_needs_bases_with_the_digest_of_an_index(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []

    def locate(references: tuple[str, ...], platforms: list[str], _: Path | None) -> LocatedImage:
        asked.append((*references, *platforms))
        if "bullseye" in references[-1] or ":11" in references[-1]:
            return replace(INDEX, platforms={})
        raise EngineError("nobody answers")

    monkeypatch.setattr(push_checks, "locate", locate)
    message = "\n".join(refused(world, BOTH, release=True))
    assert "base debian-11 (debian:11@sha256:" in message
    assert "has the digest of an image for one platform. Write the digest of the index" in message
    assert "nobody answers" in message
    assert max(platform for *_, platform in asked) == "linux/arm64"
    assert len(asked) == 2


def test_a_complete_release_is_accepted(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cosign, "find_cosign", lambda: "/usr/bin/cosign")
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "davinci0").touch()
    monkeypatch.setattr(devices, "npu_device", lambda: npu_device(tmp_path))
    report = world.checkout.project.state / "reports" / "cannery_full.json"
    loaded = json.loads(report.read_text(encoding="utf-8"))
    loaded["runs"].append({**loaded["runs"][0], "device": "npu"})
    report.write_text(json.dumps(loaded), encoding="utf-8")
    key = tmp_path / "cosign.key"
    [message] = refused(world, release=True, signing_key=str(key))
    assert "cosign.key' does not exist" in message
    key.write_text("a key", encoding="utf-8")
    assert ask(world, release=True, signing_key=str(key))
    assert ask(world, release=True, signing_key="awskms:///alias/release")
