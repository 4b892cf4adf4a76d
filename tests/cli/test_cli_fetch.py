# SPDX-License-Identifier: Apache-2.0
"""``fetch``, ``cache``, and builds that fetch: with a server on this machine, and without one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.checkout import Checkout, Result
from tests.fetch.fetches import digest, zipped
from tests.fetch.run_files import parts, run_file, wrong_bodies
from tests.fetch.server import Fault, Files, serving

RELEASE = "8.1.RC1"
TOOLKIT = "Ascend-cann-toolkit_8.1.RC1_linux-aarch64"
KERNELS = "Ascend-cann-kernels-910b_8.1.RC1_linux-aarch64"
NNAL = "Ascend-cann-nnal_8.1.RC1_linux-aarch64.run"
HOST = "https://ascend-repo.obs.cn-east-2.myhuaweicloud.com"
FOLDER = "CANN/CANN%208.1.RC1"
RUN = run_file(parts("CANN-atb-8.1.RC1-linux.aarch64.run"))
LISTED = "py39-torch251-cann81rc1-vllm073"
MAIN = "py39-torch231-cann8t39"


@dataclass
class Desk:
    """A checkout whose matrix.yaml names a server on this machine, and a store of its own."""

    checkout: Checkout
    server: Files
    cache: Path

    def run(self, *words: str, env: Mapping[str, str] | None = None) -> Result:
        return self.checkout.run(*words, env={"CANNERY_CACHE": str(self.cache), **(env or {})})

    def serve_release(self) -> None:
        """Let the server have the zips of the release, and matrix.yaml their hashes."""
        path = self.checkout.root / "cannery/data/cann.yaml"
        text = path.read_text(encoding="utf-8")
        for stem in (TOOLKIT, KERNELS):
            archive = zipped({f"{stem}.run": RUN + stem.encode()})
            self.server.content[f"{FOLDER}/{stem}.zip"] = archive
            text, places = re.subn(f"({stem}.zip): [0-9a-f]{{64}}", rf"\1: {digest(archive)}", text)
            assert places == 1
        path.write_text(text, encoding="utf-8")
        self.server.content[f"{FOLDER}/{NNAL}"] = RUN


@pytest.fixture
def desk(checkout: Checkout, tmp_path: Path) -> Iterator[Desk]:
    with serving() as server:
        checkout.edit(HOST, server.url)
        (checkout.root / "cannery.toml").unlink()
        yield Desk(checkout=checkout, server=server, cache=tmp_path / "cache")


@pytest.mark.slow
def test_a_release_is_fetched_listed_and_pruned(desk: Desk) -> None:
    desk.serve_release()
    words = ("fetch", "--cann", RELEASE, "--accept-eula", "Example Ltd")
    first = desk.run(*words)
    assert (first.code, len(first.messages)) == (5, 2)
    assert "1 file missing for a real build:" in first.err
    assert "of 1 file nobody publishes it: --trust-first-use" in first.err
    assert f"fetch --cann {RELEASE} --accept-eula NAME --trust-first-use" in first.err
    result = desk.run(*words, "--trust-first-use", "--into", str(desk.cache / "into"))
    result.accepted("3 files complete", f"TRUSTED ON FIRST USE: {NNAL}, sha256 {digest(RUN)}")
    assert {line.split()[0] for line in result.out.splitlines()} == {
        f"{TOOLKIT}.run",
        f"{KERNELS}.run",
        NNAL,
    }
    assert (desk.cache / "into" / NNAL).read_bytes() == RUN
    assert all(r.headers["referer"] == "https://www.hiascend.com/" for r in desk.server.requests)
    asked = len(desk.server.requests)
    desk.run("fetch", "--cann", RELEASE).accepted()
    assert len(desk.server.requests) == asked
    listed = desk.run("fetch", "--stored").out
    assert listed.count("accepted by Example Ltd") == 3
    assert f"sha256 {digest(RUN)}" in listed
    assert "trusted on first use" in listed
    assert "3 files" in listed
    desk.run("fetch", "--prune", "90").accepted("removed 0 files")
    desk.run("fetch", "--prune", "0").accepted("removed 3 files")


def test_first_use_changes_one_line_of_the_matrix(desk: Desk) -> None:
    desk.serve_release()
    path = desk.checkout.root / "cannery/data/cann.yaml"
    before = path.read_text(encoding="utf-8").splitlines()
    words = ("--accept-eula", "Example Ltd", "--trust-first-use")
    desk.run("fetch", "--cann", RELEASE, *words).accepted("now run: python build.py render")
    after = path.read_text(encoding="utf-8").splitlines()
    [added] = [line for line in after if line not in before]
    hashed, _, note = added.partition("  # ")
    assert hashed == f"      {NNAL}: {digest(RUN)}"
    assert re.fullmatch(rf"https?://\S+/{NNAL}, \d{{4}}-\d\d-\d\d", note)
    assert [line for line in after if line != added] == before
    desk.checkout.run("check").accepted()


@pytest.mark.slow
def test_an_error_page_in_place_of_a_package_changes_nothing(desk: Desk) -> None:
    desk.serve_release()
    path = desk.checkout.root / "cannery/data/cann.yaml"
    before = path.read_bytes()
    [(words, page), *_] = wrong_bodies().items()
    desk.server.content[f"{FOLDER}/{NNAL}"] = page
    options = ("--accept-eula", "Example Ltd", "--trust-first-use")
    result = desk.run("fetch", "--cann", RELEASE, *options)
    assert result.code == 5
    assert f"it is {words}, and not a package of the vendor's" in result.err
    assert path.read_bytes() == before
    assert NNAL not in desk.run("fetch", "--stored").out


@pytest.mark.slow
def test_cannery_toml_accepts_the_licence_and_names_servers(desk: Desk) -> None:
    desk.serve_release()
    own = desk.checkout.root / "cannery.toml"
    own.write_text('accept-eula = "Example Ltd"\n', encoding="utf-8")
    result = desk.run("fetch", "--cann", RELEASE)
    assert f"{NNAL}  not published  not published  first use" in result.err
    assert f"fetched {TOOLKIT}.run" in result.err
    with serving() as other:
        interim = run_file(parts("CANN-runtime-8.0.T39-linux.aarch64.run"))
        other.content["Ascend-cann-toolkit_8.0.T39_linux-aarch64.run"] = interim
        text = f'servers = ["{other.url}"]\n'
        own.write_text(text, encoding="utf-8")
        result = desk.run("fetch", "--cann", "8.0.T39", "--trust-first-use")
        assert result.code == 5
        assert "fetched Ascend-cann-toolkit_8.0.T39_linux-aarch64.run" in result.err
        assert "it does not have the file (404)" in result.err


def test_a_failure_names_every_server_and_why(desk: Desk) -> None:
    desk.serve_release()
    desk.server.faults[f"{FOLDER}/{TOOLKIT}.zip"] = [Fault(kind="login page")]
    own = desk.checkout.root / "cannery.toml"
    own.write_text(f'servers = ["{desk.server.url}/own"]\n', encoding="utf-8")
    words = ("--target", LISTED, "--accept-eula", "Example Ltd")
    result, url = desk.run("build", *words), desk.server.url
    assert result.code == 5, result.err
    assert "Traceback" not in result.err
    assert f"\n  {url}/own/{TOOLKIT}.zip: it does not have the file (404)." in result.err
    assert f"\n  {url}/{FOLDER}/{TOOLKIT}.zip: it sends a web page" in result.err
    assert f"fetched {KERNELS}.run" in result.err


def test_the_source_folder_downloads_nothing(desk: Desk) -> None:
    desk.serve_release()
    result = desk.run("build", "--target", LISTED, "--source", "folder")
    assert result.code == 5
    assert re.search(rf"{TOOLKIT}.run  +not published  +known  +by hand", result.err)
    assert f"build {LISTED} --source folder" in result.err
    assert not desk.server.requests


def test_a_plan_downloads_nothing_and_counts_on_the_server(desk: Desk) -> None:
    target = "py310-torch210-cann8rc3-swift261"
    shown = desk.run("build", "--target", target, "--simulate", "--plan")
    assert shown.out.startswith("build ")
    assert "1 to build (1 after a download)" in shown.out
    assert re.search(r"\n  cpython-3\.10\.14\S+ \(github\.com/.*\): 1 target\n", shown.out)
    assert "can be fetched" in desk.run("list", "--target", target).out
    assert not desk.server.requests


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("fetch", "--cann", "8.1.RC11"), 2, "no CANN release '8.1.RC11'. Did you mean '8.1.RC1'?"),
        (("fetch", "--all", "--accept-eula", " "), 2, "invalid name ' '"),
        (("fetch", "--all", "--ca", "no.pem"), 2, "no.pem, named with --ca."),
        (("build", "--target", MAIN, "--source", "downlod"), 2, "Did you mean 'download'?"),
    ],
)
def test_wrong_use(words: tuple[str, ...], code: int, said: str, desk: Desk) -> None:
    result = desk.run(*words)
    assert result.code == code
    assert said in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize("words", [("fetch", "--all"), ("fetch", "--stored"), ("--all", "--plan")])
def test_mistakes_in_cannery_toml(words: tuple[str, ...], desk: Desk) -> None:
    text = 'sourc = ["download"]\n'
    (desk.checkout.root / "cannery.toml").write_text(text, encoding="utf-8")
    result = desk.run(*words)
    result.refused(3, "cannery.toml:1:1: unknown key 'sourc'. Did you mean 'source'?")


def test_an_unwritable_store_is_reported(desk: Desk) -> None:
    desk.serve_release()
    desk.cache.write_text("", encoding="utf-8")
    result = desk.run("fetch", "--cann", RELEASE, "--accept-eula", "Example Ltd")
    assert result.code in (1, 9)
    assert "cannot write" in result.err
    assert "Traceback" not in result.err
