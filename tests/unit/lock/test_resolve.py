# SPDX-License-Identifier: Apache-2.0
"""The questions to uv for a target, and the files that a lock then names."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from cannery.common import process
from cannery.common.errors import EngineError, MatrixError, UsageError
from cannery.common.package_index import PackageIndex
from cannery.common.wheels import WheelPlatform
from cannery.lock.index_versions import check_upgrades
from cannery.lock.lock_file import INPUTS, LockedFile, parse_lock, with_files
from cannery.lock.requirements import Requirements
from cannery.lock.resolve import (
    chosen_files,
    listed_files,
    lock_build_requirements,
    lock_build_stage,
    lock_target,
    write_locks,
)
from tests.unit.applications import lock_of, stacked_checkout
from tests.unit.built_wheels import built_checkout
from tests.unit.matrices import Checkout, edited

# Reads the metadata of wheels, which want nothing.
PIP = """
import pathlib, sys
report = sys.argv[sys.argv.index("--report") + 1]
pathlib.Path(report).write_text('{"install": []}')
"""
INDEX = PackageIndex(ca=None, index_url="")
# Locks what it is asked for in version 1. The index has a wheel for each of the usual tags.
UV = """
import json, os, pathlib, sys
files = {path.name: path.read_text() for path in pathlib.Path().iterdir()}
with open(os.environ["UV_NOTE"], "a") as note:
    note.write(json.dumps([sys.argv[1:], files]) + "\\n")
output = pathlib.Path(sys.argv[sys.argv.index("--output-file") + 1])
if output.name == "pylock.toml":
    text = ""
    for pin in files["pins.in"].split():
        name, _, version = pin.partition("==")
        text += f"[[packages]]\\nname = '{name}'\\nversion = '{version}'\\nwheels = [\\n"
        for number, tags in enumerate(os.environ.get("UV_TAGS", "py3-none-any").split()):
            file = f"https://index.test/{name}-{version}%2Bx-{tags}.whl"
            hashes = os.environ.get("UV_HASHES", "{ sha256 = '" + str(number) * 64 + "' }")
            text += f"  {{ url = '{file}', hashes = {hashes} }},\\n"
        text += "]\\n"
    output.write_text(text)
elif said := os.environ.get("UV_SAYS"):
    sys.exit(said)
else:
    left_out = files.get("overrides.txt", "")
    text = "six==1\\n    # via -r cann.in\\n"
    if "UV_BRINGS" in os.environ and os.environ["UV_BRINGS"] + ";" not in left_out:
        text += os.environ["UV_BRINGS"] + "==1\\n    # via six\\n"
    output.write_text(text)
