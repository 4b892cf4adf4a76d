# SPDX-License-Identifier: Apache-2.0
"""The content key of an image, and the labels of its origin."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cannery.image.content_key import KeyInputs, bases_of, context_files, origin_labels
from cannery.matrix.schema import parse_matrix
from tests.unit.matrices import MATRIX

TARGET = parse_matrix(MATRIX, "matrix.yaml").targets["full"]

FULL = KeyInputs(
    files={"Dockerfile": "FROM x", "cannery/guard/uv": "uv"},
    artifacts={"toolkit": "01"},
    bases={"BASE_IMAGE": "debian@sha256:1"},
    simulate=False,
)

OTHERS = {
    "another text": replace(FULL, files={**FULL.files, "Dockerfile": "FROM y"}),
    "another file": replace(FULL, files={**FULL.files, "target.json": ""}),
    "a text under another name": replace(FULL, files={"Dockerfile": "FROM x", "w": "uv"}),
    "a file less": replace(FULL, files={"Dockerfile": "FROM x"}),
    "another artifact": replace(FULL, artifacts={"toolkit": "02"}),
    "an artifact of another component": replace(FULL, artifacts={"kernels": "01"}),
    "another base": replace(FULL, bases={"BASE_IMAGE": "sha256:2"}),
    "a base for another argument": replace(FULL, bases={"BUILD_IMAGE": "debian@sha256:1"}),
    "simulated": replace(FULL, simulate=True),
    "nothing": KeyInputs(files={}, artifacts={}, bases={}, simulate=False),
}


def inputs(
    files: dict[str, str], context: dict[str, str] | None = None, simulator: str = ""
) -> KeyInputs:
    return KeyInputs.from_target(
        TARGET,
        context_files(files, context or {}),
        identify_file=lambda name, _: name,
        identify_base=lambda _, base: base.name,
        simulator=simulator,
    )


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_everything_counts(other: KeyInputs) -> None:
    assert other.key != FULL.key
    assert bool(other.names_that_differ(FULL)) == (other.simulate == FULL.simulate)


def test_the_order_does_not_count() -> None:
    turned = dict(reversed([*FULL.files.items()]))
    assert replace(FULL, files=turned).key == FULL.key


def test_files_not_read_by_a_dockerfile_do_not_count() -> None:
    assert inputs({"Dockerfile": "x", "compose.yaml": "y"}) == inputs({"Dockerfile": "x"})


def test_a_file_of_the_shared_context_is_not_one_of_the_target() -> None:
    dockerfile = {"Dockerfile": "COPY --from=cannery a /"}
    assert inputs({**dockerfile, "a": "x"}).key != inputs(dockerfile, {"a": "x"}).key


SHARED = {"a": "1", "b.py": "2", "guard/c": "3", "guard/in/d": "4", "guardian": "5"}


@pytest.mark.parametrize(
    ("dockerfile", "names"),
    [
        ("FROM x", []),
        ("COPY --from=other a /\nCOPY a /\n# COPY --from=cannery a /", []),
        ("COPY --from=cannery --chmod=755 a b.py /bin/\n", ["a", "b.py"]),
        ("COPY --link --from=cannery a /x", ["a"]),
        ("RUN --mount=type=bind,from=cannery,source=b.py,target=/x \\\n  x", ["b.py"]),
        ("RUN x \\\n  --mount=from=cannery,source=guard,target=/x y", ["guard/c", "guard/in/d"]),
        ("RUN --mount=type=bind,from=cannery,target=/x y", [*SHARED]),
        ("COPY --from=cannery . /x", [*SHARED]),
        ("RUN --mount=type=bind,from=cannery-not,source=a,target=/x y", []),
    ],
)
def test_only_context_files_named_in_the_dockerfile_count(
    dockerfile: str, names: list[str]
) -> None:
    read = context_files({"Dockerfile": dockerfile}, SHARED)
    assert read == {"Dockerfile": dockerfile, **{f"cannery/{name}": SHARED[name] for name in names}}


def test_simulated_packages_replace_the_real_artifacts() -> None:
    real, simulated = inputs({}), inputs({}, simulator="spec")
    assert real.artifacts.keys() == TARGET.artifacts.keys()
    assert simulated.artifacts.keys() == {"simulator", *TARGET.real_artifacts}
    assert real.bases == {name: base.name for name, base in bases_of(TARGET).items()}


NOW = "2026-11-22T02:03:04Z"
KEY = "sha256:" + "0123456789abcdef" * 4
OWN = {
    "org.opencontainers.image.created": NOW,
    "org.opencontainers.image.version": "0123456789ab",
}


def test_an_image_says_when_and_from_where_it_was_built() -> None:
    labels = origin_labels(
        key=KEY, commit="c0ffee", origin="https://me:secret@git.example.com/a/b.git", created=NOW
    )
    assert labels == OWN | {
        "org.opencontainers.image.revision": "c0ffee",
        "org.opencontainers.image.source": "https://git.example.com/a/b.git",
    }


def test_without_a_repository_nothing_is_made_up() -> None:
    assert origin_labels(key=KEY, commit="", origin="", created=NOW) == OWN
