# SPDX-License-Identifier: Apache-2.0
"""Writes the sha256 of a file to its definition, and changes nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from cannery.common.errors import MatrixError
from cannery.matrix.files import DATA, MATRIX, Data
from cannery.matrix.schema import parse_files
from cannery.matrix.text import MatrixText


def has_place(files: Data, name: str) -> bool:
    """Whether ``files`` have the file ``name`` without a sha256."""
    return with_sha256(files, name, "0" * 64) != files


def with_sha256(files: Data, name: str, sha256: str) -> Data:
    """``files`` of a matrix with the ``sha256`` of the file ``name``, where it has none."""
    for each in (MATRIX, *DATA):
        if each in files and (place := _place(files[each], name)):
            return {**files, each: _beside(files[each], place, sha256)}
    return _in_release(files, name, sha256)


def _beside(text: str, place: tuple[yaml.Node, yaml.Node, bool], sha256: str) -> str:
    key, value, flow = place
    if flow:
        added = f", sha256: {sha256}"
    else:
        newline = "\r\n" if "\r\n" in text else "\n"
        added = f"{newline}{' ' * key.start_mark.column}sha256: {sha256}"
    end = value.end_mark.index
    if not flow:
        end += len(text[end:].splitlines()[0]) if text[end:] else 0  # a comment
    return text[:end] + added + text[end:]


def _in_release(files: Data, name: str, sha256: str) -> Data:
    """``files`` with the hash beside the others of the CANN release that ``name`` belongs to."""
    matrix = MatrixText(files)
    try:
        release = _release_of(files, name)
        line = f"{name}: {sha256}"
        if matrix.keys("cann", release, "sha256"):
            matrix.add(("cann", release, "sha256"), (line,))
        elif release:
            matrix.add(("cann", release), ("sha256:", f"  {line}"))
    except MatrixError:
        return files
    return matrix.files


def _release_of(files: Data, name: str) -> str:
    """The CANN release that has a file ``name`` without a sha256; "" for none.

    Raises:
        MatrixError: ``files`` are no matrix.
    """
    for version, release in parse_files(files).cann.items():
        own = [file for each in release.packages.values() for file in each.files]
        if any(file.name == name and not file.sha256 for file in own):
            return version
    return ""


def _place(text: str, name: str) -> tuple[yaml.Node, yaml.Node, bool] | None:
    """The key and the value of ``file: name``, and whether they are within braces."""
    # Not the C loader, whose places in a text with letters beyond ASCII are bytes.
    top = yaml.compose(text, Loader=yaml.SafeLoader)
    for mapping in _mappings(top):
        pairs = {key.value: (key, value) for key, value in mapping.value}
        if "sha256" not in pairs and "file" in pairs and pairs["file"][1].value == name:
            return *pairs["file"], bool(mapping.flow_style)
    return None


def _mappings(node: yaml.Node | None) -> Iterator[yaml.MappingNode]:
    if isinstance(node, yaml.MappingNode):
        yield node
        for _, value in node.value:
            yield from _mappings(value)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _mappings(value)
