# SPDX-License-Identifier: Apache-2.0
"""Reads what an image of the vendor's contains, without running it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from cannery.common.files import write_files
from cannery.engine.bake import ENVIRONMENT, BakeSettings, apt_settings
from cannery.engine.buildx import failure, stream_to
from cannery.image.bake_file import INDEX_VARIABLE, ImageBuild, stage_file
from cannery.image.vendor_image import FACTS, VendorFacts, facts_stage


def read_facts(
    build: ImageBuild, reference: str, settings: BakeSettings, kept: Path
) -> VendorFacts:
    """What the image ``reference`` contains, which is pulled for it.

    ``build`` is that of an image whose stage ``build`` has the programs. The facts are kept in the
    file ``kept``, because the content of a digest never changes.

    Raises:
        BuildError: the image cannot be pulled or read.
        FileError: the facts cannot be kept.
    """
    if found := _parsed(kept):
        return found
    log, source = settings.logs / f"{build.id}.log", settings.source
    index = source.index_url
    with tempfile.TemporaryDirectory(prefix="cannery-facts-") as folder:
        file, made = Path(folder) / "bake.json", Path(folder) / FACTS
        stage = facts_stage(reference, Path(folder))
        apt = apt_settings([build], source, Path(folder))
        text = stage_file(build, stage, ca=source.ca, index=bool(index), apt=apt)
        file.write_text(text, encoding="utf-8")
        argv = ["docker", "buildx", "bake", "--builder", settings.builder.name]
        argv += ["--progress", "plain", "--file", str(file)]
        secret = {INDEX_VARIABLE: index} if index else {}
        code, tail = stream_to(argv, log, source, {**ENVIRONMENT, **secret})
        found = None if code else _parsed(made)
        if found:
            write_files({kept: made.read_text(encoding="utf-8")})
            return found
    raise failure(f"{build.id}: {reference} cannot be read ({code})", [*tail], log)


def _parsed(path: Path) -> VendorFacts | None:
    try:
        return VendorFacts.parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return None
