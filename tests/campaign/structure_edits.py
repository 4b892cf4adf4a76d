# SPDX-License-Identifier: Apache-2.0
"""Edits of what a YAML file says: its keys, values, lists and anchors."""

from __future__ import annotations

import re
from random import Random

from tests.campaign.document import Document, Pair, Piece
from tests.campaign.line_edits import Edit

_OTHERS = [
    *("null", "~", "", "''", '" "', "true", "false", "0", "-1", "1.5", "1e999", "0x1F", "1_000"),
    *(
        "9" * 400,
        "x" * 5000,
        "中文名字",
        "'中文'",
        "2026-01-01",
        ".inf",
        "[]",
        "{}",
        "[[]]",
        "[null]",
    ),
    *("{a: b}", "[a, b]", "!!int 3", "!!binary aGk=", "!x y", "|\n  text", ">-\n  text", "..", "*"),
    *(
        "../../etc/passwd",
        "$HOME",
        "`id`",
        "a b",
        "{0}",
        "{target}",
        "%s",
        '"\\u0000"',
        "x; rm -r /",
    ),
]
_KEYS = ["", "x", "<<", "? [a]", "中文", "note", "schema", "0", "null", "'a b'", "requirement"]
_VERSION = re.compile(r"\d+")


def _scalar(random: Random, file: Document) -> tuple[str, Piece]:
    return random.choice(file.scalars)


def _value(random: Random, file: Document) -> Piece:
    """A value, mostly a scalar."""
    if random.random() < 0.75:
        return _scalar(random, file)[1]
    return random.choice(file.pairs).value


def other_type(random: Random, file: Document) -> str:
    return file.replaced(_value(random, file), random.choice(_OTHERS))


def value_from_elsewhere(random: Random, file: Document) -> str:
    return file.replaced(_scalar(random, file)[1], file.of(_scalar(random, file)[1]))


def value_of_same_key(random: Random, file: Document) -> str:
    """What the same key has elsewhere, which is likely to be valid here."""
    key, piece = _scalar(random, file)
    same = [each for name, each in file.scalars if name == key and file.of(each) != file.of(piece)]
    return file.replaced(piece, file.of(random.choice(same)) if same else "x")


def next_version(random: Random, file: Document) -> str:
    """One number of a value, one more or one less."""
    found = [each for _, piece in file.scalars for each in _numbers(file, piece)]
    start, end = random.choice(found)
    number = int(file.text[start:end]) + random.choice((-1, 1))
    return file.text[:start] + str(number) + file.text[end:]


def _numbers(file: Document, piece: Piece) -> list[tuple[int, int]]:
    found = _VERSION.finditer(file.text, piece.start, piece.end)
    return [each.span() for each in found if len(each[0]) < 7]


def quote(random: Random, file: Document) -> str:
    piece = _scalar(random, file)[1]
    text = file.of(piece)
    if text[:1] in ("'", '"'):
        return file.replaced(piece, text[1:-1])
    return file.replaced(piece, random.choice(("'{}'", '"{}"')).format(text))


def space_in_quotes(random: Random, file: Document) -> str:
    piece = _scalar(random, file)[1]
    text = file.of(piece).strip("'\"")
    return file.replaced(
        piece, random.choice(('" {}"', '"{} "', '"{}\\n"', '"{}\\t"')).format(text)
    )


def anchor(random: Random, file: Document) -> str:
    """An anchor, of use or not, or an alias of one that is there or not."""
    piece = _value(random, file)
    names = re.findall(r"&(\S+)", file.text) or ["none"]
    new = random.choice((f"&new {file.of(piece)}", f"*{random.choice(names)}", "*none"))
    return file.replaced(piece, new)


def merge_key(random: Random, file: Document) -> str:
    pair = random.choice(file.pairs)
    names = re.findall(r"&(\S+)", file.text) or ["none"]
    return _inserted(file, pair, f"<<: *{random.choice(names)}")


def delete_key(random: Random, file: Document) -> str:
    return _without(file, random.choice(file.pairs))


def _without(file: Document, pair: Pair) -> str:
    before, after = file.text[: pair.key.start], file.text[pair.value.end :]
    if pair.flow:
        begins = before.rstrip().endswith("{")
        return before + after.lstrip(", ") if begins else before.rstrip().rstrip(",") + after
    if after.startswith("\n") and not before.rsplit("\n", 1)[-1].strip():
        return before.rstrip(" ") + after[1:]
    return before + after


