# SPDX-License-Identifier: Apache-2.0
"""Reads the files of matrix.yaml that no package registry serves, and where they can be had."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from cannery.common.bases import Address, File
from cannery.common.model import chip_hint
from cannery.common.references import is_versioned
from cannery.common.yaml_reader import Section

_SHA256 = re.compile(r"[0-9a-f]{64}")
_FOLDER = re.compile(r"[A-Za-z0-9._%+-]+(/[A-Za-z0-9._%+-]+)*")
_HEADER = re.compile(r"[A-Za-z0-9-]+")
_NOT_THERE = "none"
"""What ``download`` says of a file that is not in the folder of its release."""


@dataclass(frozen=True, kw_only=True)
class Downloads:
    """The vendor's servers of files, and where the licence of these files is."""

    eula: str = ""
    mirrors: tuple[Address, ...] = ()


def read_downloads(top: Section) -> Downloads:
    """The mapping ``downloads`` of ``top``; mistakes become problems."""
    section = top.section("downloads", required=False)
    if section is None:
        return Downloads()
    eula = section.text("eula")
    _check_url(section, "eula", eula)
    mirrors = section.mappings("mirrors", required=True, item="a mirror")
    found = Downloads(eula=eula, mirrors=tuple(_mirror(each) for each in mirrors))
    section.done()
    return found


def _mirror(section: Section) -> Address:
    url = section.text("url")
    _check_url(section, "url", url)
    inner = section.section("headers", required=False)
    headers = inner.all_texts() if inner else {}
    for name, value in headers.items():
        if inner and not is_header(name, value):
            inner.wrong(name, f"{name!r} is not a request header.", "Write it as Referer: VALUE.")
    section.done()
    return Address(url=url.rstrip("/"), headers=tuple(headers.items()))


def is_header(name: str, value: str) -> bool:
    """Whether ``name`` and ``value`` can be in the head of a request."""
    return bool(_HEADER.fullmatch(name)) and value.isprintable() and value.isascii()


def is_url(text: str) -> bool:
    """Whether ``text`` is the address of a web server, or of something on it."""
    try:
        parts = urlsplit(text)
        has_host = bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False
    plain = text.isprintable() and text.isascii() and not set(text) & set(' "\\$')
    return parts.scheme in ("https", "http") and has_host and plain


def _check_url(section: Section, key: str, text: str) -> None:
    if text and not is_url(text):
        section.wrong(key, f"{text!r} is not a web address.", "Write it as https://HOST/PATH.")


def read_folder(section: Section, downloads: Downloads, default: str = "") -> str:
    """The folder of ``section``, in the mirrors or with a server of its own; empty for none."""
    folder = section.text("download", required=False)
    if not folder:
        return default
    check_folder(section, folder, downloads)
    return "" if folder == _NOT_THERE else folder


def check_folder(section: Section, folder: str, downloads: Downloads) -> None:
    """Report a ``download`` that is neither a folder of the mirrors nor an address."""
    if folder == _NOT_THERE:
        return
    if "://" in folder:
        _check_url(section, "download", folder)
    elif not _FOLDER.fullmatch(folder) or ".." in folder.split("/"):
        fix = "Write it as CANN/CANN%208.1.RC1, or as a whole address."
        section.wrong("download", f"{folder!r} is not a folder of a server.", fix)
    elif not downloads.mirrors:
        fix = "Write a whole address, or add 'downloads' with 'mirrors' at the top level."
        section.wrong("download", f"there is no mirror with the folder {folder!r}.", fix)


@dataclass(frozen=True, kw_only=True)
class FileFacts:
    """What is known of a file's bytes: ``size`` in bytes, and the ``zip``, if one has the file.

    Each is empty or 0 where it is not known; ``name`` is empty for a zip with the usual name.
    """

    name: str = ""
    sha256: str = ""
    size: int = 0
    zip: FileFacts | None = None


