# SPDX-License-Identifier: Apache-2.0
"""``build.py update`` against an index of a few file names, served on this machine."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.cli.checkout import CAN_MOUNT, Checkout, Result

TARGETS = ["py311-torch290-cann910-910b", "py311-torch290-cann910-a3"]
OTHER = "py311-torch271-cann910-910b"
NOW = "2.9.0.post6"
NEW = "2.9.0.post7"
USED = f"torch290: {{torch: 2.9.0, torch_npu: {NOW},"
KNOWN_ROW = f"  - {{torch: 2.9.0, torch_npu: {NOW}, cann: 9.1.0,"
NEW_ROW = KNOWN_ROW.replace(NOW, NEW) + " pythons: 3.10-3.13, source: torch-npu}\n"

READ_ONLY = """
mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 99
shift
exec "$@"
"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@dataclass(kw_only=True)
class Index:
    """A package index; ``env`` makes it the only one that build.py asks."""

    folder: Path
    url: str
    env: dict[str, str] = field(default_factory=dict)

    def add(self, *files: str) -> None:
        for file in files:
            package = file.split("-")[0].replace("_", "-")
            page = self.folder / "simple" / package / "index.html"
            page.parent.mkdir(parents=True, exist_ok=True)
            with page.open("a", encoding="utf-8") as stream:
                stream.write(f'<a href="../../files/{file}">{file}</a>\n')

    def add_torch_npu(self, version: str, tag: str = "cp311-cp311-manylinux_2_28_aarch64") -> None:
        self.add(f"torch_npu-{version}-{tag}.whl")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """Has what is known, and nothing that is newer."""
    folder = tmp_path / "index"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    own = Index(folder=folder, url=f"http://127.0.0.1:{server.server_port}/simple")
    own.env = {
        "UV_DEFAULT_INDEX": own.url,
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_EXTRA_INDEX_URL": "",
        "PIP_FIND_LINKS": "",
        "PIP_RETRIES": "0",
        "no_proxy": "127.0.0.1",
    }
    own.add("torch-2.9.0-cp311-cp311-manylinux_2_28_aarch64.whl", "deepspeed-0.18.4.tar.gz")
    own.add_torch_npu(NOW)
    yield own
    server.shutdown()
    thread.join()
    server.server_close()


def update_all(checkout: Checkout, index: Index, *arguments: str) -> Result:
    return checkout.run("update", *arguments, env=index.env)


def update(checkout: Checkout, index: Index, *arguments: str) -> Result:
    """Of two targets only, for which the index has to be asked but twice."""
    return update_all(checkout, index, "--target", "py311-torch290-*", *arguments)


def know(checkout: Checkout) -> None:
    """Let compat.yaml have a row for the new torch_npu."""
    checkout.edit(KNOWN_ROW, NEW_ROW + KNOWN_ROW, "compat.yaml")


