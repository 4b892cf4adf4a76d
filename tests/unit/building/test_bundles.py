# SPDX-License-Identifier: Apache-2.0
"""Bundles without an engine: the file, what builds take out of it, and how it is made."""

from __future__ import annotations

import errno
import io
import json
import os
import tarfile
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cannery.building import bases, bundle
from cannery.building.bases import bundled_base, keep_bases, layout_contexts, with_equal_modes
from cannery.building.bundle import MANIFEST, Contents, opened_bundle, pack, require_place
from cannery.building.plan import Action, Plan
from cannery.building.planning import Selection
from cannery.common.bases import Base, FoundBase, Origin
from cannery.common.errors import (
    ArtifactError,
    BuildError,
    CanneryError,
    EngineError,
    FileError,
)
from cannery.common.files import own_mark, sha256_of
from cannery.engine.builder import Builder
from cannery.engine.simulator import simulated
from cannery.fetch.needs import needed_files
from cannery.image.bake_file import ImageBuild
from cannery.matrix.project import Project
from cannery.options import BuildOptions
from cannery.registry.oci import MANIFEST as MANIFEST_TYPE
from tests.unit.archives import longer_than_a_path
from tests.unit.matrices import CHECKOUT
from tests.unit.plans import step

# ---- the file

CONTENTS = Contents(simulate=True, targets={"a": "1" * 64}, commit="c" * 40, engine="29.1.0")
GOOD: dict[str, Any] = {
    "schema": 3,
    "simulate": True,
    "targets": {"py39": "0" * 64},
    "commit": "c" * 40,
    "engine": "29.1.0",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    (folder / "checkout").mkdir(parents=True)
    (folder / "checkout" / "one.whl").write_bytes(b"wheel" * 100)
    (folder / "checkout" / MANIFEST).write_text("another")
    (folder / "script").write_text("#!/bin/sh\n")
    (folder / "script").chmod(0o755)
    (folder / "link").symlink_to("script")
    return folder


@pytest.fixture
def packed(tree: Path, tmp_path: Path) -> Path:
    file = tmp_path / "x.bundle"
    assert pack(tree, CONTENTS, file) == sha256_of(file)
    return file


def unpack(file: Path, parent: Path) -> tuple[Path, Contents]:
    """The folder below ``parent`` with all of the bundle ``file``, and what it is for."""
    with opened_bundle(file) as (archive, contents):
        return bundle.unpack(archive, parent), contents


def archive_of(path: Path, *members: tarfile.TarInfo, manifest: bytes) -> Path:
    """A tar archive with ``members``, and then with a manifest."""
    info = tarfile.TarInfo(MANIFEST)
    info.size = len(manifest)
    with tarfile.open(path, "w") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(b"x" * member.size))
        archive.addfile(info, io.BytesIO(manifest))
    return path


def test_a_bundle_is_unpacked_as_it_was_packed_and_once(packed: Path, tmp_path: Path) -> None:
    folder, contents = unpack(packed, tmp_path / "out")
    assert contents == CONTENTS
    assert (folder / "checkout" / "one.whl").read_bytes() == b"wheel" * 100
    assert (folder / "checkout" / MANIFEST).read_text() == "another"
    assert os.access(folder / "script", os.X_OK)
    assert (folder / "link").readlink() == Path("script")
    before = (folder / "script").stat().st_ino
    again, _ = unpack(packed, tmp_path / "out")
    assert (again / "script").stat().st_ino == before
    assert [path.name for path in (tmp_path / "out").iterdir()] == [folder.name]