def duplicate_key(random: Random, file: Document) -> str:
    pair = random.choice(file.pairs)
    return _inserted(file, pair, file.text[pair.key.start : pair.value.end])


def _inserted(file: Document, pair: Pair, text: str) -> str:
    """``text`` as one more entry before ``pair``."""
    before, after = file.text[: pair.key.start], file.text[pair.key.start :]
    room = len(before) - before.rfind("\n") - 1
    return before + text + (", " if pair.flow else "\n" + " " * room) + after


def copy_under_other_name(random: Random, file: Document) -> str:
    pair = random.choice(file.pairs)
    value = file.text[pair.key.end : pair.value.end]
    name = random.choice([f"{pair.name}-2", f"{pair.name}.1", random.choice(file.pairs).name])
    return _inserted(file, pair, name + value)


def unknown_key(random: Random, file: Document) -> str:
    pair = random.choice(file.pairs)
    value = file.of(_scalar(random, file)[1])
    return _inserted(file, pair, f"{random.choice(_KEYS)}: {value}")


def misspell_key(random: Random, file: Document) -> str:
    pair = random.choice(file.pairs)
    at = random.randrange(pair.key.start, pair.key.end)
    sign = random.choice(("", "x", file.text[at].swapcase(), file.text[at] * 2))
    return file.text[:at] + sign + file.text[at + 1 :]


def rename_key(random: Random, file: Document) -> str:
    name = random.choice([random.choice(file.pairs).name, *_KEYS])
    return file.replaced(random.choice(file.pairs).key, name)


def swap_values(random: Random, file: Document) -> str:
    one, other = sorted(random.sample([p for _, p in file.scalars], 2), key=lambda p: p.start)
    between = file.text[one.end : other.start]
    parts = (file.text[: one.start], file.of(other), between, file.of(one), file.text[other.end :])
    return "".join(parts)


def list_or_scalar(random: Random, file: Document) -> str:
    if random.random() < 0.5:
        piece = _scalar(random, file)[1]
        return file.replaced(piece, random.choice(("[{0}]", "[{0}, {0}]")).format(file.of(piece)))
    piece = random.choice(file.lists or [each.value for each in file.pairs])
    inner = file.of(piece).strip("[]").split(",")[0]
    return file.replaced(piece, random.choice(("[]", inner, "x", "[x]", "{}")))


def item(random: Random, file: Document) -> str:
    """One item of a list more, less, or twice."""
    if not file.items:
        return add_entry(random, file)
    piece = random.choice(file.items)
    text = file.of(piece)
    return file.replaced(piece, random.choice((f"{text}, {text}", f"{text}, x", "", "{}", "[x]")))


def add_entry(random: Random, file: Document) -> str:
    """An entry in an empty mapping or list, as publish.yaml has them."""
    words = ["latest", "newest", "py39-torch231-cann8t39", "py38-torch210-cann8rc2", "x/y", "A"]
    one, other = random.choice(words), random.choice(words)
    entry = random.choice(
        [
            f"{{{one}: {other}}}",
            f"{{{one}: [{other}, {random.choice(words)}]}}",
            f"{{{one}: {{title: 试, url: https://example.com/{other}}}}}",
            f"{{{one}: {{title: try, url: {other}}}}}",
        ]
    )
    empty = [each.value for each in file.pairs if file.of(each.value) in ("{}", "[]")]
    return file.replaced(random.choice(empty or [each.value for each in file.pairs]), entry)


def other_operator(random: Random, file: Document) -> str:
    found = [*re.finditer("[<>=!~]=|[<>]", file.text)] or [*re.finditer(":", file.text)]
    old = random.choice(found)
    new = random.choice(("==", "===", "!=", "~=", "<", "<=", ">", ">=", "=", ""))
    return file.text[: old.start()] + new + file.text[old.end() :]


STRUCTURE_EDITS: dict[str, Edit] = {
    "another type": other_type,
    "a value from elsewhere": value_from_elsewhere,
    "a value of the same key": value_of_same_key,
    "a version by one": next_version,
    "quotes": quote,
    "a space in quotes": space_in_quotes,
    "anchors": anchor,
    "a merge key": merge_key,
    "delete a key": delete_key,
    "duplicate a key": duplicate_key,
    "copy under another name": copy_under_other_name,
    "an unknown key": unknown_key,
    "misspell a key": misspell_key,
    "rename a key": rename_key,
    "swap two values": swap_values,
    "a list or a scalar": list_or_scalar,
    "an item of a list": item,
    "add an entry": add_entry,
    "another operator": other_operator,
}
