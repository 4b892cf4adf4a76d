# SPDX-License-Identifier: Apache-2.0
"""Asks the engine for several local images in one call, and lets a builder pull base images.

BuildKit keeps what it pulls by digest and platform. An engine's image store keeps one image of a
reference, so that it cannot have a base and a build base that are the same reference.
"""

from __future__ import annotations

import io
import json
import posixpath
import re
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import docker.errors
from docker.models.containers import Container

from cannery.common import console
from cannery.common.archives import read_tar
from cannery.common.errors import EngineError, Problem
from cannery.common.files import Pieces
from cannery.common.process import run
from cannery.common.references import full_reference, is_reference
from cannery.engine.bake import REPEATED
from cannery.engine.builder import Builder
from cannery.engine.client import unreachable


@dataclass(frozen=True, kw_only=True)
class LocalImage:
    """An image of the local engine; ``architecture`` is as the engine names it."""

    id: str
    architecture: str
    labels: Mapping[str, str]


Images = Mapping[str, LocalImage]
"""Reference to image, for the images that exist."""


def local_images(references: Iterable[str]) -> Images:
    """The local images among ``references``; no image has a name that docker refuses."""
    names = [name for name in dict.fromkeys(references) if is_reference(name)]
    if not names:
        return {}
    argv = ["docker", "image", "inspect", "--format", "{{json .}}", *names]
    code, output = run(argv)
    lines = output.splitlines()
    present = [line for line in lines if line.startswith("{")]
    # docker ends with 1 for a missing image and for a missing engine; only its text differs.
    absent = [line for line in lines if "No such image: " in line]
    if len(present) + len(absent) < len(names) or (code and not absent):
        raise unreachable("\n".join(line for line in lines if line not in present))
    missing = {line.partition("No such image: ")[2] for line in absent}
    images = {}
    for name, line in zip((n for n in names if n not in missing), present, strict=True):
        loaded = json.loads(line)
        labels = (loaded.get("Config") or {}).get("Labels") or {}
        architecture = loaded["Architecture"]
        images[name] = LocalImage(id=loaded["Id"], architecture=architecture, labels=labels)
    return images


_MOST_READ = 64 << 20
"""The most bytes that are read of a file, or of the files of a folder, and kept; dpkg's list of
packages has a tenth."""

_MOST_PASSED = 16 << 30
"""The most bytes of a file or a folder that are searched or passed over; the largest wheels have a
tenth."""


