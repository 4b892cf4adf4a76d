# SPDX-License-Identifier: Apache-2.0
"""``build.py smoke`` on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.cli import cmd_smoke, main
from cannery.smoke.model import parse_document, to_json
from tests.unit.smokes import Items, document_of, good_items

Said = pytest.CaptureFixture[str]


def document(path: Path, items: Items) -> str:
    path.write_text(to_json(document_of(items, path.stem)), encoding="utf-8")
    return str(path)


def use(monkeypatch: pytest.MonkeyPatch, items: Items) -> None:
    """Let every image have these results."""
    monkeypatch.setattr(cmd_smoke, "smoke_image", lambda *_: document_of(items))


def test_an_image_is_tested_and_compared(
    tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, good_items())
    other = document(tmp_path / "node2.json", good_items(cards=1))
    made = tmp_path / "node1.json"
    words = ["--image", "mine:1", "--json", str(made), "--compare", other]
    assert main(["smoke", *words]) == 0
    said = capsys.readouterr().out
    assert said.startswith("mine:1 on node1: passed\n8 cards Ascend910B3, driver 25.5.0, ")
    assert "\nnode1 and node2: 2 differences\n" in said
    assert parse_document(made.read_text(encoding="utf-8"), "a").host == "node1"


def test_a_failed_check(capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    items = [each for each in good_items() if each["item"] != "memory"]
    use(monkeypatch, items)
    assert main(["smoke", "--image", "mine:1"]) == 8
    said = capsys.readouterr()
    assert said.out.startswith("mine:1 on node1: 1 check failed\n")
    assert "mine:1: failed checks: memory." in said.err


def test_files_are_compared_without_an_engine(tmp_path: Path, capsys: Said) -> None:
    files = [document(tmp_path / f"node{n}.json", good_items()) for n in (1, 2, 3)]
    assert main(["smoke", "--compare", *files]) == 0
    said = capsys.readouterr().out
    assert "node1 and node2: 0 differences" in said
    assert "node1 and node3: 0 differences" in said


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([], 2, "smoke needs an image, a container, or two files to compare"),
        (["--compare", "good.json"], 2, "or two files to compare"),
        (
            ["--compare", "good.json", "good.json", "--json", "x"],
            2,
            "--json has the results of a test",
        ),
        (["--compare", "bad.json", "nothing.json"], 9, "bad.json is not a document of"),
        (["--image", "a", "--container", "b"], 2, "cannot be combined"),
        (["--container", "a", "--simulate"], 2, "--simulate needs --image"),
        (["--image", "a", "--cards", "0"], 2, "invalid number '0'"),
    ],
)
def test_wrong_words(
    words: list[str],
    code: int,
    said: str,
    tmp_path: Path,
    capsys: Said,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document(tmp_path / "good.json", good_items())
    (tmp_path / "bad.json").write_text("{}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["smoke", *words]) == code
    assert said in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