def matrix(checkout: Checkout) -> str:
    return (checkout.root / "matrix.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("options", [(), ("--write",), ("--check",), ("--write", "--deepspeed")])
def test_nothing_is_newer(checkout: Checkout, index: Index, options: tuple[str, ...]) -> None:
    before = checkout.state()
    done = update(checkout, index, *options)
    done.accepted("the package index has nothing newer that calls for a change")
    assert done.out == ""
    assert checkout.state() == before


def test_a_torch_npu_without_a_row_is_told_and_nothing_is_written(
    checkout: Checkout, index: Index
) -> None:
    index.add_torch_npu(NEW)
    index.add_torch_npu("2.99.0", "cp314-cp314-manylinux_2_28_aarch64")
    before = checkout.state()
    done = update_all(checkout, index, "--write")
    done.accepted("there is nothing in it that --write would put into matrix.yaml")
    assert "torch_npu 2.99.0: compat.yaml has no row for this series.\n" in done.out
    assert f"torch_npu {NEW}: newer than {NOW}, the last 2.9.0 that is known here.\n" in done.out
    assert all(f"    {name}\n" in done.out for name in TARGETS)
    assert "Add its row to compat.yaml from COMPATIBILITY.md" in " ".join(done.out.split())
    assert checkout.state() == before


def test_what_would_change_is_shown_and_not_written(checkout: Checkout, index: Index) -> None:
    know(checkout)
    index.add_torch_npu(NEW)
    before = checkout.state()
    done = update(checkout, index)
    done.accepted("nothing was written; add --write")
    assert done.out.splitlines() == [
        f"torch_npu {NEW} is newer than {NOW}, and compat.yaml has it for the same CANN.",
        *(f"    {name}" for name in TARGETS),
        "  -> With --write these targets take it.",
        "",
    ]
    assert checkout.state() == before


def test_write_changes_the_version_and_no_other_character(checkout: Checkout, index: Index) -> None:
    know(checkout)
    index.add_torch_npu(NEW)
    index.add("deepspeed-0.18.5.tar.gz")
    before = matrix(checkout)
    done = update(checkout, index, "--write")
    done.accepted(f"torch_npu {NOW} is now {NEW}", "now run: python build.py lock")
    assert matrix(checkout) == before.replace(USED, USED.replace(NOW, NEW), 1)
    checkout.run("check", "--target", TARGETS[0]).accepted()


def test_only_the_selected_targets_are_compared(checkout: Checkout, index: Index) -> None:
    know(checkout)
    index.add_torch_npu(NEW)
    done = update_all(checkout, index, "--check", "--target", OTHER, "--where", "python=3.11")
    done.accepted("nothing newer")
    assert done.out == ""


def test_write_keeps_the_ends_of_the_lines(checkout: Checkout, index: Index) -> None:
    know(checkout)
    index.add_torch_npu(NEW)
    before = matrix(checkout).replace("\n", "\r\n").encode()
    path = checkout.root / "matrix.yaml"
    path.write_bytes(before)
    update(checkout, index, "--write").accepted(f"{NOW} is now {NEW}")
    assert path.read_bytes() == before.replace(USED.encode(), USED.replace(NOW, NEW).encode(), 1)


def test_deepspeed_moves_only_if_asked_for(checkout: Checkout, index: Index) -> None:
    index.add("deepspeed-0.18.5.tar.gz", "deepspeed-0.19.0rc1.tar.gz")
    before = matrix(checkout)
    done = update(checkout, index, "--write")
    done.accepted("there is nothing in it that --write would put")
    assert "deepspeed 0.18.5 is newer than 0.18.4, and compat.yaml allows it.\n" in done.out
    assert "With --deepspeed --write these targets take it." in done.out
    assert matrix(checkout) == before
    update(checkout, index, "--write", "--deepspeed").accepted("deepspeed 0.18.4 is now 0.18.5")
    assert matrix(checkout) == before.replace("deepspeed: 0.18.4", "deepspeed: 0.18.5")


@pytest.mark.parametrize(
    "tag",
    [
        "cp312-cp312-manylinux_2_28_aarch64",
        "cp311-cp311-manylinux_2_28_x86_64",
        "cp311-cp311-manylinux_2_38_aarch64",
    ],
)
def test_a_wheel_that_the_target_cannot_install_is_not_proposed(
    checkout: Checkout, index: Index, tag: str
) -> None:
    know(checkout)
    index.add_torch_npu(NEW, tag)
    done = update(checkout, index)
    done.accepted("nothing newer")
    assert done.out == ""


def test_check_ends_with_a_code_of_its_own(checkout: Checkout, index: Index) -> None:
    index.add_torch_npu(NEW)
    before = checkout.state()
    done = update(checkout, index, "--check")
    assert f"torch_npu {NEW}: newer than {NOW}" in done.out
    Result(code=done.code, out="", err=done.err).refused(4, "1 thing is newer than matrix.yaml")
    assert checkout.state() == before


def test_a_torch_without_torch_npu_does_not_fail_the_check(
    checkout: Checkout, index: Index
) -> None:
    index.add("torch-2.99.0-cp314-cp314-manylinux_2_28_aarch64.whl")
    done = update_all(checkout, index, "--check")
    done.accepted("nothing newer that calls for a change")
    assert "torch 2.99.0: newer than" in done.out
    assert "There is no torch_npu for it yet" in done.out


WRONG = {
    "target": (("--target", "py39-torch"), "there is no target 'py39-torch'. "),
    "condition": (("--where", "python"), "invalid condition 'python'"),
    "certificate": (("--ca", "/nonexistent"), "there is no file /nonexistent, named with --ca."),
    "contradiction": (("--check", "--write"), "--check and --write cannot be combined."),
    "value": (("--deepspeed", "0.19.0"), "unrecognized arguments: 0.19.0"),
}


@pytest.mark.parametrize(("arguments", "said"), WRONG.values(), ids=WRONG)
def test_wrong_use(checkout: Checkout, index: Index, arguments: tuple[str, ...], said: str) -> None:
    before = checkout.state()
    update(checkout, index, *arguments).refused(2, said)
    assert checkout.state() == before


def test_a_matrix_that_is_wrong_already(checkout: Checkout, index: Index) -> None:
    checkout.edit("deepspeed: 0.15.0", "deepspeed: 0.10.0")
    update(checkout, index, "--write").refused(3, "deepspeed 0.10.0 does not find the NPU")


def test_an_index_that_cannot_be_reached(checkout: Checkout, index: Index) -> None:
    before = checkout.state()
    done = update(checkout, index, "--write", "--index-url", "http://me:secret@127.0.0.1:9/simple")
    done.refused(6, "the package index cannot be read. pip says:\nhttp://me:****@127.0.0.1:9/")
    assert "Check the network, the proxy and --index-url" in done.err
    assert "secret" not in done.err
    assert checkout.state() == before


def test_one_of_two_indexes_cannot_be_reached(checkout: Checkout, index: Index) -> None:
    index.env["PIP_EXTRA_INDEX_URL"] = "http://127.0.0.1:9/simple"
    update(checkout, index).refused(6, "the package index cannot be read. pip says:\n")


def test_one_of_two_indexes_lacks_a_package(checkout: Checkout, index: Index) -> None:
    index.env["PIP_EXTRA_INDEX_URL"] = f"{index.url}/elsewhere"
    update(checkout, index).accepted("nothing newer")


def test_an_index_that_is_none(checkout: Checkout, index: Index) -> None:
    done = update(checkout, index, "--index-url", f"{index.url}/wrong")
    done.refused(6, "the package index does not have deepspeed. pip says:\n")
    assert "404" in done.err
    assert "Check --index-url" in done.err


def test_a_certificate_that_is_not_the_servers(checkout: Checkout, index: Index) -> None:
    ca = checkout.root / "build.py"  # holds none
    url = index.url.replace("http:", "https:")
    done = update(checkout, index, "--ca", str(ca), "--index-url", url)
    assert (done.code, done.out) == (6, "")
    assert "Traceback" not in done.messages[0]


@pytest.mark.parametrize(
    ("pip", "said"),
    [
        ("No module named pip", " has no pip."),
        ("unknown command 'index'", "pip could not list deepspeed (1):\nunknown command 'index'\n"),
    ],
)
def test_a_pip_that_cannot(
    checkout: Checkout, index: Index, tmp_path: Path, pip: str, said: str
) -> None:
    (tmp_path / "pip.py").write_text(f'raise SystemExit("{pip}")', encoding="utf-8")
    index.env["PYTHONPATH"] = str(tmp_path)
    done = update(checkout, index)
    done.refused(6, said)
    assert "'bash setup.sh' installs" in done.err


@pytest.mark.usefixtures("mounts")
def test_a_matrix_that_cannot_be_written(checkout: Checkout, index: Index) -> None:
    know(checkout)
    index.add_torch_npu(NEW)
    before = checkout.state()
    mount = [*CAN_MOUNT, "sh", "-c", READ_ONLY, "sh", str(checkout.root)]
    argv = ["update", "--write", "--target", TARGETS[0]]
    done = checkout.run(*argv, env=index.env, before=mount)
    assert f"torch_npu {NEW} is newer" in done.out
    said = f"cannot write {checkout.root}/matrix.yaml: read-only file system."
    Result(code=done.code, out="", err=done.err).refused(9, said)
    assert checkout.state() == before


def test_help_says_what_it_does(original: Checkout) -> None:
    done = original.run("update", "--help")
    done.accepted()
    text = " ".join(done.out.split())
    for said in ("Asks the package index for torch, torch_npu and DeepSpeed", "--check", "code 4"):
        assert said in text
