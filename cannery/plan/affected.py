# SPDX-License-Identifier: Apache-2.0
"""Which targets a change concerns: those whose content key differs between two commits.

What a key does not tell is judged by the file: one that is known to be in no image, and to have no
part in building and checking one, concerns no target. Any other concerns all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from cannery.errors import MatrixError
from cannery.image.content_key import content_key
from cannery.matrix.schema import parse_matrix
from cannery.model import Target

MATRIX = "matrix.yaml"
IMAGES = "images/"

_LOCK = "requirements.lock"
"""A file of a target's folder that is no part of its image: what it locks is in others."""

_HARMLESS_FOLDERS = (
    *("bench/", "cannery/catalog/", "docs/", "releases/", "npm/"),
    *("tests/browser/", "tests/cli/", "tests/engine/", "tests/policy/", "tests/publish/"),
    *("tests/simulator/", "tests/simulator_packages/", "tests/unit/", "tests/workflows/"),
)
_HARMLESS = (
    *(".gitignore", ".hadolint.yaml", "LICENSE", "compat.yaml", "noxfile.py", "publish.yaml"),
    *(".ci/run", ".ci/summary.py", ".github/dependabot.yml"),
    *(f".github/workflows/{name}.yml" for name in ("npu", "pages", "release", "retention")),
    ".github/workflows/update.yml",
)
"""Files that no image is made from, built with or checked with. compat.yaml says what may be built,
and changes nothing of it. The workflow that builds is not among them."""


@dataclass(frozen=True, kw_only=True)
class Commit:
    """The project at a commit.

    ``entries`` maps the path of every file to what tells its content and mode from others;
    ``texts`` maps the paths for which ``is_read`` holds to their text.
    """

    entries: Mapping[str, str]
    texts: Mapping[str, str]


def is_read(path: str) -> bool:
    """Whether content keys are computed from ``path``."""
    return path == MATRIX or path.startswith(IMAGES)


def is_harmless(path: str) -> bool:
    """Whether a change of ``path``, which ``is_read`` does not hold for, concerns no image."""
    if "/" not in path and path.endswith(".md"):
        return True
    return path in _HARMLESS or path.startswith(_HARMLESS_FOLDERS)


def affected(
    before: Commit,
    after: Commit,
    targets: Iterable[Target],
    *,
    simulate: bool,
    stand_in: Callable[[Target], str],
) -> dict[str, str]:
    """Id to reason of those of ``targets``, all of them of ``after``, that the change concerns.

    ``stand_in`` says what the simulated packages of a target are to be.
    """
    changed = sorted(
        path
        for path in before.entries.keys() | after.entries.keys()
        if before.entries.get(path) != after.entries.get(path)
    )
    unsure = [path for path in changed if not is_read(path) and not is_harmless(path)]
    if unsure:
        more = f" and {len(unsure) - 1} more are" if len(unsure) > 1 else " is"
        return {t.id: f"{unsure[0]}{more} not known to be harmless" for t in targets}
    try:
        earlier = parse_matrix(before.texts[MATRIX], MATRIX).targets
    except KeyError:
        return {target.id: f"there was no {MATRIX}" for target in targets}
    except MatrixError as error:
        return {
            target.id: f"the earlier matrix is wrong: {error.problems[0]}" for target in targets
        }
    files_before, files_after = _by_folder(before), _by_folder(after)
    found = {}
    for target in targets:
        old = earlier.get(target.id)
        if old is None:
            found[target.id] = "it is new"
            continue
        now = Content.of(target, files_after, stand_in(target) if simulate else "")
        then = Content.of(old, files_before, stand_in(old) if simulate else "")
        if now.key != then.key:
            found[target.id] = now.differs_from(then)
    return found


def _by_folder(commit: Commit) -> dict[str, dict[str, str]]:
    """Name of each folder of images/ to its files, those of its own folders too."""
    found: dict[str, dict[str, str]] = {}
    for path, text in commit.texts.items():
        folder, _, name = path.removeprefix(IMAGES).partition("/")
        found.setdefault(folder, {})[name] = text
    return found


@dataclass(frozen=True, kw_only=True)
class Content:
    """What the content key of a target is made from, at a commit."""

    files: Mapping[str, str]
    artifacts: Mapping[str, str]
    bases: Mapping[str, str]
    simulate: bool

    @classmethod
    def of(cls, target: Target, folders: Mapping[str, Mapping[str, str]], stand_in: str) -> Content:
        """The content of ``target``; a vendor file without a known sha256 goes by its name.

        ``folders`` are those of images/, with their files. ``stand_in`` is empty for an image of
        the vendor's files.
        """
        texts = folders.get(target.id, {})
        files = target.real_artifacts if stand_in else target.artifacts
        artifacts = {name: file.sha256 or file.name for name, file in files.items()}
        build_base = target.build_base.image
        return cls(
            files={name: text for name, text in texts.items() if name != _LOCK},
            artifacts={**({"simulator": stand_in} if stand_in else {}), **artifacts},
            bases={
                "BASE_IMAGE": target.base.image,
                "TOOL_IMAGE": build_base,
                "INSTALLER_IMAGE": build_base,
            },
            simulate=bool(stand_in),
        )

    @property
    def key(self) -> str:
        return content_key(self.files, self.artifacts, self.bases, simulate=self.simulate)

    def differs_from(self, other: Content) -> str:
        """What is not the same in ``other``, in words."""
        pairs = (
            (self.files, other.files),
            (self.artifacts, other.artifacts),
            (self.bases, other.bases),
        )
        names = [
            name
            for mine, theirs in pairs
            for name in sorted(mine.keys() | theirs.keys())
            if mine.get(name) != theirs.get(name)
        ]
        return f"changed: {', '.join(names)}"
