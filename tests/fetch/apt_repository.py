# SPDX-License-Identifier: Apache-2.0
"""A repository for apt with packages as the vendor's: dpkg-deb makes them, gpg signs the index."""

from __future__ import annotations

import gzip
import subprocess
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from tests.fetch.server import Files

SUITE = "dists/cann"
INDEXES = "main/binary-{}/Packages.gz"
INDEX = INDEXES.format("arm64")


@dataclass(frozen=True, kw_only=True)
class Signer:
    """A key of gpg's in ``home``, with its public part in the file ``key``."""

    home: Path
    key: Path
    fingerprint: str

    @classmethod
    def made(cls, home: Path, name: str) -> Signer:
        home.mkdir(mode=0o700)
        _gpg(home, "--passphrase", "", "--quick-gen-key", f"{name} <a@example.com>", "ed25519")
        lines = _gpg(home, "--with-colons", "--list-keys").decode().splitlines()
        fingerprint = next(line.split(":")[9] for line in lines if line.startswith("fpr:"))
        key = home / "key.gpg"
        key.write_bytes(_gpg(home, "--export", fingerprint))
        return cls(home=home, key=key, fingerprint=fingerprint)

    def armoured(self) -> bytes:
        return _gpg(self.home, "--armor", "--export", self.fingerprint)

    def signed(self, text: bytes) -> bytes:
        return _gpg(self.home, "--clearsign", "--output", "-", content=text)


def _gpg(home: Path, *words: str, content: bytes = b"") -> bytes:
    argv = ["gpg", "--homedir", str(home), "--batch", "--quiet", "--pinentry-mode", "loopback"]
    return subprocess.run([*argv, *words], input=content, capture_output=True, check=True).stdout


def deb(
    folder: Path, package: str, version: str, files: dict[str, bytes], kind: str = "xz"
) -> bytes:
    """A package with ``files``; ``kind`` is how it is compressed."""
    tree = folder / f"{package}-{len([*folder.iterdir()])}"
    (tree / "DEBIAN").mkdir(parents=True)
    control = f"Package: {package}\nVersion: {version}\nArchitecture: arm64\n"
    control += "Maintainer: Tests <a@example.com>\nDescription: a package of tests\n"
    (tree / "DEBIAN/control").write_text(control)
    for name, content in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(content)
    argv = ["dpkg-deb", "--root-owner-group", f"-Z{kind}", "--build", str(tree), f"{tree}.deb"]
    subprocess.run(argv, capture_output=True, check=True)
    return Path(f"{tree}.deb").read_bytes()


def publish(
    server: Files,
    signer: Signer,
    packages: dict[tuple[str, str], bytes],
    *,
    more: str = "",
    architecture: str = "arm64",
) -> None:
    """Let the server have the repository; ``more`` are lines of InRelease."""
    stanzas, name = [], INDEXES.format(architecture)
    for (package, version), content in packages.items():
        path = f"pool/{package}_{version}_{architecture}.deb"
        server.content[path] = content
        stanzas.append(
            f"Package: {package}\nVersion: {version}\nArchitecture: {architecture}\n"
            f"Filename: {path}\n"
            f"Size: {len(content)}\nSHA256: {sha256(content).hexdigest()}\n"
        )
    index = gzip.compress("\n".join(stanzas).encode(), mtime=0)
    server.content[f"{SUITE}/{name}"] = index
    release = f"Origin: Tests\nSuite: cann\nCodename: cann\n{more}SHA256:\n"
    release += f" {sha256(index).hexdigest()} {len(index)} {name}\n"
    server.content[f"{SUITE}/InRelease"] = signer.signed(release.encode())
