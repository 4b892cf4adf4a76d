# SPDX-License-Identifier: Apache-2.0
"""The files that a lock names, with a stand-in for uv and for the package index."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cannery.common.errors import MatrixError
from cannery.lock.lock_file import parse_lock
from cannery.lock.resolve import lock_build_stage, write_locks
from tests.unit.uv_standin import INDEX, Uv, stand_in


@pytest.fixture
def uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Uv:
    return stand_in(tmp_path, monkeypatch)


def test_the_lock_names_the_file_that_the_installer_takes(
    uv: Uv, monkeypatch: pytest.MonkeyPatch
) -> None:
    tags = "py3-none-any cp39-cp39-manylinux_2_17_aarch64 cp39-cp39-manylinux_2_34_aarch64"
    monkeypatch.setenv("UV_TAGS", tags)
    text = uv.lock("full")
    assert text.endswith(
        f"six==1 \\\n    --hash=sha256:{'1' * 64}\n"
        "    # file: six-1+x-cp39-cp39-manylinux_2_17_aarch64.whl\n    # via -r cann.in\n"
    )
    # Addresses are those of one index.
    assert "://" not in text


def test_files_are_those_of_the_target_and_of_the_locked_versions(uv: Uv) -> None:
    uv.lock("full")
    argv, files = uv.calls()[-1]
    assert files["pins.in"] == "six==1\n"
    resolved, _ = uv.noted()
    start = argv.index("--python-version")
    assert argv[start - 3 : start] == ["--format", "pylock.toml", "--no-deps"]
    platform = argv[start : argv.index("--output-file")]
    assert platform == resolved[resolved.index("--python-version") :][: len(platform)]
    assert platform[1] == "3.9.2"


def test_the_build_stage_has_a_file_for_each_machine(
    uv: Uv, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"py3-none-manylinux_2_17_{machine}" for machine in ("aarch64", "x86_64")]
    monkeypatch.setenv("UV_TAGS", " ".join(names))
    base = uv.checkout.matrix.targets["full"].build_base
    [six] = parse_lock(lock_build_stage(uv.checkout.project, base, INDEX)).wheels
    assert [each.name for each in six.files] == [f"six-1+x-{name}.whl" for name in names]
    monkeypatch.setenv("UV_TAGS", "py3-none-any")
    [six] = parse_lock(lock_build_stage(uv.checkout.project, base, INDEX)).wheels
    assert [each.name for each in six.files] == ["six-1+x-py3-none-any.whl"]


UNFIT: dict[str, tuple[dict[str, str], str]] = {
    "no file fits": (
        {"UV_TAGS": "cp39-cp39-manylinux_2_34_aarch64"},
        "six 1 has no file for cp39-cp39-manylinux_2_31_aarch64 or a platform with an older glibc.",
    ),
    "no sha256": (
        {"UV_HASHES": "{ md5 = '0' }"},
        "the package index has no sha256 of six-1+x-py3-none-any.whl.",
    ),
}


@pytest.mark.parametrize(("env", "said"), UNFIT.values(), ids=UNFIT)
def test_a_package_without_a_file_to_lock(
    uv: Uv, monkeypatch: pytest.MonkeyPatch, env: dict[str, str], said: str
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(MatrixError) as caught:
        uv.lock("full")
    assert str(caught.value).startswith(said)


def test_a_replaced_file_is_not_locked(uv: Uv, monkeypatch: pytest.MonkeyPatch) -> None:
    target = uv.checkout.matrix.targets["full"]
    text = uv.lock("full")
    uv.checkout.lock(target, text)
    assert uv.lock("full") == text
    monkeypatch.setenv("UV_HASHES", f"{{ sha256 = '{'e' * 64}' }}")
    with pytest.raises(MatrixError) as caught:
        uv.lock("full")
    assert str(caught.value).startswith(
        "the package index has another six-1+x-py3-none-any.whl than "
        f"images/full/requirements.lock: its sha256 is {'e' * 64}, not {'0' * 64}."
    )


@pytest.mark.parametrize("says", ["has no usable wheels", "has no wheels with a matching tag"])
def test_the_nearest_file_of_a_version_without_one_is_named(
    uv: Uv, monkeypatch: pytest.MonkeyPatch, says: str
) -> None:
    monkeypatch.setenv("UV_SAYS", f"No solution found: because serve==1.2 {says}, and so on")
    monkeypatch.setenv("UV_TAGS", "py3-none-musllinux_1_1_aarch64 cp39-cp39-manylinux_2_34_aarch64")
    with pytest.raises(MatrixError) as caught:
        uv.lock("served")
    first, second = map(str, caught.value.problems)
    assert "the requirements of served cannot be satisfied. uv says:\nNo solution found" in first
    assert second.endswith("The nearest file is serve-1.2+x-cp39-cp39-manylinux_2_34_aarch64.whl.")


def test_the_build_stage_fits_the_oldest_base_whichever_target_is_locked(
    uv: Uv, monkeypatch: pytest.MonkeyPatch
) -> None:
    glibcs = ("2_39", "2_17")
    names = [f"py3-none-manylinux_{g}_{m}" for g in glibcs for m in ("aarch64", "x86_64")]
    monkeypatch.setenv("UV_TAGS", " ".join(names))
    project = uv.checkout.project
    target = next(iter(uv.checkout.matrix.targets.values()))
    newer = replace(target, build_base=replace(target.build_base, glibc="2.39"))
    write_locks(project, [newer], [], INDEX)
    [six] = parse_lock(project.build_lock.read_text(encoding="utf-8")).wheels
    assert sorted(file.name for file in six.files) == [f"six-1+x-{name}.whl" for name in names[2:]]