def test_equal_files_give_an_equal_bundle(packed: Path, tree: Path, tmp_path: Path) -> None:
    for path in tree.rglob("*"):
        os.utime(path, (1, 1), follow_symlinks=False)
    pack(tree, CONTENTS, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == packed.read_bytes()


def test_a_bundle_of_another_hash_than_named_is_not_read(packed: Path) -> None:
    digest = sha256_of(packed)
    with opened_bundle(packed, digest.upper()) as (archive, _):
        assert archive.sha256 == digest
    message = f"its sha256 is {digest}, and not {'0' * 64}"
    with pytest.raises(ArtifactError, match=message), opened_bundle(packed, "0" * 64):
        pytest.fail("it was opened")


@pytest.mark.parametrize("length", [0, 511, 4096])
def test_an_incomplete_bundle_is_refused(packed: Path, tmp_path: Path, length: int) -> None:
    packed.write_bytes(packed.read_bytes()[:length])
    with pytest.raises(ArtifactError, match="is not a valid bundle") as error:
        unpack(packed, tmp_path / "out")
    assert "Copy the bundle again" in str(error.value)
    assert not (tmp_path / "out").exists()


def member(name: str, target: str = "", kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    """A file of one byte, or a link to ``target``."""
    info = tarfile.TarInfo(name)
    if target or kind != tarfile.SYMTYPE:
        info.type, info.linkname = kind, target
    else:
        info.size = 1
    return info


@pytest.mark.parametrize(
    "members",
    [
        [member("a/../../outside")],
        [member("a", ".."), member("a/outside")],
        [member("a", "/etc"), member("a/outside")],
        [member("a", "../outside", tarfile.LNKTYPE)],
        [member("a", "nothing", tarfile.LNKTYPE)],
        [member("device", "", tarfile.CHRTYPE)],
        longer_than_a_path("a"),
    ],
)
def test_nothing_is_written_outside_of_the_folder(
    tmp_path: Path, members: list[tarfile.TarInfo]
) -> None:
    file = archive_of(tmp_path / "x", *members, manifest=json.dumps(GOOD).encode())
    with pytest.raises(ArtifactError, match="is not a valid bundle"):
        unpack(file, tmp_path / "a" / "out")
    assert {*tmp_path.rglob("*")} == {tmp_path / "x"}


@pytest.mark.parametrize(
    "manifest",
    [
        b"\xff\xfe",
        b"[" * 100_000,
        [],
        {**GOOD, "schema": [1]},
        {**GOOD, "simulate": "yes"},
        {**GOOD, "targets": []},
        {**GOOD, "targets": {"../x": "0" * 64}},
        {**GOOD, "targets": {"py39": 7}},
        {**GOOD, "commit": "\x1b[2J"},
        {**GOOD, "engine": None},
    ],
)
def test_an_invalid_manifest_is_refused(tmp_path: Path, manifest: object) -> None:
    text = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    file = archive_of(tmp_path / "x", manifest=text)
    with pytest.raises(ArtifactError, match=r"is not a valid bundle|of another version"):
        unpack(file, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_unreadable_or_unwritable_bundles_are_errors(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "x.bundle", tree, tmp_path / "none" / "x.bundle"):
        with pytest.raises(FileError, match="cannot write"):
            require_place(place)
    assert not (tmp_path / "none").exists()
    with pytest.raises(FileError, match="cannot write"):
        pack(tree, CONTENTS, tmp_path / "file" / "x.bundle")
    with pytest.raises(FileError, match="cannot read"):
        unpack(tmp_path / "none", tmp_path / "out")


def test_a_full_disk_leaves_the_old_bundle(
    packed: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = packed.read_bytes()
    (tree / "more").write_text("more")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="no space left"):
        pack(tree, CONTENTS, packed)
    assert packed.read_bytes() == before
    assert [path.name for path in packed.parent.glob("*bundle*")] == [packed.name]


def test_half_a_bundle_of_a_killed_run_is_removed(tree: Path, tmp_path: Path) -> None:
    killed = own_mark().replace(f":{os.getpid()}:", ":1:")
    (tmp_path / f".x.bundle.{killed}").write_bytes(b"half")
    (tmp_path / ".x.bundle.of-somebody-else").write_bytes(b"whole")
    pack(tree, CONTENTS, tmp_path / "x.bundle")
    left = {path.name for path in tmp_path.glob(".x*")}
    assert left == {".x.bundle.of-somebody-else"}


# ---- a build from it

PROJECT = Project(root=CHECKOUT)
MATRIX = PROJECT.matrix()
TARGETS = tuple(
    MATRIX.targets[name] for name in ("py39-torch231-cann8t39", "py39-torch231-cann8t39-ds0143")
)
TARGET, BASE = TARGETS[0], TARGETS[0].base
DIGEST = "sha256:" + "1" * 64
PINNED = FoundBase(reference=BASE.image, identity=BASE.image, origin=Origin.REGISTRY)


@dataclass
class Finder:
    """Bases that are found without an engine."""

    builder: Builder = field(default_factory=lambda: Builder(name="default", local=True))
    asked: list[str] = field(default_factory=list)

    def find(self, base: Base, architecture: str) -> FoundBase:
        self.asked.append(f"{base.name} {architecture}")
        return PINNED


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a bundle with one base."""

    def export(_: Builder, __: str, ___: str, folder: Path) -> None:
        folder.mkdir(parents=True)
        entry = {"mediaType": MANIFEST_TYPE, "digest": DIGEST, "size": 1}
        text = json.dumps({"manifests": [entry]})
        (folder / "index.json").write_text(text)

    monkeypatch.setattr(bases, "export_layout", export)
    finder = Finder()
    used = [(BASE, "arm64"), (BASE, "arm64")]
    keep_bases(tmp_path / "bundle", used, finder)  # type: ignore[arg-type]
    assert finder.asked == [f"{BASE.name} arm64"]
    return tmp_path / "bundle"


def test_a_bundled_base_is_the_base_of_its_maker(folder: Path) -> None:
    assert bundled_base(folder, BASE, "arm64") == PINNED
    layout = folder / "bases" / f"{BASE.name}-arm64"
    contexts = layout_contexts(folder, [(BASE, "arm64")])
    assert contexts == {PINNED.reference: f"oci-layout://{layout}@{DIGEST}"}
    with pytest.raises(ArtifactError, match=f"does not have base {BASE.name} for linux/amd64"):
        bundled_base(folder, BASE, "amd64")


@pytest.mark.parametrize(
    "index", ["", "[]", '{"manifests": []}', '{"manifests": [{"digest": "x"}]}', "[" * 9999]
)
def test_an_invalid_oci_layout_is_refused(folder: Path, index: str) -> None:
    (folder / "bases" / f"{BASE.name}-arm64" / "index.json").write_text(index)
    with pytest.raises(ArtifactError, match="is not an image"):
        layout_contexts(folder, [(BASE, "arm64")])


def test_the_umask_of_a_checkout_does_not_matter(tmp_path: Path) -> None:
    def modes(name: str, umask: int) -> dict[str, int]:
        before = os.umask(umask)
        try:
            for folder in ("image", "cannery"):
                (tmp_path / name / folder).mkdir(parents=True)
                (tmp_path / name / folder / "file").write_text("text")
                (tmp_path / name / folder / "program").touch(0o777)
            plain = ImageBuild(
                id="a",
                tag="a",
                dockerfile=tmp_path / name / "image" / "Dockerfile",
                folder=tmp_path / name / "image",
                platform="linux/arm64",
                contexts={"cannery": str(tmp_path / name / "cannery"), "artifacts": "x"},
            )
            made = with_equal_modes(plain, {"base": "oci-layout://y"}, tmp_path / f"{name}-copy")
        finally:
            os.umask(before)
        assert made.dockerfile == made.folder / "Dockerfile"
        others = {name: place for name, place in made.contexts.items() if name != "cannery"}
        assert others == {"artifacts": "x", "base": "oci-layout://y"}
        place = made.folder.parent
        return {str(p.relative_to(place)): p.stat().st_mode & 0o777 for p in place.rglob("*")}

    assert modes("one", 0o002) == modes("other", 0o077)


def test_simulated_packages_with_a_link_out_of_their_folder_are_refused(tmp_path: Path) -> None:
    """Inside of the unpacked bundle, it would lead elsewhere once the packages are moved."""
    project = Project(root=tmp_path)
    place = simulated(project, TARGET).artifacts.parent
    tree = tmp_path / "bundle" / "simulator" / place.name
    tree.mkdir(parents=True)
    (tree / "artifacts").symlink_to("../../elsewhere")
    with pytest.raises(ArtifactError, match="artifacts leads out of its folder"):
        bundle.restore_simulator(project, tmp_path / "bundle", [TARGET], tmp_path / "x.bundle")
    assert not place.exists()


@pytest.mark.parametrize(
    ("targets", "simulate", "message"),
    [
        ({TARGET.id: "2" * 64}, True, "was made from other files than this checkout has"),
        ({"other": "1" * 64}, True, "has no target that is selected"),
        ({TARGET.id: "1" * 64}, False, "has Huawei's packages and no simulated ones"),
    ],
)
def test_a_bundle_for_something_else_is_not_unpacked(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    targets: dict[str, str],
    simulate: bool,
    message: str,
) -> None:
    monkeypatch.setattr(bundle, "state_keys", lambda _: lambda *_: "1" * 64)
    (tmp_path / "tree").mkdir()
    contents = replace(CONTENTS, targets=targets, simulate=simulate)
    pack(tmp_path / "tree", contents, tmp_path / "x.bundle")
    project = Project(root=tmp_path / "checkout")
    selection = Selection(matrix=MATRIX, targets=(TARGET,), named=frozenset())
    options = BuildOptions(simulate=True)
    with pytest.raises(CanneryError, match=message):
        bundle.build_from_bundle(project, selection, options, tmp_path / "x.bundle")
    assert not project.root.exists()


def test_a_failed_build_from_a_bundle_names_the_engine_of_its_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[BuildOptions] = []

    def fail(_: Project, __: Selection, options: BuildOptions, *___: object) -> None:
        given.append(options)
        raise BuildError("apt-get update failed.")

    contents = replace(CONTENTS, targets={TARGET.id: "1" * 64})
    monkeypatch.setattr(bundle, "unpack", lambda *_: tmp_path)
    monkeypatch.setattr(bundle, "state_keys", lambda _: lambda *_: "1" * 64)
    monkeypatch.setattr(bundle, "find_builder", lambda _: Builder(name="default", local=False))
    monkeypatch.setattr(bundle, "make_plan", lambda *_: None)
    monkeypatch.setattr(bundle, "build_all", fail)
    selection = Selection(matrix=MATRIX, targets=(TARGET,), named=frozenset())
    project = Project(root=tmp_path)
    (tmp_path / "tree").mkdir()
    pack(tmp_path / "tree", contents, tmp_path / "x.bundle")
    with pytest.raises(BuildError) as caught:
        bundle.build_from_bundle(project, selection, BuildOptions(), tmp_path / "x.bundle")
    first, last = map(str, caught.value.problems)
    assert first == "apt-get update failed."
    assert "The cache is of engine 29.1.0." in last
    [options] = given
    assert options.cache_from == (f"type=local,src={tmp_path}/cache/{TARGET.id}-sim",)
    assert (options.bundle, options.simulate) == (tmp_path, True)


# ---- how it is made

SELECTION = Selection(matrix=MATRIX, targets=TARGETS, named=frozenset())
BLOB = "0" * 64


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A checkout that has the vendor's files, and an engine that has both images already."""
    project = Project(root=tmp_path / "checkout")
    project.artifacts.mkdir(parents=True)
    for target in TARGETS:
        for file in needed_files(target, simulate=False).values():
            (project.artifacts / file.name).write_text(file.name)
            (project.artifacts / file.name).chmod(0o664)
    plan = Plan(steps=tuple(step(target.id, action=Action.SKIP) for target in TARGETS))
    engine = SimpleNamespace(version=lambda: {"Version": "29.1.0"})
    builder = Builder(name="default", local=False)
    monkeypatch.setattr(bundle, "find_builder", lambda _: builder)
    monkeypatch.setattr(bundle, "make_plan", lambda *_: plan)
    monkeypatch.setattr(bundle, "talking", lambda: nullcontext(engine))
    monkeypatch.setattr(bundle, "state_keys", lambda _: lambda *_: "1" * 64)
    monkeypatch.setattr(bundle, "keep_bases", lambda *_: None)
    monkeypatch.setattr(bundle, "run", lambda *_, **__: (0, ""))
    return project


def exported(_: Project, selection: Selection, options: BuildOptions, plan: Plan) -> None:
    """A build that exports the cache of each target, as ``options`` say."""
    assert {each.action for each in plan.steps} == {Action.BUILD}
    [cache] = options.cache_to
    fields = dict(field.split("=") for field in cache.split(","))
    assert (fields["type"], options.bundle) == ("local", options.artifacts.parent)
    for target in selection.targets:
        blobs = Path(fields["dest"].format(target=target.id)) / "blobs" / "sha256"
        blobs.mkdir(parents=True)
        (blobs / BLOB).write_bytes(b"layer" * 10_000)


def test_a_bundle_has_the_cache_of_up_to_date_targets(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "build_all", exported)
    out = tmp_path / "x.bundle"
    digest = bundle.make_bundle(project, SELECTION, BuildOptions(artifacts=project.artifacts), out)
    folder, contents = unpack(out, tmp_path / "out")
    assert folder.name == digest
    assert contents.targets == {target.id: "1" * 64 for target in TARGETS}
    assert contents.engine == "29.1.0"
    files = {path.name: path.stat().st_mode & 0o777 for path in (folder / "artifacts").iterdir()}
    assert files == {path.name: 0o644 for path in project.artifacts.iterdir()}
    for target in TARGETS:
        assert (folder / "cache" / target.id / "blobs" / "sha256" / BLOB).is_file()
    with tarfile.open(out) as archive:
        assert sum(member.size > 40_000 for member in archive) == 1, "equal blobs are stored once"
    assert not (project.state / "bundles" / "making").exists()


def test_a_failed_pip_download_makes_no_bundle(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Packages are downloaded for a checkout only; an installed cannery brings its own.
    facts = project.root / "cannery/data/compat.yaml"
    facts.parent.mkdir(parents=True)
    facts.touch()
    monkeypatch.setattr(bundle, "run", lambda *_, **__: (1, "https://me:secret@index.test: 404"))
    options = BuildOptions(artifacts=project.artifacts, index_url="https://me:secret@index.test")
    with pytest.raises(EngineError, match="pip could not download the packages") as caught:
        bundle.make_bundle(project, SELECTION, options, tmp_path / "x.bundle")
    assert "secret" not in str(caught.value)
    assert not (tmp_path / "x.bundle").exists()
    assert not (project.state / "bundles" / "making").exists()
