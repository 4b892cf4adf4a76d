# SPDX-License-Identifier: Apache-2.0
"""Edits the project's own YAML files at random, and judges what becomes of each edit.

An edit must be refused, with a file and a line for every problem, or it must mean what it says:
where the YAML says the same as before, the meaning is the same, and where it says something else,
a command prints or writes something else. Anything else is a failure.
"""

from __future__ import annotations

import difflib
import shutil
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from random import Random

import yaml

from cannery.common.errors import CanneryError, Span
from cannery.image.render import Renderer
from cannery.matrix.files import DATA, is_source
from cannery.matrix.project import Project
from tests.campaign.document import Document
from tests.campaign.line_edits import LINE_EDITS, encoded
from tests.campaign.meaning import Meaning, data, equal_but_paired, names_of, normal, read, rows
from tests.campaign.outputs import Outputs
from tests.campaign.structure_edits import STRUCTURE_EDITS
from tests.campaigns import FAILURE, CaseVerdict

_SHARES = {"bases": 4, "pythons": 3, "cann": 8, "wheels": 4, "applications": 5, "leave-out": 1}
RECOMMENDED = "cannery/data/recommended.yaml"
"""Is not edited: its rules choose among targets, and another rule may choose the same one."""

FILES = {
    "matrix.yaml": 20,
    **{name: _SHARES[Path(name).stem] for name in DATA if name != RECOMMENDED},
    "cannery/data/compat.yaml": 45,
    "publish.yaml": 10,
}
"""The files, each with its share of the edits in percent."""

_NO_DEFINITIONS = ("cannery/data/compat.yaml", "publish.yaml")

_EDITS = {**LINE_EDITS, **STRUCTURE_EDITS}


class Outcome(StrEnum):
    """What became of an edit."""

    REFUSED = "refused"
    SAME = "same meaning"
    DIFFERENT = "different output"
    FAILURE = FAILURE


@dataclass(frozen=True, kw_only=True)
class Edit:
    """One edit of a file; ``number`` and the campaign's seed make it again."""

    number: int
    file: str
    kind: str
    before: str
    after: str

    @property
    def diff(self) -> str:
        old, new = (_lines(text) for text in (self.before, self.after))
        return "".join(difflib.unified_diff(old, new, self.file, "edited", n=1))

    @property
    def title(self) -> str:
        return f"edit {self.number} of {self.file} ({self.kind})"


@dataclass(frozen=True, kw_only=True)
class Verdict(CaseVerdict):
    """The outcome of an edit."""

    case: Edit

    def told(self, seed: int) -> str:
        """As of every verdict, with the edit."""
        return f"{super().told(seed)}\n{self.case.diff[:4000]}"


class Campaign:
    """Makes and judges edits of the files of the checkout ``root``, in copies below ``scratch``."""

    def __init__(self, root: Path, scratch: Path, seed: int) -> None:
        self.seed = seed
        self._texts = {name: (root / name).read_text(encoding="utf-8") for name in FILES}
        self._documents = {n: Document(name=n, text=t) for n, t in self._texts.items()}
        self._data = {name: data(text) for name, text in self._texts.items()}
        self._projects = {name: _copy(root, scratch / name) for name in FILES}
        self._before = read(self._projects["matrix.yaml"])
        renderer = Renderer(Project(root=root))
        own = {name: text for name, text in self._texts.items() if is_source(name)}
        self._outputs = Outputs(renderer, self._before, own)

    def edit(self, number: int) -> Edit:
        """The edit ``number``; the same number gives the same edit."""
        random = Random(f"{self.seed}:{number}")
        [name] = random.choices([*FILES], [*FILES.values()])
        kind = random.choice([*_EDITS])
        after = _EDITS[kind](random, self._documents[name])
        return Edit(number=number, file=name, kind=kind, before=self._texts[name], after=after)

    def run(self, numbers: Iterable[int]) -> Iterator[Verdict]:
        """Every edit in ``numbers`` with its outcome."""
        for number in numbers:
            yield self.judge(self.edit(number))

    def judge(self, edit: Edit) -> Verdict:
        """What becomes of ``edit``."""
        path = self._projects[edit.file].root / edit.file
        path.write_bytes(encoded(edit.after))
        try:
            # What these files do not define is as before.
            known = self._before.definitions if edit.file in _NO_DEFINITIONS else None
            return self._judged(edit, read(self._projects[edit.file], known))
        except CanneryError as error:
            lost = [str(each) for each in error.problems if not self._is_placed(edit, each.where)]
            if lost:
                return Verdict(case=edit, outcome=Outcome.FAILURE, why=f"no place: {lost}")
            return Verdict(case=edit, outcome=Outcome.REFUSED, why=str(error))
        except Exception:  # noqa: BLE001 - whatever it is, it is a finding
            return Verdict(case=edit, outcome=Outcome.FAILURE, why=traceback.format_exc())
        finally:
            path.write_bytes(encoded(edit.before))

    def _is_placed(self, edit: Edit, where: Span | None) -> bool:
        if where is None or where.file not in FILES:
            return False
        text = edit.after if where.file == edit.file else self._texts[where.file]
        return 0 < where.line <= len(_lines(text)) + 1

    def _judged(self, edit: Edit, after: Meaning) -> Verdict:
        before = self._before
        try:
            said = data(edit.after.removeprefix("\ufeff"))
        except (yaml.YAMLError, UnicodeEncodeError):
            why = "accepted, and it is not YAML"
            return Verdict(case=edit, outcome=Outcome.FAILURE, why=why)
        differ = self._outputs.differ(after)
        if differ:
            # As text, because the order of keys shows as that of targets.
            same_data = repr(said) == repr(self._data[edit.file])
            why = "the same data, and another output" if same_data else ""
            outcome = Outcome.FAILURE if same_data else Outcome.DIFFERENT
            return Verdict(case=edit, outcome=outcome, why=why)
        if normal(said) == normal(self._data[edit.file]):
            return Verdict(case=edit, outcome=Outcome.SAME)
        same = (
            (before.targets, before.publishing) == (after.targets, after.publishing)
            and rows(before.compat) == rows(after.compat)
            and names_of(before.definitions) == names_of(after.definitions)
        )
        if same and equal_but_paired(said, self._data[edit.file]):
            return Verdict(case=edit, outcome=Outcome.SAME)
        why = "the edit is ignored" if same else "another meaning, and no output shows it"
        return Verdict(case=edit, outcome=Outcome.FAILURE, why=why)


def _copy(root: Path, folder: Path) -> Project:
    folder.mkdir(parents=True)
    for name in (*FILES, RECOMMENDED):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, folder / name)
    for path in [root / "images", *(root / "cannery").iterdir()]:
        if not (folder / path.relative_to(root)).exists():
            (folder / path.relative_to(root)).symlink_to(path)
    return Project(root=folder)


def _lines(text: str) -> list[str]:
    return [f"{line!r}\n"[1:-2] + "\n" for line in text.splitlines(keepends=True)]
