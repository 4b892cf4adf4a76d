# SPDX-License-Identifier: Apache-2.0
"""Packages out of a signed repository: what is not what the pinned key has signed is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cannery.common.bases import File
from cannery.common.errors import ArtifactError
from cannery.fetch.apt import AptRepository, is_in_apt
from cannery.fetch.fetcher import Fetcher, Terms
from cannery.fetch.needs import Supply, cann_files, real_needs
from cannery.matrix.project import Project
from cannery.matrix.settings import Apt
from tests.fetch.apt_repository import INDEX, SUITE, Signer, deb, publish
from tests.fetch.fetches import digest, failing, fetcher
from tests.fetch.run_files import parts, run_file
from tests.fetch.server import Files

RELEASE = "9.1.0"
NAME = f"Ascend-cann-toolkit_{RELEASE}_linux-aarch64.run"
OPERATORS = f"Ascend-cann-A3-ops_{RELEASE}_linux-aarch64.run"
RUN = run_file(parts(f"run_package/cann-runtime_{RELEASE}_linux-aarch64.run"))
TOOLKIT = File(name=NAME, origin="the vendor", eula="https://example.com/eula")
KEY = ("ascend-cann-toolkit", RELEASE)


@pytest.fixture(scope="module")
def signer(tmp_path_factory: pytest.TempPathFactory) -> Signer:
    return Signer.made(tmp_path_factory.mktemp("gpg") / "home", "Vendor")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return deb(tmp_path_factory.mktemp("deb"), *KEY, {f"usr/local/Ascend/{NAME}": RUN})


@pytest.fixture
def published(files: Files, signer: Signer, package: bytes) -> Files:
    publish(files, signer, {KEY: package, ("ascend-cann-toolkit", "9.2.0-beta.2"): b"other"})
    return files


def apt(files: Files, signer: Signer, root: Path, **changes: object) -> Fetcher:
    """A fetcher that takes packages from the repository, and trusts nothing on first use."""
    values = {"url": files.url, "key": str(signer.key), "fingerprint": signer.fingerprint}
    terms = Terms(accepted_by="Tester", apt=True)
    own = fetcher(root, terms=terms)
    source = Apt.model_validate({**values, **changes})
    own.apt = AptRepository(source=source, client=own.client, retries=own.retries)
    return own


def refusal(own: Fetcher, file: File = TOOLKIT) -> str:
    with pytest.raises(ArtifactError) as raised:
        own.fetch(file)
    assert not own.store.files()
    return str(raised.value)


def test_a_signed_package_is_taken_without_first_use(
    published: Files, signer: Signer, tmp_path: Path
) -> None:
    fetched = apt(published, signer, tmp_path).fetch(TOOLKIT)
    assert (fetched.path.read_bytes(), fetched.first_use) == (RUN, False)
    own = apt(published, signer, tmp_path)
    record = own.store.record(fetched.sha256)
    assert record
    assert (record.accepted_by, record.url.rpartition("/")[2]) == (
        "Tester",
        f"ascend-cann-toolkit_{RELEASE}_arm64.deb",
    )
    before = len(published.requests)
    assert own.fetch(TOOLKIT).sha256 == digest(RUN)
    asked = [request.path for request in published.requests[before:]]
    assert asked == [f"{SUITE}/InRelease", f"{SUITE}/{INDEX}"]


@pytest.mark.parametrize("kind", ["xz", "gzip", "zstd", "none"])
def test_packages_of_each_compression_are_read(
    files: Files, signer: Signer, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "deb").mkdir()
    content = deb(tmp_path / "deb", *KEY, {f"usr/local/Ascend/{NAME}": RUN}, kind)
    publish(files, signer, {KEY: content})
    assert apt(files, signer, tmp_path / "store").fetch(TOOLKIT).path.read_bytes() == RUN


def test_an_armoured_key_and_names_with_capital_letters(
    files: Files, signer: Signer, tmp_path: Path
) -> None:
    (tmp_path / "deb").mkdir()
    content = deb(tmp_path / "deb", "ascend-cann-a3-ops", RELEASE, {OPERATORS: RUN})
    publish(files, signer, {("ascend-cann-A3-ops", RELEASE): content})
    key = tmp_path / "key.asc"
    key.write_bytes(signer.armoured())
    own = apt(files, signer, tmp_path / "store", key=str(key))
    assert own.fetch(replace(TOOLKIT, name=OPERATORS)).path.read_bytes() == RUN


def test_a_server_that_stalls_or_breaks_off_is_asked_again(
    published: Files, signer: Signer, tmp_path: Path
) -> None:
    for path in (f"{SUITE}/InRelease", f"{SUITE}/{INDEX}"):
        failing(published, "nothing", "half", "stall", at=20, path=path)
    assert apt(published, signer, tmp_path).fetch(TOOLKIT).sha256 == digest(RUN)


def test_an_altered_index_is_refused(published: Files, signer: Signer, tmp_path: Path) -> None:
    path = f"{SUITE}/InRelease"
    signed = published.content[path]
    published.content[path] = signed.replace(b"Origin: Tests", b"Origin: Others")
    assert "InRelease has no valid signature" in refusal(apt(published, signer, tmp_path))
    published.content[path] = b"Suite: cann\n"
    assert "InRelease has no valid signature" in refusal(apt(published, signer, tmp_path))
    # What stands outside of the signed text is not read.
    published.content[path] = b"Valid-Until: nonsense\n\n" + signed
    published.content[f"{SUITE}/{INDEX}"] += b"x"
    assert f"{INDEX} is not the one whose sha256 was signed" in refusal(
        apt(published, signer, tmp_path)
    )


def test_an_expired_index_is_refused(
    files: Files, signer: Signer, package: bytes, tmp_path: Path
) -> None:
    publish(files, signer, {KEY: package}, more="Valid-Until: Sat, 01 Nov 2025 00:00:00 UTC\n")
    assert "InRelease has expired on Sat, 01 Nov 2025" in refusal(apt(files, signer, tmp_path))
    publish(files, signer, {KEY: package}, more="Valid-Until: Sat, 01 Nov 2125 00:00:00 UTC\n")
    assert apt(files, signer, tmp_path).fetch(TOOLKIT).sha256 == digest(RUN)


def test_another_key_than_the_pinned_one_is_refused(
    published: Files, signer: Signer, package: bytes, tmp_path: Path
) -> None:
    other = Signer.made(tmp_path / "other", "Other")
    own = apt(published, signer, tmp_path / "store", fingerprint=other.fingerprint)
    assert f"is signed with the key {signer.fingerprint}, and not with" in refusal(own)
    publish(published, other, {KEY: package})
    assert "has no valid signature" in refusal(apt(published, signer, tmp_path / "store"))


def test_a_swapped_package_is_refused(published: Files, signer: Signer, tmp_path: Path) -> None:
    path = f"pool/ascend-cann-toolkit_{RELEASE}_arm64.deb"
    content = published.content[path]
    published.content[path] = content[:-1] + bytes([content[-1] ^ 1])
    assert "was published" in refusal(apt(published, signer, tmp_path))


def test_a_package_without_the_file_is_refused(
    files: Files, signer: Signer, tmp_path: Path
) -> None:
    (tmp_path / "deb").mkdir()
    content = deb(tmp_path / "deb", *KEY, {"usr/share/doc/README": b"nothing"})
    publish(files, signer, {KEY: content})
    assert f"it does not contain {NAME}" in refusal(apt(files, signer, tmp_path / "store"))
    publish(files, signer, {KEY: b"no package"})
    assert "it is damaged (it is no package for apt)" in refusal(
        apt(files, signer, tmp_path / "store")
    )


def test_a_release_that_it_lacks_is_named_with_those_that_it_has(
    published: Files, signer: Signer, tmp_path: Path
) -> None:
    name = NAME.replace(RELEASE, "9.0.1")
    said = refusal(apt(published, signer, tmp_path), replace(TOOLKIT, name=name))
    assert "it has no ascend-cann-toolkit 9.0.1 for arm64, only 9.1.0, 9.2.0-beta.2" in said


def test_another_hash_than_the_project_s_is_refused(
    published: Files, signer: Signer, tmp_path: Path
) -> None:
    said = refusal(apt(published, signer, tmp_path), replace(TOOLKIT, sha256="0" * 64))
    assert f"has {NAME} with sha256 {digest(RUN)}" in said


def test_the_licence_is_asked_for_before_the_repository(
    published: Files, signer: Signer, tmp_path: Path
) -> None:
    own = apt(published, signer, tmp_path)
    own.terms = Terms(apt=True)
    assert "--accept-eula NAME" in refusal(own)
    assert not published.requests


def test_a_refusal_of_first_use_names_the_repository_if_it_has_the_file(tmp_path: Path) -> None:
    own = fetcher(tmp_path, terms=Terms(accepted_by="Tester"))
    assert "Take it by --source apt" in refusal(own)
    older = replace(TOOLKIT, name=NAME.replace(RELEASE, "8.3.RC1"))
    assert "Add --trust-first-use" in refusal(own, older)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Ascend-cann-910b-ops_8.5.0_linux-x86_64.run", True),
        ("Ascend-cann-nnal_9.2.0-beta.2_linux-aarch64.run", True),
        ("Ascend-cann-toolkit_8.3.RC1_linux-aarch64.run", False),
        ("Ascend-cann-kernels-910b_8.1.RC1_linux-aarch64.run", False),
        ("cpython-3.11.tar.gz", False),
    ],
)
def test_the_repository_has_packages_from_cann_85_on(name: str, expected: bool) -> None:
    assert is_in_apt(File(name=name, origin="")) is expected


ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    *("toolkit", "nnal", "310b-ops", "310p-ops", "910-ops", "910b-ops", "950-ops", "A3-ops"),
)
RELEASES = (
    *("8.5.0", "9.0.0-beta.2", "9.0.0", "9.0.1", "9.1.0-beta.1", "9.1.0-beta.3", "9.1.0", "9.1.1"),
    *("9.2.0-beta.1", "9.2.0-beta.2"),
)
"""What the vendor's repository had on 2026-09-07; docs/cann.md has the source."""


