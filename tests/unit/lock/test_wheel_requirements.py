# SPDX-License-Identifier: Apache-2.0
"""What the wheels of a lock want: how it is asked for and kept, and what contradicts it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from cannery.common.errors import MatrixError
from cannery.common.model import Target
from cannery.common.package_index import PackageIndex
from cannery.lock import wheel_requirements
from cannery.lock.lock_file import contradictions, parse_lock, with_files
from cannery.lock.wheel_requirements import Metadata
from tests.unit.applications import stacked_checkout

INDEX = PackageIndex(ca=None, index_url="")
SIX = "numpy", "torch", "torch-npu", "accelerate", "tqdm", "filelock"
GROUPS = {
    "numpy": "-r cann.in",
    "torch": "-r torch.in",
    "torch-npu": "-r torch_npu.in",
    "accelerate": "-r application.in",
    "tqdm": "-r application.in",
    "filelock": "torch",
}
VERSIONS = {"torch": "2.3.1", "torch-npu": "2.3.1.post2", "accelerate": "0.34.2", "numpy": "1.26.4"}


def lock_text(versions: Mapping[str, str] = VERSIONS, *, sdist: str = "") -> str:
    lines = []
    for name in SIX:
        version = versions.get(name, "1.0")
        end = ".tar.gz" if name == sdist else "-py3-none-any.whl"
        lines += [f"{name}=={version} \\", f"    --hash=sha256:{'0' * 64}"]
        lines += [f"    # file: {name.replace('-', '_')}-{version}{end}"]
        lines += [f"    # via {GROUPS[name]}"]
    return "\n".join(lines) + "\n"


@dataclass(kw_only=True)
class Pip:
    """A program in pip's place; ``says`` maps a package to what its metadata has."""

    says: dict[str, dict[str, Any]] = field(default_factory=dict)
    fails: str = ""
    report: str = ""
    asked: list[list[str]] = field(default_factory=list)

    def run(self, argv: Sequence[str], *, cwd: Path, **_: Any) -> tuple[int, str]:
        pins = (cwd / "pins.txt").read_text(encoding="utf-8").split()
        self.asked.append(pins)
        self.argv = [*argv]
        if self.fails:
            return 1, self.fails
        found = [
            {"metadata": {"name": name.replace("-", "_"), **self.says.get(name, {})}}
            for name in (pin.partition("==")[0] for pin in pins)
        ]
        text = self.report or json.dumps({"install": found})
        if text != "none":
            (cwd / "report.json").write_text(text, encoding="utf-8")
        return 0, ""


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> Pip:
    own = Pip()
    monkeypatch.setattr(wheel_requirements, "run", own.run)
    return own


@pytest.fixture
def target(tmp_path: Path) -> Target:
    return stacked_checkout(tmp_path).matrix.targets["served"]


def wanted(text: str) -> dict[str, tuple[str, ...]]:
    return {wheel.name: wheel.wants for wheel in parse_lock(text).wheels if wheel.wants}


def test_requirements_between_named_packages_are_kept(pip: Pip, target: Target) -> None:
    requires = ["torch ==2.3.1", "filelock>=1", 'tqdm>4 ; extra == "progress"', "Numpy <2, >=1.17"]
    pip.says = {
        "torch-npu": {"requires_dist": requires, "requires_python": ">=3.8"},
        "filelock": {"requires_python": ">=3.99"},
        "accelerate": {"requires_dist": ['tqdm>=4; python_version < "3"', "torch==2.3.1+cpu", "?"]},
        "tqdm": {"requires_dist": ["torch"]},
    }
    text = Metadata(INDEX).added(target, lock_text(), None)
    assert wanted(text) == {
        "torch-npu": ("python>=3.8", "numpy<2,>=1.17", "torch==2.3.1"),
        "accelerate": ("torch==2.3.1",),
    }
    assert "    # wants: python>=3.8 numpy<2,>=1.17 torch==2.3.1\n    # via -r torch_npu.in" in text
    assert with_files(text, {}) == with_files(lock_text(), {})