def read_facts_of_file(section: Section) -> FileFacts:
    """What ``section`` says of the bytes of its file; mistakes become problems."""
    inner = section.section("zip", required=False)
    archive = None
    if inner:
        name = inner.text("file", required=False)
        check_file_name(inner, name)
        archive = FileFacts(name=name, sha256=_sha256(inner, required=True), size=_size(inner))
        inner.done()
    sha256 = _sha256(section, required=False)
    return FileFacts(sha256=sha256, size=_size(section), zip=archive)


def made_file(
    name: str, origin: str, folder: str, downloads: Downloads, facts: FileFacts | None = None
) -> File:
    """The file ``name`` in the ``folder`` of the mirrors, with what is known of its bytes."""
    facts = facts or FileFacts()
    archive = None
    if facts.zip:
        archive = File(
            name=facts.zip.name or zip_name(name),
            origin=origin,
            sha256=facts.zip.sha256,
            size=facts.zip.size,
            addresses=_addresses(facts.zip.name or zip_name(name), folder, downloads),
        )
    return File(
        name=name,
        origin=origin,
        sha256=facts.sha256,
        size=facts.size,
        addresses=_addresses(name, folder, downloads),
        zip=archive,
        eula=downloads.eula if folder and "://" not in folder else "",
    )


def zip_name(name: str) -> str:
    """The usual name of the zip with the file ``name``."""
    return name.rpartition(".")[0] + ".zip"


def read_file(section: Section | None, downloads: Downloads) -> File:
    """The file of ``section``; mistakes become problems."""
    if section is None:
        return File(name="", origin="")
    name = section.text("file")
    check_file_name(section, name)
    origin, folder = section.text("origin"), read_folder(section, downloads)
    file = made_file(name, origin, folder, downloads, read_facts_of_file(section))
    section.done()
    return file


def _addresses(name: str, folder: str, downloads: Downloads) -> tuple[Address, ...]:
    if not folder or not name:
        return ()
    if "://" in folder:
        return (Address(url=f"{folder.rstrip('/')}/{quote(name)}"),)
    return tuple(
        Address(url=f"{mirror.url}/{folder}/{quote(name)}", headers=mirror.headers)
        for mirror in downloads.mirrors
    )


def _sha256(section: Section, *, required: bool) -> str:
    text = section.text("sha256", required=required)
    check_sha256(section, "sha256", text)
    return text


def check_sha256(section: Section, key: str, text: str) -> None:
    """Report a ``text`` under ``key`` that is no sha256."""
    if text and not _SHA256.fullmatch(text):
        section.wrong(key, "a sha256 has 64 digits, 0 to 9 and a to f.")


def _size(section: Section) -> int:
    text = section.text("size", required=False)
    if text and not (re.fullmatch(r"[1-9][0-9]{0,14}", text)):
        section.wrong("size", f"{text!r} is not a size in bytes.", "Write it as 1234567.")
        return 0
    return int(text or 0)


def check_file_name(section: Section, name: str, key: str = "file") -> None:
    """Report a ``name`` under ``key`` that is not the name of a file in a folder."""
    if "/" in name or name in (".", ".."):
        section.wrong(key, f"{name!r} must be a file name without folders.")


def read_images(section: Section, chips: Collection[str]) -> dict[str, str]:
    """Chip to the reference of the vendor's image, under ``image``; mistakes become problems."""
    inner = section.section("image", required=False)
    if inner is None:
        return {}
    found = inner.all_texts()
    for chip, reference in found.items():
        _check_chip(inner, chip, chips)
        if reference and not is_versioned(reference):
            fix = "Write it as registry/name:tag or registry/name@sha256:digest."
            inner.wrong(chip, f"{reference!r} is not the reference of an image.", fix)
    return found


def _check_chip(section: Section, chip: str, chips: Collection[str]) -> None:
    if chip not in chips:
        what = f"the release has no kernels for chip {chip!r}."
        section.wrong(chip, what, chip_hint(chip, chips))
