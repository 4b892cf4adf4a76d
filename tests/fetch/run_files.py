# SPDX-License-Identifier: Apache-2.0
"""Shell archives with the header of makeself, as far as cannery reads it."""

from __future__ import annotations

import gzip
import io
import tarfile
from hashlib import md5, sha256

TOOLKIT = "Ascend-cann-toolkit_8.1.RC1_linux-aarch64.run"
RUNTIME = "run_package/CANN-runtime-8.1.RC1-linux.aarch64.run"


def parts(*names: str, noise: bytes = b"") -> bytes:
    """A tar.gz with an empty package of each of these parts, and a file with ``noise``."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name in ("install.sh", *names):
            archive.addfile(tarfile.TarInfo(name), io.BytesIO())
        member = tarfile.TarInfo("noise")
        member.size = len(noise)
        archive.addfile(member, io.BytesIO(noise))
    return gzip.compress(stream.getvalue(), mtime=0)


def run_file(
    payload: bytes, *, old: bool = False, checksum: bool = True, lines: int = 30, step: str = ":"
) -> bytes:
    """A package with ``payload``; ``old`` for a header as of makeself 2.1, with MD5 alone.

    ``step`` is a line of shell code that it runs.
    """
    hashes = (md5(payload).hexdigest() if old else "0" * 32, sha256(payload).hexdigest())
    hashes = hashes if checksum else ("0" * 32, "0" * 64)
    known = [f'MD5="{hashes[0]}"', *([] if old else [f'SHA="{hashes[1]}"'])]
    head = [
        *("#!/bin/sh", "# This script was generated using Makeself", 'CRCsum="1467904117"', *known),
        *('label="CANN"', 'script="./install.sh"', f'filesizes="{len(payload)}"', 'keep="n"'),
        f'offset=`head -n {lines} "$1" | wc -c`' if old else f'skip="{lines}"',
    ]
    head += [": more shell code"] * (lines - len(head) - 2) + [step, "exit 0"]
    return "\n".join([*head, ""]).encode() + payload


def a_toolkit(noise: bytes = b"") -> bytes:
    """A package of the toolkit 8.1.RC1 for aarch64."""
    return run_file(parts(RUNTIME, noise=noise))


ERROR = "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
WRONG_BODIES: dict[str, str | bytes] = {
    "an XML error page of {} bytes: AccessDenied": '<?xml version="1.0" encoding="UTF-8"?>\n'
    f"{ERROR}",
    "a web page of {} bytes: Log in": '<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/'
    'xhtml"><head><title>Log in</title></head><body/></html>',
    "a JSON document of {} bytes: No permission": '{"error": {"message": "No permission"}}\n  ',
    "a text of {} bytes: Access is denied.": "Access is denied.",
    "a web page of {} bytes: Sign in": "\ufeff<html><title>Sign\n in</title><p>name</p></html>",
    "a web page of {} bytes: Gateway": "<!-- proxy -->\n<!DOCTYPE html><html><title>Gateway</title>"
    "</html>     ",
    "a web page of {} bytes: 403 Forbidden": "<!DOCTYPE html>\n<html><head><title>403 Forbidden"
    "</title></head><body/></html>",
    "a script of {} bytes without an archive": "#!/bin/sh\necho installed\n\n",
    "a zip archive of {} bytes": b"PK\x03\x04" + bytes(100),
    "a program of {} bytes": b"\x7fELF" + bytes(60),
    "{} bytes of no kind that is known": b"\xff\xfe" * 32,
    "a package for apt of {} bytes": b"!<arch>\n" + bytes(64),
    "a gzip archive of {} bytes": b"\x1f\x8b" + bytes(60),
}
"""What a server sends in place of a package, by the words that say what it is."""


def wrong_bodies() -> dict[str, bytes]:
    """The same as bytes, with their number in the words."""
    bodies = {k: v.encode() if isinstance(v, str) else v for k, v in WRONG_BODIES.items()}
    return {words.format(len(body)): body for words, body in bodies.items()}
