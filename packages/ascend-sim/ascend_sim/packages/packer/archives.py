# SPDX-License-Identifier: Apache-2.0
"""Wheels and tar archives, the same bytes each time."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import zipfile

from . import marker
from .tree import Tree


def python_wheel(file_name: str, files: dict[str, bytes]) -> bytes:
    """A wheel for every machine, with these modules, which may be none."""
    name, version, tag = file_name.removesuffix(".whl").split("-", 2)
    info = f"{name}-{version}.dist-info"
    every = {**files, f"{info}/{marker.FILE}": marker.text(name).encode()}
    every[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        "Summary: Stand-in made by cannery's simulator\n"
    ).encode()
    every[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: cannery-simulator\nRoot-Is-Purelib: true\nTag: {tag}\n"
    ).encode()
    record = f"{info}/RECORD"
    every[record] = record_text(every, record).encode()
    return zip_bytes(every)


def marked_tar(name: str) -> bytes:
    """A tar.gz with nothing but the note that it is a stand-in."""
    tree = Tree()
    tree.add_file(marker.FILE, marker.text(name))
    return tree.tar_gz()


def record_text(files: dict[str, bytes], record: str) -> str:
    """The text of RECORD: a hash for each file and, as the format asks, none for ``record``."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
        writer.writerow([path, f"sha256={digest.decode()}", len(content)])
    writer.writerow([record, "", ""])
    return text.getvalue()


def zip_bytes(files: dict[str, bytes]) -> bytes:
    """Pack in the order given and under a fixed date, so that the bytes are reproducible."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, content in files.items():
            member = zipfile.ZipInfo(path, date_time=(1980, 1, 1, 0, 0, 0))
            member.compress_type = zipfile.ZIP_DEFLATED
            member.create_system = 3
            member.external_attr = 0o100644 << 16
            archive.writestr(member, content)
    return buffer.getvalue()
