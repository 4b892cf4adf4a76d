# SPDX-License-Identifier: Apache-2.0
"""What a new user waits for, and ``.ci/run`` on a new machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.first_use import commands, new_machine, printed
from cannery.common.errors import UsageError

ROOT = Path(__file__).parents[3]


def test_a_new_user_is_told_to_build_and_to_run() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    build, try_out = commands(readme)
    assert build == "bash setup.sh python build.py --target py39-torch231-cann8t39 --simulate"
    assert " build.py run --target py39-torch231-cann8t39 --simulate -- python3 -c " in try_out
    with pytest.raises(UsageError, match="must have one command that builds"):
        commands(readme.replace("build.py run", "build.py list"))
    assert printed(readme) == "tensor([2., 2.], device='npu:0')"
    with pytest.raises(UsageError, match="does not say what"):
        printed("")


def test_a_machine_with_an_engine_is_not_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dockerd").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="not new: dockerd is installed"):
        next(new_machine(ROOT, tmp_path))


def script(folder: Path, text: str) -> None:
    """Write .ci/run of the clone in ``folder``."""
    path = folder / "cannery" / ".ci" / "run"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")


def test_the_first_use_and_ci_times_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands take no time here: what is measured is the clock between their beginnings."""
    now = [0.0]
    spent = {"build.py --target": 110, " build.py run ": 10, ".ci/run": 600}
    run: list[str] = []

    def do(argv: list[str], **_: object) -> tuple[int, str]:
        command = " ".join(argv)
        run.append(command)
        now[0] += next((each for part, each in spent.items() if part in command), 1)
        return 0, "tensor([2., 2.], device='npu:0')\nci: README's tests took 120 s\n"

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (tmp_path / "cannery").mkdir()
    (tmp_path / "cannery" / "README.md").write_text(readme, encoding="utf-8")
    script(tmp_path, "")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("bench.first_use.run", do)
    monkeypatch.setattr("bench.first_use.time.monotonic", lambda: now[0])
    monkeypatch.setattr("bench.first_use.processor_seconds", lambda: 1.5 * now[0])
    figures = [*new_machine(ROOT, tmp_path)]
    assert [(e.key, e.ours.median, e.passed) for e in figures] == [
        ("first-command", 110, True),
        ("second-command", 10, True),
        ("tests-first", 2, True),
        ("ci-first", 10, True),
        ("tests-again", 2, True),
        ("ci-again", 10, True),
    ]
    assert [e.detail for e in figures] == [{}] * 2 + [{}, {"processor_minutes": 15}] * 2
    assert run.count("bash setup.sh --stop") == 1
