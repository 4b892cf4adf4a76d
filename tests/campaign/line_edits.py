# SPDX-License-Identifier: Apache-2.0
"""Edits of a file's text, made without knowing that it is YAML."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from tests.campaign.document import Document

Edit = Callable[[Random, Document], str]

_SIGNS = [
    *(": ", "#", " #", "- ", "{", "}", "[", "]", ",", "&a ", "*a", "!x ", "|", ">", "'", '"', "%"),
    *("@", "`", "\\", "?", "\t", " ", "\n", "\0", "\a", "\x7f", "\x85", "\u2028", "\u200b", "\xa0"),
    *("\ufeff", "中文", "é", "🙂", "=", "<", ">", "0", "9", ".", "-", "$", "/", "..", "~"),
]


def delete_line(random: Random, file: Document) -> str:
    lines = file.lines
    del lines[random.randrange(len(lines))]
    return "".join(lines)


def duplicate_line(random: Random, file: Document) -> str:
    lines = file.lines
    at = random.randrange(len(lines))
    return "".join([*lines[: at + 1], *lines[at:]])


def swap_neighbours(random: Random, file: Document) -> str:
    lines = file.lines
    at = random.randrange(len(lines) - 1)
    lines[at], lines[at + 1] = lines[at + 1], lines[at]
    return "".join(lines)


def swap_lines(random: Random, file: Document) -> str:
    lines = file.lines
    one, other = random.sample(range(len(lines)), 2)
    lines[one], lines[other] = lines[other], lines[one]
    return "".join(lines)


def indent(random: Random, file: Document) -> str:
    lines = file.lines
    at = random.randrange(len(lines))
    lines[at] = " " * random.choice((1, 2, 4)) + lines[at]
    return "".join(lines)


def dedent(random: Random, file: Document) -> str:
    lines = file.lines
    at = random.choice([number for number, line in enumerate(lines) if line.startswith("  ")])
    lines[at] = lines[at].removeprefix("  " if random.random() < 0.7 else " ")
    return "".join(lines)


def tab(random: Random, file: Document) -> str:
    lines = file.lines
    at = random.choice([number for number, line in enumerate(lines) if " " in line])
    lines[at] = lines[at].replace("  " if lines[at].startswith("  ") else " ", "\t", 1)
    return "".join(lines)


def comment_out(random: Random, file: Document) -> str:
    lines = file.lines
    at = random.randrange(len(lines))
    lines[at] = "# " + lines[at]
    return "".join(lines)


def add_comment(random: Random, file: Document) -> str:
    lines = file.lines
    lines.insert(random.randrange(len(lines) + 1), random.choice(["# 说明\n", "\n", "  # a: b\n"]))
    return "".join(lines)


def delete_character(random: Random, file: Document) -> str:
    at = random.randrange(len(file.text))
    return file.text[:at] + file.text[at + 1 :]


def insert_sign(random: Random, file: Document) -> str:
    at = random.randrange(len(file.text))
    return file.text[:at] + random.choice(_SIGNS) + file.text[at:]


def other_case(random: Random, file: Document) -> str:
    at = random.choice([each.start() for each in re.finditer("[A-Za-z]", file.text)])
    return file.text[:at] + file.text[at].swapcase() + file.text[at + 1 :]


def other_digit(random: Random, file: Document) -> str:
    at = random.choice([each.start() for each in re.finditer("[0-9]", file.text)])
    digit = (int(file.text[at]) + random.choice((1, 9))) % 10
    return f"{file.text[:at]}{digit}{file.text[at + 1 :]}"


def truncate(random: Random, file: Document) -> str:
    return file.text[: random.randrange(len(file.text))]


def whole_file(random: Random, file: Document) -> str:
    """Marks at the beginning, line ends, more documents, and nothing at all."""
    text = file.text
    last = text.rstrip("\n")
    return random.choice(
        [
            *("\ufeff" + text, text.replace("\n", "\r\n"), text.replace("\n", "\r"), last),
            *("---\n" + text, text + "---\n" + text, text + "...\n", "%YAML 1.2\n---\n" + text),
            *(
                "",
                "\n",
                "# nothing\n",
                "null\n",
                "[]\n",
                "{}\n",
                "text\n",
                "\0" + text,
                text + "\t",
            ),
            "\n" * 100 + text,
        ]
    )


def lone_surrogate(random: Random, file: Document) -> str:
    """Stands for a byte that is not UTF-8 (see ``encoded``)."""
    at = random.randrange(len(file.text))
    return file.text[:at] + "\udcff" + file.text[at:]


def encoded(text: str) -> bytes:
    """``text`` as it is written to the file."""
    return text.encode("utf-8", errors="surrogateescape")


LINE_EDITS: dict[str, Edit] = {
    "delete a line": delete_line,
    "duplicate a line": duplicate_line,
    "swap neighbouring lines": swap_neighbours,
    "swap two lines": swap_lines,
    "indent": indent,
    "dedent": dedent,
    "tab": tab,
    "comment a line out": comment_out,
    "add a comment": add_comment,
    "delete a character": delete_character,
    "insert a character": insert_sign,
    "a letter's case": other_case,
    "another digit": other_digit,
    "truncate": truncate,
    "the whole file": whole_file,
    "not UTF-8": lone_surrogate,
}
