# SPDX-License-Identifier: Apache-2.0
"""``build.py update`` on an index of a few file names.

What pip makes of an index is asked of pip, with the index served on this machine. Where the
question is what is done with its answer, a program in pip's place gives that.
"""

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


# Stands in for pip: lists the files of an index whose Python is the one that was asked for.
PIP = """
import os, pathlib, re, sys
package = sys.argv[sys.argv.index("versions") + 1].replace("_", "-")
python = "-cp" + sys.argv[sys.argv.index("--python-version") + 1].replace(".", "")
page = pathlib.Path(os.environ["PIP_PAGES"], package, "index.html").read_text()
files = re.findall(">[a-z_]+-([0-9a-z.]+)(-.*[.]whl|[.]tar[.]gz)<", page)
print("Available versions:", ", ".join(v for v, end in files if python in end or "tar" in end))
"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@dataclass(kw_only=True)
class Index:
    """A package index; ``env`` makes it the only one that build.py asks."""

    folder: Path
    url: str = ""
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
def index(tmp_path: Path) -> Index:
    """Has what is known, and nothing that is newer; a program in pip's place reads it."""
    own = Index(folder=tmp_path / "index")
    own.add("torch-2.9.0-cp311-cp311-manylinux_2_28_aarch64.whl", "deepspeed-0.18.4.tar.gz")
    own.add_torch_npu(NOW)
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "pip.py").write_text(PIP, encoding="utf-8")
    own.env = {"PYTHONPATH": str(tmp_path / "pip"), "PIP_PAGES": str(own.folder / "simple")}
    return own


