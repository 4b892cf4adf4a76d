# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
import yaml

from cannery.common.errors import MatrixError
from cannery.matrix.text import MatrixText

TEXT = """\
# head
schema: 1

pythons:   # which
  a:
    version: 3.9.2
    # of a
cann:
  8.0.RC2:
    kernels:
      910b: {file: x}
    requirements: &all
      - one
      - two   # last

  # an interim build
  8.0.T39:
    kernels:
      910b:
        file: y
    requirements: *all

# belongs to apex
apex:
  1:
    file: |
      several
      lines

# before the targets
targets:
  one:
    summary: "first"

  two:
    summary: >-
      folded
      text
    # the end of two
# the end
"""


def added(text: str, path: tuple[str, ...], *entry: str) -> str:
    matrix = MatrixText({"matrix.yaml": text})
    matrix.add(path, entry)
    return matrix.files["matrix.yaml"]


def new_lines(before: str, after: str) -> list[str]:
    """The lines that were added; every old line must still be there, in its order."""
    rest = iter(before.splitlines())
    expected = next(rest, None)
    found = []
    for line in after.splitlines():
        if line == expected:
            expected = next(rest, None)
        else:
            found.append(line)
    assert expected is None
    return found


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        (("pythons",), "    # of a", "cann:"),
        (("cann",), "    requirements: *all", ""),
        (("cann", "8.0.RC2", "kernels"), "      910b: {file: x}", "    requirements: &all"),
        (("cann", "8.0.T39", "kernels"), "        file: y", "    requirements: *all"),
        (("apex",), "      lines", ""),
        (("targets",), "    # the end of two", "# the end"),
    ],
)
def test_an_entry_goes_to_the_end_of_its_mapping(
    path: tuple[str, ...], before: str, after: str
) -> None:
    text = added(TEXT, path, "new:", "  key: value")
    lines = text.splitlines()
    place = next(number for number, line in enumerate(lines) if line.strip() == "new:")
    previous = lines[place - 1] or lines[place - 2]
    assert (previous, lines[place + 2]) == (before, after)
    node = yaml.safe_load(text)
    for step in path:
        node = node[float(step) if step.isdigit() else step]
    assert node["new"] == {"key": "value"}
    assert [line for line in new_lines(TEXT, text) if line] == [
        lines[place],
        lines[place + 1],
    ]


def test_entries_are_spaced_as_the_others_are() -> None:
    assert "\n\n  new: 1\n" in added(TEXT, ("targets",), "new: 1")
    assert "    # of a\n  new: 1\n" in added(TEXT, ("pythons",), "new: 1")


def test_a_missing_section_goes_before_the_targets() -> None:
    text = added(TEXT, ("deepspeed_plugins",), "0.6.0:", "  file: z")
    assert "deepspeed_plugins:\n  0.6.0:\n    file: z\n\n# before the targets\n" in text
    assert yaml.safe_load(text)["deepspeed_plugins"] == {"0.6.0": {"file": "z"}}


def test_a_missing_section_goes_before_the_families() -> None:
    text = TEXT.replace("# before the targets\n", "# both\nfamilies:\n  f: {}\n\n# the rest\n")
    after = added(text, ("deepspeed_plugins",), "0.6.0:", "  file: z")
    assert "deepspeed_plugins:\n  0.6.0:\n    file: z\n\n# both\nfamilies:\n" in after
    assert [line for line in new_lines(text, after) if line] == [
        *("deepspeed_plugins:", "  0.6.0:", "    file: z"),
    ]


def test_a_missing_targets_section_goes_to_the_end() -> None:
    text = "apex: {}\n\nfamilies:\n  f: {}\n# the end\n"
    assert added(text, ("targets",), "a:", "  b: 1") == f"{text}\ntargets:\n  a:\n    b: 1\n"


def test_a_file_without_a_last_newline() -> None:
    assert added("targets:\n  a: 1", ("targets",), "b: 2") == "targets:\n  a: 1\n  b: 2\n"


def test_the_line_ends_of_the_file_are_kept() -> None:
    text = added("targets:\r\n  a: 1\r\n", ("targets",), "b: 2")
    assert text == "targets:\r\n  a: 1\r\n  b: 2\r\n"


@pytest.mark.parametrize("text", ["targets: {}", "targets: {a: 1}", "targets:\n", "targets: []"])
def test_additions_need_a_block_mapping(text: str) -> None:
    with pytest.raises(
        MatrixError,
        match=r"cannot add to targets in matrix\.yaml: it is not an indented",
    ):
        added(text, ("targets",), "b: 2")


def test_a_lookup_by_key_path() -> None:
    matrix = MatrixText({"matrix.yaml": TEXT})
    assert matrix.keys("cann") == ["8.0.RC2", "8.0.T39"]
    assert matrix.keys("nothing", "there") == matrix.keys("schema") == []
    assert matrix.value("pythons", "a", "version") == "3.9.2"
    assert matrix.value("pythons", "b", "version") == matrix.value("pythons") == ""
