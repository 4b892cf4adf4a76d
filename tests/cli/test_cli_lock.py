# SPDX-License-Identifier: Apache-2.0
"""``lock`` with a stand-in for uv: failures of some targets, an own index, wrong packages."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import certifi
import pytest

from tests.cli.checkout import Checkout
from tests.cli.uv import UNSOLVED

TARGET = "py39-torch231-cann8t39"
SECOND = "py39-torch210-cann8rc2"
BOTH = ["--target", TARGET, "--target", SECOND]

INDEX = "https://reader:s3cret%21@index.example.com/simple"


def heard(note: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in note.read_text(encoding="utf-8").splitlines()]


def lock_file(checkout: Checkout, target: str) -> Path:
    return checkout.root / "images" / target / "requirements.lock"


def test_a_failing_target_does_not_stop_the_others(checkout: Checkout, uv: dict[str, str]) -> None:
    before = lock_file(checkout, TARGET).read_bytes()
    result = checkout.run("lock", *BOTH, env={**uv, "UV_FAILS": "torch==2.3.1"})
    result.refused(3, f"[{TARGET}] matrix.yaml:")
    assert f"the requirements of {TARGET} cannot be satisfied. uv says:\n{UNSOLVED}" in result.err
    assert "1 of 2 targets locked" in result.err
    assert f"wrote images/{SECOND}/requirements.lock" in result.err
    assert lock_file(checkout, TARGET).read_bytes() == before


def test_the_requirement_named_by_uv_is_located(checkout: Checkout, uv: dict[str, str]) -> None:
    target = "py39-torch231-cann8t39-llamafactory090"
    checkout.edit("jieba, nltk", "jieba==9.9.9, nltk")
    says = f"{UNSOLVED}: there is no version of jieba==9.9.9 and you require jieba==9.9.9"
    env = {**uv, "UV_FAILS": "jieba==", "UV_SAYS": says}
    checkout.run("lock", "--target", target, env=env).refused(
        3, f"{checkout.place('jieba==9.9.9')}the requirements of {target} cannot be satisfied."
    )


def test_a_bad_line_in_a_lock_is_named_with_its_place(
    checkout: Checkout, uv: dict[str, str]
) -> None:
    path = lock_file(checkout, TARGET)
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([*lines[:4], "nonsense here", *lines[4:], ""]), encoding="utf-8")
    result = checkout.run("lock", *BOTH, env=uv)
    result.refused(
        3,
        f"[{TARGET}] images/{TARGET}/requirements.lock:5:1: invalid line in a lock: 'nonsense here'"
        ". Restore the file, or delete it and run 'python build.py lock'.",
    )
    assert f"wrote images/{SECOND}/requirements.lock" in result.err


def test_an_own_index_and_own_certificates(
    checkout: Checkout, tmp_path: Path, note: Path, uv: dict[str, str]
) -> None:
    ca = tmp_path / "ca.pem"
    shutil.copyfile(certifi.where(), ca)
    words = ["--index-url", INDEX, "--ca", str(ca)]
    checkout.run("lock", "--target", TARGET, *words, env=uv).accepted()
    for each in heard(note):
        assert each["UV_DEFAULT_INDEX"] == INDEX
        assert each["SSL_CERT_FILE"] == str(ca)
        # Everybody on a machine can see the arguments of a process.
        assert "s3cret" not in " ".join(each["argv"])
    assert "index.example.com" not in lock_file(checkout, TARGET).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "says",
    [
        f"error: invalid value '{INDEX}' for '--default-index': invalid port number",
        "error: Failed to fetch: https://reader:s3cret!@index.example.com/simple/torch/",
        f"{UNSOLVED}\nhint: reader:s3cret%21@index.example.com",
    ],
)
def test_passwords_are_not_printed(checkout: Checkout, uv: dict[str, str], says: str) -> None:
    env = {**uv, "UV_FAILS": "torch==", "UV_SAYS": says}
    result = checkout.run("lock", "--target", TARGET, "--index-url", INDEX, env=env)
    assert result.code in (3, 6)
    assert "s3cret" not in result.err
    assert "****@index.example.com" in result.err or "'****'" in result.err


def test_an_unreachable_index_is_reported_once(checkout: Checkout, uv: dict[str, str]) -> None:
    before = checkout.state()
    says = "error: Request failed after 3 retries\n  cause: Failed to fetch: https://r.test/uv/"
    result = checkout.run("lock", *BOTH, env={**uv, "UV_FAILS": "py-cpuinfo", "UV_SAYS": says})
    result.refused(6, "uv could not lock the build stage. uv says:\nerror: Request failed")
    assert result.messages[0].endswith(
        "Check the network, the proxy and --index-url; name a file with your own certificates with "
        "--ca."
    )
    assert checkout.state() == before


def test_an_index_that_wants_a_login_is_not_taken_for_one_without_the_package(
    checkout: Checkout, uv: dict[str, str]
) -> None:
    says = f"{UNSOLVED}\nhint: x could not be queried due to (401 Unauthorized)"
    result = checkout.run(
        "lock", "--target", TARGET, env={**uv, "UV_FAILS": "torch==", "UV_SAYS": says}
    )
    result.refused(6, f"uv could not lock {TARGET}, because the index refuses it. uv says:")
    assert "Put a login for the index into CANNERY_INDEX_URL" in result.messages[0]


def test_unlocked_packages_cannot_be_upgraded(
    checkout: Checkout, note: Path, uv: dict[str, str]
) -> None:
    before = checkout.state()
    words = ["--upgrade", "nosuchpackage", "--upgrade", "nunpy", "--upgrade", "!"]
    checkout.run("lock", *BOTH, *words, env=uv).refused(
        2,
        "no selected target has a package 'nosuchpackage' in its lock.",
        "no selected target has a package 'nunpy' in its lock. Did you mean 'numpy'?",
        "'!' is not the name of a package. Write it as in numpy, or numpy<2.",
    )
    assert not note.exists()
    assert checkout.state() == before


@pytest.mark.parametrize("package", ["torch_npu", "numpy<2"])
def test_locked_packages_can_be_upgraded(
    checkout: Checkout, note: Path, uv: dict[str, str], package: str
) -> None:
    checkout.run("lock", "--target", TARGET, "--upgrade", package, env=uv).accepted()
    argv = heard(note)[-2]["argv"]
    assert argv[argv.index("--upgrade-package") + 1] == package


def test_a_missing_uv_is_reported(checkout: Checkout, tmp_path: Path, uv: dict[str, str]) -> None:
    (tmp_path / "stand-in" / "uv" / "__main__.py").unlink()
    result = checkout.run("lock", "--target", TARGET, env=uv)
    assert result.code == 6
    assert "has no module 'uv'. Install the requirements" in result.err
