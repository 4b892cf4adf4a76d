# SPDX-License-Identifier: Apache-2.0
"""Types of values in matrix.yaml, and its files that no package registry serves."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from typing import Annotated
from urllib.parse import quote, urlsplit

from packaging.requirements import InvalidRequirement
from pydantic import AfterValidator, Discriminator, Field, Tag, ValidationInfo

from cannery.common.bases import Address, File, Published
from cannery.common.errors import did_you_mean
from cannery.common.files import day
from cannery.common.models import (
    MistakesError,
    Model,
    Parsed,
    Sha256,
    Unique,
    matching,
    raise_mistakes,
)
from cannery.common.specifiers import parse_requirement

_FOLDER = re.compile(r"[A-Za-z0-9._%+-]+(/[A-Za-z0-9._%+-]+)*")
_NOT_THERE = "none"
"""What ``download`` says of a file that is not in the folder of its release."""

_BRACES = (KeyError, IndexError, ValueError, AttributeError, TypeError)
"""What a text raises that has something else in braces."""


def _url(text: str) -> str:
    plain = text.isprintable() and text.isascii() and not set(text) & set(' "\\$')
    with suppress(ValueError):
        parts = urlsplit(text)
        has_host = bool(parts.hostname) and (parts.port or 1) > 0
        if plain and has_host and parts.scheme in ("https", "http"):
            return text
    raise ValueError(f"{text!r} is not a web address. Write it as https://HOST/PATH.")


def _file_name(text: str) -> str:
    if "/" in text or text in (".", ".."):
        raise ValueError(f"{text!r} must be a file name without folders.")
    return text


def _with_braces(text: str) -> str:
    try:
        text.format(release="", chip="", machine="")
    except _BRACES:
        what = f"{text!r} may have {{release}}, {{chip}} and {{machine}} only."
        raise ValueError(what) from None
    return text


def _folder(text: str, info: ValidationInfo) -> str:
    if text == _NOT_THERE:
        return text
    if "://" in text:
        return _url(text)
    plain = text.replace("{release}", "8.5.0")
    if not _FOLDER.fullmatch(plain) or ".." in plain.split("/"):
        fix = "Write it as CANN/CANN%208.1.RC1, or as a whole address."
        raise ValueError(f"{text!r} is not a folder of a server. {fix}")
    if not (info.context or {}).get("downloads"):
        fix = "Write a whole address, or add 'downloads' with 'mirrors' at the top level."
        raise ValueError(f"there is no mirror with the folder {text!r}. {fix}")
    return text


def _headers(headers: dict[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        plain = value.isprintable() and value.isascii()
        if not plain or not re.fullmatch(r"[A-Za-z0-9-]+", name):
            what = f"{name!r} is not a request header."
            raise MistakesError([((name,), what, "Write it as Referer: VALUE.")])
    return headers


def _requirement(text: str) -> str:
    try:
        requirement = parse_requirement(text)
    except InvalidRequirement:
        raise ValueError(f"{text!r} is not a requirement. Write it as in numpy<2.") from None
    if requirement.url:
        raise ValueError(f"{text!r} names an address, and only versions can be locked.")
    return text


def named(section: str, noun: str) -> AfterValidator:
    """Marks a text that must name an entry of the top-level ``section`` of the same file.

    The context of the validation is the file's mapping.
    """

    def check(name: str, info: ValidationInfo) -> str:
        known = (info.context or {}).get(section)
        if not isinstance(known, dict) or name not in known:
            hint = did_you_mean(name, known if isinstance(known, dict) else ())
            raise_mistakes([((), f"there is no {noun} {name!r}.", hint)])
        return name

    return AfterValidator(check)


Requirements = Unique[Annotated[str, AfterValidator(_requirement)]]
Url = Annotated[str, AfterValidator(_url)]
Size = Annotated[
    str,
    matching(r"[1-9][0-9]{0,14}", "{text!r} is not a size in bytes. Write it as 1234567."),
]
FileName = Annotated[str, AfterValidator(_file_name)]
FilePattern = Annotated[FileName, AfterValidator(_with_braces)]
"""The name of a file, or of one for each {release}, {chip} and {machine}."""

Folder = Annotated[str, AfterValidator(_folder)]
"""A folder below each mirror, the address of another server, or none."""

FolderPattern = Annotated[str, AfterValidator(_with_braces), AfterValidator(_folder)]


class _Server(Model):
    """A server of files, and the request headers that it asks for."""

    url: Url
    headers: Annotated[dict[str, str], AfterValidator(_headers)] = Field(default={})


def _address(server: _Server) -> Address:
    return Address(url=server.url.rstrip("/"), headers=tuple(server.headers.items()))


Server = Annotated[Address, Parsed(_address, of=_Server)]


class Downloads(Model):
    """The vendor's servers of files, and where the licence of these files is."""

    eula: Url
    mirrors: tuple[Server, ...]