@pytest.fixture
def served(index: Index) -> Iterator[Index]:
    """The same, served to pip itself."""
    folder = str(index.folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    index.url = f"http://127.0.0.1:{server.server_port}/simple"
    index.env = {
        "UV_DEFAULT_INDEX": index.url,
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_EXTRA_INDEX_URL": "",
        "PIP_FIND_LINKS": "",
        "PIP_RETRIES": "0",
        "no_proxy": "127.0.0.1",
    }
    yield index
    server.shutdown()
    thread.join()
    server.server_close()


def test_only_wheels_that_the_targets_can_install_are_proposed(
    checkout: Checkout, served: Index
) -> None:
    know(checkout)
    served.add_torch_npu(NEW)
    served.add_torch_npu("2.9.0.post8", "cp312-cp312-manylinux_2_28_aarch64")
    served.add_torch_npu("2.9.0.post9", "cp311-cp311-manylinux_2_28_x86_64")
    served.add_torch_npu("2.9.0.post10", "cp311-cp311-manylinux_2_38_aarch64")
    served.add("deepspeed-0.19.0rc1.tar.gz")
    before = matrix(checkout)
    done = update(checkout, served, "--write", "--deepspeed")
    done.accepted(f"torch_npu {NOW} is now {NEW}", "now run: python build.py lock")
    assert matrix(checkout) == before.replace(USED, USED.replace(NOW, NEW), 1)
    checkout.run("check", "--target", TARGETS[0]).accepted()


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
def test_nothing_is_newer(original: Checkout, index: Index, options: tuple[str, ...]) -> None:
    before = original.state()
    done = update(original, index, *options)
    done.accepted("the package index has nothing newer that calls for a change")
    assert done.out == ""
    assert original.state() == before


def test_a_torch_npu_without_a_row_is_told_and_nothing_is_written(
    original: Checkout, index: Index
) -> None:
    index.add_torch_npu(NEW)
    index.add_torch_npu("2.99.0", "cp314-cp314-manylinux_2_28_aarch64")
    before = original.state()
    done = update_all(original, index, "--write")
    done.accepted("there is nothing in it that --write would put into matrix.yaml")
    assert "torch_npu 2.99.0: compat.yaml has no row for this series.\n" in done.out
    assert f"torch_npu {NEW}: newer than {NOW}, the last 2.9.0 that is known here.\n" in done.out
    assert all(f"    {name}\n" in done.out for name in TARGETS)
    assert "Add its row to compat.yaml from COMPATIBILITY.md" in " ".join(done.out.split())
    assert original.state() == before


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
    index.add("deepspeed-0.18.5.tar.gz")
    before = matrix(checkout)
    done = update(checkout, index, "--write")
    done.accepted("there is nothing in it that --write would put")
    assert "deepspeed 0.18.5 is newer than 0.18.4, and compat.yaml allows it.\n" in done.out
    assert "With --deepspeed --write these targets take it." in done.out
    assert matrix(checkout) == before
    update(checkout, index, "--write", "--deepspeed").accepted("deepspeed 0.18.4 is now 0.18.5")
    assert matrix(checkout) == before.replace("deepspeed: 0.18.4", "deepspeed: 0.18.5")


def test_check_ends_with_a_code_of_its_own(original: Checkout, index: Index) -> None:
    index.add_torch_npu(NEW)
    before = original.state()
    done = update(original, index, "--check")
    assert f"torch_npu {NEW}: newer than {NOW}" in done.out
    Result(code=done.code, out="", err=done.err).refused(4, "1 thing is newer than matrix.yaml")
    assert original.state() == before


def test_a_torch_without_torch_npu_does_not_fail_the_check(
    original: Checkout, index: Index
) -> None:
    index.add("torch-2.99.0-cp314-cp314-manylinux_2_28_aarch64.whl")
    done = update_all(original, index, "--check")
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
def test_wrong_use(original: Checkout, index: Index, arguments: tuple[str, ...], said: str) -> None:
    before = original.state()
    update(original, index, *arguments).refused(2, said)
    assert original.state() == before


def test_a_matrix_that_is_wrong_already(checkout: Checkout, index: Index) -> None:
    checkout.edit("deepspeed: 0.15.0", "deepspeed: 0.10.0")
    update(checkout, index, "--write").refused(3, "deepspeed 0.10.0 does not work here")


def test_an_index_that_cannot_be_reached(original: Checkout, served: Index) -> None:
    before = original.state()
    done = update(original, served, "--write", "--index-url", "http://me:secret@127.0.0.1:9/simple")
    done.refused(6, "the package index cannot be read. pip says:\nhttp://me:****@127.0.0.1:9/")
    assert "Check the network, the proxy and --index-url" in done.err
    assert "secret" not in done.err
    assert original.state() == before


def test_one_of_two_indexes_cannot_be_reached(original: Checkout, served: Index) -> None:
    served.env["PIP_EXTRA_INDEX_URL"] = "http://127.0.0.1:9/simple"
    update(original, served).refused(6, "the package index cannot be read. pip says:\n")


def test_one_of_two_indexes_lacks_a_package(original: Checkout, served: Index) -> None:
    served.env["PIP_EXTRA_INDEX_URL"] = f"{served.url}/elsewhere"
    update(original, served).accepted("nothing newer")


def test_an_index_that_is_none(original: Checkout, served: Index) -> None:
    done = update(original, served, "--index-url", f"{served.url}/wrong")
    done.refused(6, "the package index does not have deepspeed. pip says:\n")
    assert "404" in done.err
    assert "Check --index-url" in done.err


def test_a_certificate_that_is_not_the_servers(original: Checkout, served: Index) -> None:
    ca = original.root / "build.py"  # holds none
    url = served.url.replace("http:", "https:")
    done = update(original, served, "--ca", str(ca), "--index-url", url)
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
    original: Checkout, index: Index, tmp_path: Path, pip: str, said: str
) -> None:
    (tmp_path / "pip" / "pip.py").write_text(f'raise SystemExit("{pip}")', encoding="utf-8")
    done = update(original, index)
    done.refused(6, said)
    assert "'bash setup.sh' installs" in done.err


@pytest.mark.usefixtures("mounts")
def test_a_matrix_that_cannot_be_written(installed: Checkout, index: Index) -> None:
    know(installed)
    index.add_torch_npu(NEW)
    before = installed.state()
    mount = [*CAN_MOUNT, "sh", "-c", READ_ONLY, "sh", str(installed.root)]
    argv = ["update", "--write", "--target", TARGETS[0]]
    done = installed.start(*argv, env=index.env, before=mount)
    assert f"torch_npu {NEW} is newer" in done.out
    said = f"cannot write {installed.root}/matrix.yaml: read-only file system."
    Result(code=done.code, out="", err=done.err).refused(9, said)
    assert installed.state() == before


def test_help_says_what_it_does(original: Checkout) -> None:
    done = original.run("update", "--help")
    done.accepted()
    text = " ".join(done.out.split())
    for said in ("Asks the package index for torch, torch_npu and DeepSpeed", "--check", "code 4"):
        assert said in text