def test_each_wheel_is_asked_for_once_and_no_sdist(pip: Pip, target: Target) -> None:
    metadata = Metadata(INDEX)
    metadata.added(target, lock_text(sdist="tqdm"), None)
    assert pip.asked == [
        ["numpy==1.26.4", "torch==2.3.1", "torch-npu==2.3.1.post2", "accelerate==0.34.2"]
    ]
    metadata.added(target, lock_text({**VERSIONS, "torch": "2.4.0"}, sdist="tqdm"), None)
    assert pip.asked[1:] == [["torch==2.4.0"]]
    assert pip.argv[pip.argv.index("--python-version") + 1] == "3.9.2"
    assert "--platform=manylinux_2_31_aarch64" in pip.argv
    assert {"--no-deps", "--dry-run", "--ignore-requires-python"} <= {*pip.argv}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"fails": "WARNING: x\nERROR: no network\n"}, "ERROR: no network"),
        ({"report": "{}"}, "pip's report is not as expected: KeyError('install')"),
        ({"report": "none"}, "pip's report is not as expected: FileNotFoundError("),
        ({"report": "<html>"}, "pip's report is not as expected: JSONDecodeError("),
        ({"report": '{"install": [1]}'}, "pip's report is not as expected: TypeError("),
    ],
)
def test_unreadable_metadata_leaves_the_lock(
    pip: Pip,
    target: Target,
    capsys: pytest.CaptureFixture[str],
    answer: dict[str, str],
    said: str,
) -> None:
    for name, value in answer.items():
        setattr(pip, name, value)
    assert Metadata(INDEX).added(target, lock_text(), None) == lock_text()
    before = with_line("torch-npu", "torch==2.3.1")
    assert Metadata(INDEX).added(target, lock_text(), before) == before
    moved = lock_text({**VERSIONS, "torch-npu": "2.3.1.post4"})
    assert Metadata(INDEX).added(target, moved, before) == moved
    assert (
        f"served: the metadata of its wheels could not be read: {said}" in capsys.readouterr().err
    )


def with_line(name: str, line: str, versions: Mapping[str, str] = VERSIONS) -> str:
    group = f"    # via {GROUPS[name]}\n"
    head, found, tail = lock_text(versions).partition(f"{name}==")
    return head + found + tail.replace(group, f"    # wants: {line}\n{group}", 1)


@pytest.mark.parametrize(
    ("name", "line", "said"),
    [
        ("torch-npu", "torch==2.3.1 numpy<2", ()),
        ("torch-npu", "torch==2.4.0", ("torch-npu 2.3.1.post2 wants torch==2.4.0", "torch==2.3.1")),
        ("torch-npu", "numpy>=2", ("torch-npu 2.3.1.post2 wants numpy>=2", "numpy<2")),
        ("torch", "python>=3.10", ("torch 2.3.1 wants python>=3.10", "Python 3.9.2")),
        ("torch", "python>=3.9", ()),
        # The target's overrides take the place of every other requirement.
        ("torch", "accelerate>=99", ()),
        # Only what the target names is its own choice.
        ("torch", "filelock>=99", ()),
    ],
)
def test_contradictions(
    target: Target, name: str, line: str, said: tuple[str, str] | tuple[()]
) -> None:
    text = with_line(name, line)
    found = contradictions(target, parse_lock(text))
    assert len(found) == bool(said)
    if said:
        at = text.splitlines().index(f"{name}=={VERSIONS[name]} \\") + 1
        [problem] = found
        assert problem.what == (
            f"the metadata of {said[0]}, and the target has {said[1]}; "
            f"images/served/requirements.lock:{at} has it from the package index."
        )
        assert problem.where == target.span
        assert problem.fix.endswith("then run 'python build.py lock --target served'.")


def test_an_unbounded_requirement_contradicts_nothing(
    target: Target,
) -> None:
    text = with_line("accelerate", "python>=3.10 numpy>=2")
    bounded = replace(target, application=None, requirements=("accelerate>=0.34",))
    assert len(contradictions(bounded, parse_lock(text))) == 2
    assert contradictions(replace(bounded, requirements=("accelerate",)), parse_lock(text)) == []


def test_an_outdated_wheel_contradicts_nothing(target: Target) -> None:
    text = with_line("torch-npu", "torch==2.4.0", {**VERSIONS, "torch-npu": "2.4.0"})
    assert contradictions(target, parse_lock(text)) == []


def test_torch_from_a_file_is_a_version_too(target: Target) -> None:
    text = with_line("torch-npu", "torch>=2.5")
    assert len(contradictions(target, parse_lock(text))) == 1
    assert contradictions(replace(target, torch="2.5.0"), parse_lock(text)) == []


@pytest.mark.parametrize("line", ["torch==", "torch=2", "../x"])
def test_a_broken_line_is_named(line: str) -> None:
    text = with_line("torch", line)
    with pytest.raises(MatrixError) as caught:
        parse_lock(text, "images/x/requirements.lock")
    at = next(i for i, each in enumerate(text.splitlines(), 1) if "wants:" in each)
    [problem] = caught.value.problems
    assert str(problem).startswith(f"images/x/requirements.lock:{at}:1: invalid line in a lock: ")