NO_DOWNLOADS = Downloads.model_construct(eula="", mirrors=())


class Zip(Model):
    """A published archive with a file, whose usual name it has where none is given."""

    file: FileName = ""
    sha256: Sha256
    size: Size = ""


_SEVERAL = 2


class Variant(Model):
    """The sha256 of one of the files that servers have under one name, and who says so."""

    sha256: Sha256
    origin: str
    read: Annotated[str, AfterValidator(day)]
    size: Size = ""


def _variants(shapes: tuple[Variant, ...]) -> tuple[Published, ...]:
    if len(shapes) < _SEVERAL:
        raise_mistakes([((), "a list has two hashes or more.", "Write one as NAME: SHA256.")])
    raise_mistakes(
        ((number, "sha256"), "this sha256 is there twice.", "Keep one of them.")
        for number, each in enumerate(shapes)
        if each.sha256 in [other.sha256 for other in shapes[:number]]
    )
    return tuple(
        Published(sha256=each.sha256, origin=each.origin, read=each.read, size=int(each.size or 0))
        for each in shapes
    )


Hashes = Annotated[
    Annotated[Sha256, Tag("one")]
    | Annotated[tuple[Published, ...], Parsed(_variants, of=tuple[Variant, ...]), Tag("several")],
    Discriminator(lambda data: "several" if isinstance(data, list | tuple) else "one"),
]
"""The sha256 of a file, or of each file that servers have under its name."""


class FileFacts(Model):
    """What is known of a file's bytes, and the zip, if one has the file."""

    sha256: Sha256 = ""
    size: Size = ""
    zip: Zip | None = None


class FileShape(FileFacts):
    """A file, and where it can be had."""

    file: FileName
    origin: str
    download: Folder = ""


def zip_name(name: str) -> str:
    """The usual name of the zip with the file ``name``."""
    return name.rpartition(".")[0] + ".zip"


def made_file(name: str, origin: str, folder: str, downloads: Downloads, facts: FileFacts) -> File:
    """The file ``name`` in the ``folder`` of the mirrors, with what is known of its bytes."""

    def file(name: str, facts: FileFacts | Zip) -> File:
        addresses: tuple[Address, ...] = ()
        if "://" in folder:
            addresses = (Address(url=f"{folder.rstrip('/')}/{quote(name)}"),)
        elif folder:
            addresses = tuple(
                replace(mirror, url=f"{mirror.url}/{folder}/{quote(name)}")
                for mirror in downloads.mirrors
            )
        size = int(facts.size or 0)
        return File(name=name, origin=origin, sha256=facts.sha256, size=size, addresses=addresses)

    folder = "" if folder == _NOT_THERE else folder
    archive = file(facts.zip.file or zip_name(name), facts.zip) if facts.zip else None
    eula = downloads.eula if folder and "://" not in folder else ""
    return replace(file(name, facts), zip=archive, eula=eula)
