# SPDX-License-Identifier: Apache-2.0
"""Contents of images that are made up, and whether a document about one is valid SPDX."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict, ParseDict
from hypothesis import strategies as st
from in_toto_attestation.predicates.provenance.v1.provenance_pb2 import Provenance
from spdx_tools.spdx.model.document import Document
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

from cannery.publish.inventory import Inventory, Origin, Package

IMAGE = "sha256:" + "ab" * 32
CREATED = "2026-11-21T12:00:00Z"

CONTENTS = Inventory(
    wheels=(
        Package(name="apex", version="0.1+ascend", source=Origin.VENDOR, license="Apache-2.0"),
        Package(name="numpy", version="1.26.4", source=Origin.INDEX, license="BSD License\nText"),
        Package(name="te", version="0.4.0", source=Origin.CANN),
        Package(name="torch", version="2.3.1", source=Origin.INDEX, license="LicenseRef-Own"),
    ),
    debian=(
        Package(
            name="g++",
            version="4:10.2.1-1",
            architecture="arm64",
            source=Origin.DEBIAN,
            file="g++_10.2.1-1_arm64.deb",
            sha256="ef" * 32,
        ),
        Package(
            name="libc6",
            version="2.31-13+deb11u11",
            architecture="arm64",
            source=Origin.DEBIAN,
            place="the base image",
        ),
    ),
    vendor=(
        Package(
            name="python",
            version="3.8.18",
            architecture="arm64",
            source=Origin.VENDOR,
            file="cpython-3.8.18.tar.gz",
            sha256="cd" * 32,
            place="its makers",
        ),
        Package(
            name="toolkit",
            version="8.0.T39",
            architecture="arm64",
            source=Origin.SIMULATOR,
            file="toolkit_8.0.T39.run",
            place="a partner",
        ),
    ),
    distribution="debian-11",
    simulated=True,
)

# What JSON and XML can carry: no lone surrogates, no control characters.
_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=12)
_NAMES = st.from_regex(r"[a-z0-9][a-z0-9+._-]{0,8}", fullmatch=True)


def _packages(
    *sources: Origin, file: st.SearchStrategy[str]
) -> st.SearchStrategy[tuple[Package, ...]]:
    package = st.builds(
        Package,
        name=_NAMES,
        version=st.from_regex(r"([0-9]:)?[0-9][0-9a-z.+~-]{0,6}", fullmatch=True),
        license=st.sampled_from(["", "MIT", "MIT OR Apache-2.0", "LicenseRef-a"]) | _TEXT,
        architecture=st.sampled_from(["arm64", "all"]),
        source=st.sampled_from(sources),
        file=file,
        sha256=st.just("") | st.just("cd" * 32),
        place=_TEXT,
    )
    return st.lists(package, max_size=5, unique=True).map(lambda found: tuple(sorted(found)))


ANY_CONTENTS = st.builds(
    Inventory,
    wheels=_packages(
        *(each for each in Origin if each is not Origin.DEBIAN), file=st.just("") | _NAMES
    ),
    debian=_packages(Origin.DEBIAN, file=st.just("") | _NAMES),
    vendor=_packages(Origin.VENDOR, Origin.SIMULATOR, file=_NAMES),
    distribution=st.sampled_from(["debian-11", "debian-12", ""]),
    simulated=st.booleans(),
)


def read_spdx(document: dict[str, Any]) -> Document:
    """``document`` as the reference implementation reads it, which finds nothing wrong in it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bill.spdx.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        read: Document = parse_file(str(path))
    messages = validate_full_spdx_document(read, "SPDX-2.3")
    assert not messages, [message.validation_message for message in messages]
    return read


def read_slsa(predicate: dict[str, Any]) -> None:
    """Make sure that the published schema has every field of ``predicate``, in this form."""
    assert MessageToDict(ParseDict(predicate, Provenance())) == predicate