@dataclass(frozen=True)
class ImageFiles:
    """The files of a container that was not started.

    Its functions raise EngineError for a file or a folder that is larger than those of any image.
    """

    container: Container

    @contextmanager
    def _archive(self, path: str) -> Iterator[tuple[Iterator[bytes], dict[str, Any]] | None]:
        """The pieces of the engine's archive of ``path``, and its entry; None if there is none."""
        try:
            pieces, about = self.container.get_archive(path)
        except docker.errors.NotFound:
            yield None
            return
        # Until it is closed, no other archive of the container can be read.
        with closing(piece for piece in pieces) as chunks:
            del pieces
            yield chunks, about or {}

    def files(self, path: str, selects: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
        """The path relative to ``path`` and the content of each file that ``selects`` accepts."""
        for member, content in self._members(path, selects):
            if content is not None:
                yield posixpath.normpath(member.name), content

    def _members(
        self, path: str, selects: Callable[[str], bool]
    ) -> Iterator[tuple[tarfile.TarInfo, bytes | None]]:
        """What is at ``path`` and in it, with the content of each file that ``selects`` accepts."""
        read = passed = 0
        with self._archive(path) as opened:
            if not opened:
                return
            reader = io.BufferedReader(Pieces(opened[0]))
            try:
                with read_tar(reader, "r|") as archive:
                    for member in archive:
                        name = posixpath.normpath(member.name)
                        selected = member.isfile() and selects(name)
                        read += member.size if selected else 0
                        passed += member.size
                        _require_size(f"{path} ({name})", read, _MOST_READ)
                        _require_size(f"{path} ({name})", passed, _MOST_PASSED)
                        content = archive.extractfile(member) if selected else None
                        yield member, content.read() if content else None
            except tarfile.TarError as error:
                what = f"the engine's archive of {path} is incomplete: {error}."
                raise EngineError(what) from error

    def exists(self, path: str) -> bool:
        """Whether there is a file or a folder ``path``."""
        with self._archive(path) as opened:
            return opened is not None

    def contains(self, path: str, wanted: bytes) -> bool:
        """Whether ``wanted`` is in the file ``path``, which may be a link."""
        with self._archive(path) as opened:
            if not opened:
                return False
            chunks, about = opened
            _require_size(path, about.get("size", 0), _MOST_PASSED)
            target = about.get("linkTarget")
            before, passed = b"", 0
            # Headers of the archive in between do not matter: names do not contain it.
            for chunk in () if target else chunks:
                if wanted in before + chunk:
                    return True
                before = chunk[-len(wanted) :]
                passed += len(chunk)
                # A folder has more than its size.
                _require_size(path, passed, _MOST_PASSED)
        # The engine has followed all links but this one.
        return bool(target) and target != path and self.contains(str(target), wanted)

    def text(self, path: str) -> str:
        """The text of one file; empty if there is none.

        Raises:
            EngineError: ``path`` is a folder.
        """
        text = ""
        for member, content in self._members(path, lambda _: True):
            if member.isdir():
                raise EngineError(Problem(what=f"{path} in the image is not a file.", fix=_DOUBT))
            text = (content or b"").decode("utf-8", errors="replace")
        return text


_DOUBT = "Look at who made the image."


def _require_size(name: str, size: int, most: int) -> None:
    if size > most:
        what = f"{name} in the image has {size:,} bytes, and no image needs more than {most:,}."
        raise EngineError(Problem(what=what, fix=_DOUBT))


_ENVIRONMENT = {"BUILDX_NO_DEFAULT_ATTESTATIONS": "1"}

_SILENT = re.compile(
    r"failed to resolve .*: failed to do request: .*(dial tcp|proxyconnect|no such host|i/o timeout"
    r"|handshake timeout|is unreachable|deadline exceeded|Client\.Timeout)"
)
"""What BuildKit says if nobody answers where a registry should be."""

_DAMAGED = "unexpected commit digest"
"""What BuildKit says of content that is not what its digest says."""

_ENGINE = re.compile(
    r"snapshotter not loaded|no space left on device|read-only file system|input/output error"
    r"|code = Unavailable"
)
"""What BuildKit says if the engine or its disk has failed; the registry is not the reason."""

_FIXES = (
    (r"no match for platform", "Name an image that is for this platform, too."),
    (r"x509|certificate", "Make the builder trust it: put the CA into /etc/docker/certs.d/{host}."),
    (r"401|403|authoriz|access denied|forbidden", "Log in with an account that may: {login}"),
    (r"429|toomanyrequests", "Wait, log in ({login}), or name a mirror in cannery.toml."),
    (r"digest|mismatch|unexpected", "Its answer is not this image: ask who runs the registry."),
    (r"not found|unknown", "Check the reference in matrix.yaml, and the mirrors in cannery.toml."),
)
"""What to do, by what BuildKit says; the first that is found."""


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Why ``reference`` could not be pulled; ``silent`` if nobody has answered."""

    reference: str
    platform: str
    why: str
    silent: bool

    @property
    def problem(self) -> Problem:
        host = full_reference(self.reference).registry
        what = f"{host} does not give {self.reference} for {self.platform}: {self.why.rstrip('.')}."
        fixes = (fix for words, fix in _FIXES if re.search(words, self.why, re.IGNORECASE))
        fix = next(fixes, "Check that the builder can reach {host}.")
        return Problem(what=what, fix=fix.format(host=host, login=f"docker login {host}"))


def pull(builder: Builder, reference: str, architecture: str) -> Refusal | None:
    """Let ``builder`` pull ``reference`` unless it has it; why it cannot, or None if it can."""
    platform = f"linux/{architecture}"
    code, output = _build(builder, reference, platform, "type=cacheonly")
    if code and _DAMAGED in output:
        # Let BuildKit collect garbage, or it would take these bytes for the answer of the next
        # pull, too. No cache has such an id, so nothing else is removed.
        argv = ["docker", "buildx", "prune", "--builder", builder.name, "--force"]
        run([*argv, "--filter", "id=^none$"])
        code, output = _build(builder, reference, platform, "type=cacheonly")
    if not code:
        return None
    last = _last_line(output)
    repeated = REPEATED.search(last)
    if not repeated or _ENGINE.search(last):
        reported = last if repeated else output.strip()
        what = f"the builder {builder.name} reports:\n{reported}\n"
        fix = "Check the builder ('docker buildx ls'), and the log and the disk of its engine."
        raise EngineError(Problem(what=what, fix=fix))
    # Errors repeat the reference with every step that has failed.
    why = last[repeated.end() :].rpartition(f"{reference}: ")[2]
    return Refusal(
        reference=reference, platform=platform, why=why, silent=bool(_SILENT.search(last))
    )


def export_layout(builder: Builder, reference: str, architecture: str, folder: Path) -> None:
    """Write the image ``reference`` for one architecture into ``folder``, as an OCI layout."""
    output = f"type=oci,dest={folder},tar=false"
    code, text = _build(builder, reference, f"linux/{architecture}", output)
    if code:
        raise EngineError(f"{reference} cannot be exported:\n{_last_line(text)}")


def _last_line(output: str) -> str:
    """The line that has the error of a build; those before it are about its progress."""
    return (output.strip().splitlines() or ["docker gives no reason"])[-1]


def _build(builder: Builder, reference: str, platform: str, output: str) -> tuple[int, str]:
    with tempfile.TemporaryDirectory(prefix="cannery-pull-") as folder:
        (Path(folder) / "Dockerfile").write_text(f"FROM {reference}\n", encoding="utf-8")
        argv = ["docker", "buildx", "build", "--builder", builder.name, "--platform", platform]
        argv += ["--progress", "plain", "--provenance", "false", "--output", output, folder]
        waiting = partial(console.say, f"pulling {reference} for {platform}")
        return run(argv, env=_ENVIRONMENT, waiting=waiting)
