# SPDX-License-Identifier: Apache-2.0
"""``ascend-doctor ranktable`` on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.exit_codes import main


@pytest.fixture
def tables(tmp_path: Path) -> list[str]:
    """Tables of two single servers, as every server makes its own."""
    found = []
    for server in (1, 2):
        conf = tmp_path / f"{server}.conf"
        lines = [f"address_{card}=10.0.{server}.{card + 1}" for card in range(8)]
        conf.write_text("\n".join(lines), encoding="utf-8")
        path = tmp_path / f"{server}.json"
        words = ["--server", f"90.90.3.{server}={conf}", "--out", str(path)]
        assert main(["ranktable", "generate", *words]) == 0
        found.append(str(path))
    return found


def test_tables_are_merged_checked_and_shown(
    tables: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "hccl.json")
    assert main(["ranktable", "merge", *tables, "--out", out]) == 0
    assert main(["ranktable", "check", out, *tables]) == 0
    capsys.readouterr()
    assert main(["ranktable", "show", out]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "version 1.0, 2 servers, 16 ranks"
    assert lines[-1].split() == ["15", "90.90.3.2", "7", "10.0.2.8"]
    assert main(["ranktable", "merge", *tables]) == 0
    assert capsys.readouterr().out == Path(out).read_text(encoding="utf-8")


def test_all_problems_are_reported_and_nothing_is_written(
    tables: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    half = tmp_path / "half.json"
    half.write_text(Path(tables[0]).read_text(encoding="utf-8")[:300], encoding="utf-8")
    out = tmp_path / "hccl.json"
    out.write_text("before", encoding="utf-8")
    words = ["merge", str(half), str(tmp_path / "nothing.json"), tables[1], "--out", str(out)]
    assert main(["ranktable", *words]) == 9
    said = capsys.readouterr().err
    assert "the file ends too early" in said
    assert "nothing.json" in said
    assert main(["ranktable", "merge", tables[0], tables[0], "--out", str(out)]) == 8
    assert "server 90.90.3.1 is there 2 times" in capsys.readouterr().err
    assert out.read_text(encoding="utf-8") == "before"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["generate"], 2, "needs --server, --hosts or --config-map"),
        (["generate", "x.json", "--hosts", "h"], 2, "takes no files"),
        (["generate", "--server", "90.90.3.1"], 2, "invalid server '90.90.3.1'"),
        (["generate", "--server", "a=nothing.conf"], 9, "nothing.conf"),
        (["check"], 2, "needs a rank table"),
        (["check", "x.json", "--hosts", "h"], 2, "takes rank tables only"),
        (["chek", "x.json"], 2, "invalid choice: 'chek'"),
        (["check", "/dev/zero"], 9, "/dev/zero"),
    ],
)
def test_wrong_words(
    words: list[str],
    code: int,
    said: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["ranktable", *words]) == code
    assert said in capsys.readouterr().err