"""


@dataclass(frozen=True, kw_only=True)
class Uv:
    """A program in the place of uv that notes its calls, and a checkout whose targets it locks."""

    note: Path
    checkout: Checkout

    def lock(self, name: str, *upgrade: str) -> str:
        target = self.checkout.matrix.targets[name]
        return lock_target(self.checkout.project, target, upgrade, INDEX)

    def noted(self) -> tuple[list[str], dict[str, str]]:
        """The arguments and the files of the last resolution."""
        return next(call for call in reversed(self.calls()) if "pins.in" not in call[1])

    def calls(self) -> list[tuple[list[str], dict[str, str]]]:
        lines = self.note.read_text(encoding="utf-8").splitlines()
        return [(argv, files) for argv, files in map(json.loads, lines)]

    def of(self, option: str) -> list[str]:
        argv, _ = self.noted()
        return [after for word, after in itertools.pairwise(argv) if word == option]

    def inputs(self) -> dict[str, str]:
        return {name: text for name, text in self.noted()[1].items() if name.endswith(".in")}


def stand_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkout: Callable[[Path], Checkout]
) -> Uv:
    package = tmp_path / "stand-in" / "uv"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(UV, encoding="utf-8")
    (package.parent / "pip.py").write_text(PIP, encoding="utf-8")
    monkeypatch.setitem(process._OF, "uv", ("PYTHONPATH", "UV_*"))
    monkeypatch.setitem(process._OF, "pip", ("PYTHONPATH",))
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    monkeypatch.setenv("UV_NOTE", str(tmp_path / "note"))
    (tmp_path / "checkout").mkdir()
    return Uv(note=tmp_path / "note", checkout=checkout(tmp_path / "checkout"))


@pytest.fixture
def uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Uv:
    return stand_in(tmp_path, monkeypatch, stacked_checkout)


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Uv:
    """The same with a wheel that is built from an sdist."""
    return stand_in(tmp_path, monkeypatch, built_checkout)


def test_every_target_is_asked_for_alike(uv: Uv) -> None:
    for name in uv.checkout.matrix.targets:
        uv.lock(name)
        argv, files = uv.noted()
        assert argv[:2] == ["pip", "compile"]
        assert {word for word in argv if word.endswith(".in")} == {*uv.inputs()}
        assert uv.of("--only-binary") == [":all:"]
        assert uv.of("--build-constraint") == ["build.txt"]
        assert files["build.txt"] == "setuptools<81\n"
        assert not [word for word in argv if "://" in word or "index" in word]


@pytest.mark.parametrize(("name", "python"), [("served", "3.9.2"), ("old", "3.8.18")])
def test_it_is_resolved_for_the_target_and_not_for_this_machine(
    uv: Uv, name: str, python: str
) -> None:
    uv.lock(name)
    assert uv.of("--python-version") == [python]
    assert uv.of("--python-platform") == ["aarch64-manylinux_2_31"]


def test_each_layer_is_a_file_of_requirements(uv: Uv) -> None:
    uv.lock("served")
    assert uv.inputs() == {
        "cann.in": "numpy<2\n",
        "torch.in": "torch==2.3.1\n",
        "torch_npu.in": "torch-npu==2.3.1.post2\npyyaml\nsetuptools<81\n",
        "pip.in": "pip>=23\n",
        "py-spy.in": "py-spy\n",
        "application.in": "serve==1.2\naccelerate>=0.34.0\ntqdm\n",
    }
    uv.lock("other")
    assert {*uv.inputs()} == {"cann.in", "pip.in", "py-spy.in", "application.in"}


def test_overrides_and_sdists_are_those_of_the_application(uv: Uv) -> None:
    uv.lock("served")
    assert uv.of("--override") == ["overrides.txt"]
    lines = uv.noted()[1]["overrides.txt"].splitlines()
    assert lines == ["accelerate==0.34.2", "pyext; python_version < '3'"]
    assert {"fire", "rouge-score"} <= {*uv.of("--no-binary")}
    uv.lock("full")
    assert uv.of("--override") == []
    assert "overrides.txt" not in uv.noted()[1]
    assert uv.of("--no-binary") == ["deepspeed"]


OWN_ROW = "  - {package: triton, refused: its files overwrite others, source: tests"


@pytest.mark.parametrize(
    ("row", "left_out", "said"),
    [
        (f"{OWN_ROW}}}", "", "served: triton 1 is refused: its files overwrite others."),
        (f"{OWN_ROW}, provided_by: six}}", "# Left out: triton\n", ""),
    ],
)
def test_a_lock_has_nothing_that_is_refused(
    uv: Uv, monkeypatch: pytest.MonkeyPatch, row: str, left_out: str, said: str
) -> None:
    monkeypatch.setenv("UV_BRINGS", "triton")
    project, target = uv.checkout.project, uv.checkout.matrix.targets["served"]
    facts = project.root / "cannery/data/compat.yaml"
    text = edited("\npackages:\n", f"\npackages:\n{row}\n", facts.read_text(encoding="utf-8"))
    facts.write_text(text, encoding="utf-8")
    before = project.lock(target).read_text(encoding="utf-8")
    done = write_locks(project, [target], [], INDEX)
    lock = project.lock(target).read_text(encoding="utf-8")
    if said:
        assert said in str(done.failures["served"])
        assert "It is locked for six." in str(done.failures["served"])
        assert lock == before
    else:
        assert not done.failures
        assert left_out in lock and "triton==" not in lock
        assert parse_lock(lock).left_out == ("triton",)
        # Once more, from that lock.
        assert write_locks(project, [target], [], INDEX).changed == ()


def test_only_named_packages_may_move(uv: Uv) -> None:
    uv.lock("full")
    assert uv.of("--upgrade-package") == []
    uv.lock("full", "torch", "numpy")
    assert uv.of("--upgrade-package") == ["torch", "numpy"]
    assert "--upgrade" not in uv.noted()[0]


def test_uv_begins_with_the_current_lock(uv: Uv) -> None:
    target = uv.checkout.matrix.targets["served"]
    uv.lock("served")
    assert uv.noted()[1]["lock.txt"] == with_files(lock_of(target), {})
    uv.checkout.project.lock(target).unlink()
    uv.lock("served")
    assert "lock.txt" not in uv.noted()[1]


@pytest.mark.slow
def test_an_equal_lock_is_not_written(uv: Uv) -> None:
    targets = [uv.checkout.matrix.targets[name] for name in ("served", "other")]
    paths = [uv.checkout.project.build_lock, *map(uv.checkout.project.lock, targets)]
    assert [*write_locks(uv.checkout.project, targets, [], INDEX).changed] == paths
    before = [path.stat().st_mtime_ns for path in paths]
    assert write_locks(uv.checkout.project, targets, [], INDEX).changed == ()
    assert [path.stat().st_mtime_ns for path in paths] == before


FAILURES: dict[str, tuple[str, type[Exception], str]] = {
    "nothing fits": (
        "No solution found when resolving dependencies: serve wants six",
        MatrixError,
        "the requirements of served cannot be satisfied. uv says:\nNo solution found",
    ),
    "no index": ("error: connection refused", EngineError, "uv could not lock served."),
}


@pytest.mark.parametrize(("says", "kind", "message"), FAILURES.values(), ids=FAILURES)
def test_failures_of_uv(
    uv: Uv, monkeypatch: pytest.MonkeyPatch, says: str, kind: Any, message: str
) -> None:
    monkeypatch.setenv("UV_SAYS", says)
    with pytest.raises(kind) as caught:
        uv.lock("served")
    assert message in str(caught.value)
    assert says in str(caught.value)


def test_an_sdist_is_locked_without_running_it(built: Uv) -> None:
    built.lock("served")
    assert built.inputs()["built-serve_npu.in"] == "serve-npu==1.1\n"
    assert "serve-npu" in built.of("--no-binary")
    stated = '[[dependency-metadata]]\nname = "serve-npu"\nversion = "1.1"\nrequires-dist = []\n'
    assert {files["uv.toml"] for _, files in built.calls()} == {stated}
    built.lock("other")
    assert built.noted()[1]["uv.toml"] == ""


def test_the_builder_of_a_wheel_is_locked_apart(built: Uv) -> None:
    target = built.checkout.matrix.targets["served"]
    text = lock_build_requirements(built.checkout.project, target, ["wheel"], INDEX)
    assert f"{INPUTS}{Requirements(target).build_digest}\n" in text
    assert built.inputs() == {"pip.in": "pip>=23\n", "serve_npu.in": "setuptools<81\nwheel\n"}
    assert built.of("--python-version") == ["3.9.2"]
    assert built.of("--upgrade-package") == ["wheel"]
    assert "--no-binary" not in built.noted()[0]


def test_both_locks_are_written(built: Uv) -> None:
    target = built.checkout.matrix.targets["served"]
    built.checkout.project.build_lock.parent.mkdir(parents=True, exist_ok=True)
    done = write_locks(built.checkout.project, [target], [], INDEX)
    assert not done.failures
    names = {"build-requirements.lock", "requirements.lock", "requirements.txt"}
    assert {path.name for path in done.changed} == names


def test_a_missing_version_is_named_with_its_line(
    built: Uv, monkeypatch: pytest.MonkeyPatch
) -> None:
    says = "No solution found: there is no version of serve-npu==1.1"
    monkeypatch.setenv("UV_SAYS", says)
    with pytest.raises(MatrixError) as caught:
        built.lock("served")
    text = (built.checkout.project.root / "matrix.yaml").read_text(encoding="utf-8")
    line = text.partition("serve-npu==1.1")[0].count("\n") + 1
    assert f"matrix.yaml:{line}:" in str(caught.value)
    assert says in str(caught.value)


def test_an_unknown_package_cannot_be_upgraded(built: Uv) -> None:
    targets = [built.checkout.matrix.targets["served"]]
    check_upgrades(built.checkout.project, targets, ["wheel"])
    with pytest.raises(UsageError, match="no selected target has a package 'whel'"):
        check_upgrades(built.checkout.project, targets, ["whel"])


def test_the_lock_names_the_best_file(uv: Uv, monkeypatch: pytest.MonkeyPatch) -> None:
    tags = "py3-none-any cp39-cp39-manylinux_2_17_aarch64 cp39-cp39-manylinux_2_34_aarch64"
    monkeypatch.setenv("UV_TAGS", tags)
    text = uv.lock("full")
    assert text.endswith(
        f"six==1 \\\n    --hash=sha256:{'1' * 64}\n"
        "    # file: six-1+x-cp39-cp39-manylinux_2_17_aarch64.whl\n    # via -r cann.in\n"
    )
    # Addresses are those of one index.
    assert "://" not in text
    argv, files = uv.calls()[-1]
    assert files["pins.in"] == "six==1\n"
    assert argv[argv.index("--python-version") + 1] == "3.9.2"


def test_the_build_stage_has_a_file_for_each_machine(
    uv: Uv, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"py3-none-manylinux_2_17_{machine}" for machine in ("aarch64", "x86_64")]
    monkeypatch.setenv("UV_TAGS", " ".join(names))
    base = uv.checkout.matrix.targets["full"].build_base
    [six] = parse_lock(lock_build_stage(uv.checkout.project, base, INDEX)).wheels
    assert [file.name for file in six.files] == [f"six-1+x-{name}.whl" for name in names]
    assert "uv" in uv.inputs()["build.in"].split()
    monkeypatch.setenv("UV_TAGS", "py3-none-any")
    [six] = parse_lock(lock_build_stage(uv.checkout.project, base, INDEX)).wheels
    assert [file.name for file in six.files] == ["six-1+x-py3-none-any.whl"]


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


def test_a_replaced_file_is_not_locked(uv: Uv, monkeypatch: pytest.MonkeyPatch) -> None:
    target = uv.checkout.matrix.targets["full"]
    text = uv.lock("full")
    uv.checkout.lock(target, text)
    assert uv.lock("full") == text
    monkeypatch.setenv("UV_HASHES", f"{{ sha256 = '{'e' * 64}' }}")
    with pytest.raises(MatrixError) as caught:
        uv.lock("full")
    assert str(caught.value) == (
        "the package index has another six-1+x-py3-none-any.whl than "
        f"images/full/requirements.lock: its sha256 is {'e' * 64}, not {'0' * 64}. Find out why. "
        "To use it, delete the package from the lock and lock again."
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


PLATFORM = WheelPlatform(python="3.9.2", abi="cp39", machine="aarch64", glibc="2.31")
PYLOCK = f"""
lock-version = "1.0"
[[packages]]
name = "Foo.Bar"
version = "1.0"
wheels = [
    {{ url = "https://index.test/a%20b/foo_bar-1.0%2Bx-py3-none-any.whl#sha256=0", hashes = {{ sha256 = "{"a" * 64}" }} }},
    {{ path = "/srv/wheels/foo_bar-1.0-cp39-cp39-linux_aarch64.whl", hashes = {{ md5 = "0" }} }},
    {{ name = "foo_bar-1.0-py2-none-any.whl", url = "https://index.test/get/7", hashes = {{ sha256 = "{"b" * 64}" }} }},
]
[[packages]]
name = "six"
sdist = {{ url = "https://index.test/six-1.tar.gz", hashes = {{ sha256 = "{"c" * 64}" }} }}
"""  # noqa: E501 - as uv writes it


def test_files_are_read_as_uv_writes_them() -> None:
    assert listed_files(PYLOCK) == {
        "foo-bar": (
            LockedFile(name="foo_bar-1.0+x-py3-none-any.whl", sha256="a" * 64),
            LockedFile(name="foo_bar-1.0-cp39-cp39-linux_aarch64.whl", sha256=""),
            LockedFile(name="foo_bar-1.0-py2-none-any.whl", sha256="b" * 64),
        ),
        "six": (LockedFile(name="six-1.tar.gz", sha256="c" * 64),),
    }
    assert listed_files('lock-version = "1.0"\n') == {}


ODD_FILES = [
    ("x-1-py3-none-any.any%0Aevil==1.whl", "a" * 64),
    ("x-1-py3-none-any.any%20--hash.whl", "a" * 64),
    ("x-1-py3-none-any%1B.whl", "a" * 64),
    ("x-1-py3-none-any.whl", "a" * 63 + "\\n"),
    ("x-1-py3-none-any.whl", "A" * 64),
]


@pytest.mark.parametrize(("name", "sha256"), ODD_FILES)
def test_a_file_of_an_odd_name_or_hash_is_not_locked(name: str, sha256: str) -> None:
    """It would add lines to the lock."""
    text = f"""
    [[packages]]
    name = "x"
    wheels = [{{url = "https://index.example.com/{name}", hashes = {{sha256 = "{sha256}"}}}}]
    """
    assert listed_files(text) == {"x": ()}


def files(*ends: str) -> list[LockedFile]:
    """Files of foo-bar 1.0; each has another hash."""
    names = [end if end.endswith((".gz", ".whl")) else f"foo_bar-1.0-{end}.whl" for end in ends]
    return [LockedFile(name=name, sha256=f"{n:064}") for n, name in enumerate(names)]


CHOICES: dict[str, Sequence[str]] = {
    "a binary before a pure one": ("cp39-cp39-manylinux_2_17_aarch64", "py3-none-any"),
    "the interpreter before the stable ABI": (
        "cp39-cp39-linux_aarch64",
        "cp39-abi3-manylinux_2_17_aarch64",
    ),
    "the newest glibc that fits": (
        "cp39-cp39-manylinux_2_28_aarch64",
        *("cp39-cp39-manylinux_2_17_aarch64", "cp39-cp39-manylinux_2_34_aarch64"),
    ),
    "the best of all tags of a file": (
        "cp39-cp39-manylinux2014_aarch64.manylinux_2_28_aarch64",
        "cp39-cp39-manylinux_2_17_aarch64.manylinux2014_aarch64",
    ),
    "this machine": ("py3-none-any", "cp39-cp39-manylinux_2_17_x86_64"),
    "the highest build number": ("10-py3-none-any", "2-py3-none-any", "py3-none-any"),
    "a wheel before the sdist": ("py3-none-any", "foo_bar-1.0.tar.gz"),
    "the sdist, if there is no wheel": ("foo_bar-1.0.tar.gz",),
    "a file with a name of a wheel": ("py3-none-any", "nonsense.whl"),
}


@pytest.mark.parametrize("ends", CHOICES.values(), ids=CHOICES)
def test_the_best_file_is_chosen(ends: Sequence[str]) -> None:
    lock = parse_lock("foo-bar==1.0\n")
    for order in (ends, [*reversed(ends)]):
        [file] = chosen_files(lock, {"foo-bar": files(*order)}, PLATFORM).values()
        assert file.name.removeprefix("foo_bar-1.0-").removesuffix(".whl") == ends[0]


def test_every_package_without_a_file_is_named_with_the_nearest() -> None:
    lock = parse_lock("foo-bar==1.0\nsix==1\ntorch==2\n")
    listed = {
        "foo-bar": files(
            "cp39-cp39-manylinux_2_34_x86_64",
            "cp39-cp39-manylinux_2_34_aarch64",
            "cp312-cp312-manylinux_2_34_aarch64",
        ),
        "six": [LockedFile(name="six-1-py3-none-any.whl", sha256="")],
    }
    with pytest.raises(MatrixError) as caught:
        chosen_files(lock, listed, PLATFORM)
    best = "cp39-cp39-manylinux_2_31_aarch64"
    assert "\n".join(map(str, caught.value.problems)) == (
        f"foo-bar 1.0 has no file for {best} or a platform with an older glibc. "
        "The nearest file is foo_bar-1.0-cp39-cp39-manylinux_2_34_aarch64.whl.\n"
        "the package index has no sha256 of six-1-py3-none-any.whl. "
        "Name an index that has it with --index-url.\n"
        f"torch 2 has no file for {best} or a platform with an older glibc."
    )