@pytest.mark.parametrize(
    ("architecture", "absent"), [("arm64", {"8.5.1", "8.5.2", "9.2.0"}), ("amd64", {"9.2.0"})]
)
def test_no_target_from_cann_85_on_needs_first_use_or_goes_without_the_licence(
    files: Files, signer: Signer, tmp_path: Path, architecture: str, absent: set[str]
) -> None:
    packages = {(f"ascend-cann-{name}", each): b"" for name in PACKAGES for each in RELEASES}
    publish(files, signer, packages, architecture=architecture)
    own, refused = apt(files, signer, tmp_path), set()
    targets = Project(root=ROOT).matrix().targets.values()
    for target in (each for each in targets if each.docker_arch == architecture):
        wanted = {file.name: file for file in cann_files(target).values() if is_in_apt(file)}
        needs = real_needs([target], served=is_in_apt, has_hash=own.terms.has_hash)
        assert {needs[name].supply for name in wanted} <= {Supply.DOWNLOAD}
        assert {needs[name].fields["sha256"] for name in wanted} <= {"known"}
        for file in wanted.values():
            assert "--accept-eula" in str(Terms(apt=True).against(file))
            release = file.name.split("_")[1]
            assert own.apt
            if release in RELEASES:
                assert own.apt.package(file).name.startswith("ascend-cann-")
            else:
                refused.add(release)
                with pytest.raises(
                    ArtifactError, match=f"{release} for {architecture}, only 8.5.0"
                ):
                    own.apt.package(file)
    assert refused == absent
