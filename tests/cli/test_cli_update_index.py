# SPDX-License-Identifier: Apache-2.0
"""``build.py update`` on an index that is served on this machine, which pip itself reads."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme

from tests.cli.checkout import Checkout
from tests.cli.indexes import NEW, NOW, TARGETS, USED, Index, know, matrix, update

pytestmark = pytest.mark.slow


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


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


def test_only_wheels_installable_by_the_targets_are_proposed(
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
    done.accepted(f"torch_npu {NOW} is now {NEW}", "now run: python build.py sync")
    assert matrix(checkout) == before.replace(USED, USED.replace(NOW, NEW), 1)
    checkout.run("check", "--target", TARGETS[0]).accepted()


def test_an_unreachable_index_is_reported(original: Checkout, served: Index) -> None:
    before = original.state()
    done = update(original, served, "--write", "--index-url", "http://me:secret@127.0.0.1:9/simple")
    page = "the package index cannot be read: http://me:****@127.0.0.1:9/simple"
    done.refused(6, f"{page}/deepspeed/")
    assert f"{page}/torch-npu/" in done.err
    assert done.err.count("Check the network, the proxy and --index-url") == 1
    assert "secret" not in done.err
    assert original.state() == before


def test_a_url_without_an_index_fails(original: Checkout, served: Index) -> None:
    done = update(original, served, "--index-url", f"{served.url}/wrong")
    done.refused(6, "the package index does not have deepspeed. pip says:\n")
    assert "the package index does not have torch_npu. pip says:\n" in done.err
    assert "404" in done.err
    assert done.err.count("Check --index-url") == 1


def test_one_of_two_indexes_cannot_be_reached(original: Checkout, served: Index) -> None:
    """What only that one has would be missed."""
    served.env["PIP_EXTRA_INDEX_URL"] = "http://127.0.0.1:9/simple"
    update(original, served).refused(
        6, "the package index cannot be read: http://127.0.0.1:9/simple/"
    )


def test_one_of_two_indexes_lacks_a_package(original: Checkout, served: Index) -> None:
    served.env["PIP_EXTRA_INDEX_URL"] = f"{served.url}/elsewhere"
    update(original, served).accepted("nothing newer")


def test_a_file_without_certificates(original: Checkout, served: Index) -> None:
    done = update(original, served, "--ca", str(original.root / "build.py"))
    done.refused(2, "build.py has no certificates that can be read")


def test_a_certificate_that_is_not_the_servers(
    original: Checkout, served: Index, tmp_path: Path
) -> None:
    ca = tmp_path / "ca.pem"
    trustme.CA().cert_pem.write_to_path(str(ca))
    url = served.url.replace("http:", "https:")
    done = update(original, served, "--ca", str(ca), "--index-url", url)
    assert (done.code, done.out) == (6, "")
    assert "Traceback" not in done.messages[0]
