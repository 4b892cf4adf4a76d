# SPDX-License-Identifier: Apache-2.0
"""The files in no registry that a target needs: which of them a folder lacks, and on one screen."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from cannery.common.bases import File
from cannery.common.console import columns, size_text
from cannery.common.errors import Problem, counted
from cannery.common.model import Target
from cannery.fetch.apt import is_in_apt

CANN = ("toolkit", "kernels", "nnal")
"""The components that are parts of a CANN release."""


def cann_files(target: Target) -> dict[str, File]:
    """Component to file, for those of CANN's packages that ``target`` has."""
    return {name: file for name, file in target.artifacts.items() if name in CANN}


def needed_files(target: Target, *, simulate: bool, with_cann: bool = False) -> dict[str, File]:
    """Component to vendor file, for all files that a build needs, less simulated ones.

    ``with_cann`` says that those of CANN are not simulated although the device is.
    """
    real = {*target.real_artifacts, *(CANN if with_cann else ())} if simulate else target.artifacts
    # A build may take CANN from an image.
    left_out = CANN if target.vendor_image else ()
    artifacts = target.artifacts.items()
    return {name: file for name, file in artifacts if name in real and name not in left_out}


def files_of_build(target: Target, *, simulate: bool, with_cann: bool = False) -> dict[str, File]:
    """Component to file, for all files of the ``artifacts`` context, also simulated ones.

    A simulated file has no published sha256.
    """
    needed = needed_files(target, simulate=simulate, with_cann=with_cann)
    return {
        name: file if name in needed else replace(file, sha256="")
        for name, file in needed_files(target, simulate=False).items()
    }


def missing_files(
    target: Target, folder: Path, *, simulate: bool, with_cann: bool = False
) -> dict[str, str]:
    """Name to origin of the ``needed_files`` that ``folder`` does not have."""
    return {
        file.name: file.origin + ("; can be fetched" if file.is_downloadable else "")
        for file in needed_files(target, simulate=simulate, with_cann=with_cann).values()
        if not (folder / file.name).is_file()
    }


class Missing:
    """Numbers the files that several targets lack, from 1, in the order of the targets.

    ``files`` maps, for each target, the name of a file to where people get it.
    """

    def __init__(self, files: Iterable[Mapping[str, str]]) -> None:
        self._origins = {name: origin for each in files for name, origin in each.items()}
        self._numbers = {name: number for number, name in enumerate(self._origins, 1)}

    def needs(self, names: Iterable[str]) -> str:
        """As in ``needs files 1, 3``; the numbers are those of the legend."""
        numbers = [str(self._numbers[name]) for name in names]
        return f"needs file{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"

    def legend(self, heading: str) -> list[str]:
        """``heading`` and a line for each file; empty if no file is missing."""
        if not self._numbers:
            return []
        width = len(str(len(self._numbers)))
        return [
            heading,
            *(
                f"  {number:>{width}}  {name} ({self._origins[name]})"
                for name, number in self._numbers.items()
            ),
        ]


_UNKNOWN = "not published"
_LISTED = 20
"""How many files are on the screen."""

_DISK = "about 25 GB free (estimated): CANN's 4.5 GB are written four times while it is installed"
_TIME = "the download, then minutes (98 s measured with 1.5 GB of simulated packages, 2 cores)"


class Supply(StrEnum):
    """How a build gets a file."""

    HERE = "here"
    DOWNLOAD = "download"
    FIRST_USE = "first use"
    """It is downloaded, and its hash is recorded, because nobody publishes one."""
    BY_HAND = "by hand"
    """A build does not download it: its origin says who has it."""


@dataclass(frozen=True)
class Lacks(Problem):
    """That a file is not here, or may not be downloaded yet: the screen says the same."""


@dataclass(frozen=True, kw_only=True)
class Need:
    """A file, and how a build gets it."""

    file: File
    supply: Supply

    @property
    def is_known(self) -> bool:
        """Whether a sha256 tells if the right file arrives, published or in a signed index."""
        return self.file.has_hash or self.supply is Supply.DOWNLOAD

    @property
    def fields(self) -> dict[str, Any]:
        """The same for programs; what is unknown is null."""
        return {
            "supply": str(self.supply),
            "downloadable": self.file.is_downloadable,
            "size": self.file.size or None,
            "sha256": "known" if self.is_known else "unpublished",
            "origin": self.file.origin,
            "licence": self.file.eula or None,
        }


def real_needs(
    targets: Iterable[Target],
    folder: Path | None = None,
    *,
    stored: Callable[[File], bool] = lambda _: False,
    served: Callable[[File], bool] = lambda file: file.is_downloadable,
    has_hash: Callable[[File], bool] = lambda file: file.has_hash,
) -> dict[str, Need]:
    """Name to need of the files of real builds of ``targets``, which may be in ``folder``.

    ``stored`` says whether a file was fetched before, ``served`` whether a server may have it, and
    ``has_hash`` whether its hash is published.
    """
    needs = {}
    for target in targets:
        for file in needed_files(target, simulate=False).values():
            supply = supply_of(file, has_hash(file)) if served(file) else Supply.BY_HAND
            if (folder and (folder / file.name).is_file()) or stored(file):
                supply = Supply.HERE
            needs[file.name] = Need(file=file, supply=supply)
    return needs


def supply_of(file: File, has_hash: bool | None = None) -> Supply:
    """How ``file`` is downloaded; ``has_hash`` where more than the file itself tells its hash."""
    known = file.has_hash if has_hash is None else has_hash
    return Supply.DOWNLOAD if known else Supply.FIRST_USE


def download_options(needs: Iterable[Need]) -> str:
    """The options with which a build downloads the files, with a space before each."""
    downloads = [need for need in needs if need.supply in (Supply.DOWNLOAD, Supply.FIRST_USE)]
    options = " --accept-eula NAME" if any(need.file.eula for need in downloads) else ""
    first = any(need.supply is Supply.FIRST_USE for need in downloads)
    return options + " --trust-first-use" * first


def screen(needs: Iterable[Need], folder: Path, command: str, listed: Collection[str] = ()) -> str:
    """The files that are not here, and what it takes to have them; empty if all are here.

    ``command`` is what to run then, without the options for downloads. ``listed`` are the names
    of files that the reader sees elsewhere; if these are all, the screen names none.
    """
    missing = [need for need in needs if need.supply is not Supply.HERE]
    if not missing:
        return ""
    lines, facts = [], []
    if not {need.file.name for need in missing} <= {*listed}:
        rows = [("file", "size", "sha256", "how")]
        for need in missing[:_LISTED]:
            file, supply = need.file, str(need.supply)
            size = size_text(file.size) if file.size else _UNKNOWN
            rows.append((file.name, size, "known" if need.is_known else _UNKNOWN, supply))
        lines = ["", *columns(rows)]
        if (more := len(missing) - _LISTED) > 0:
            lines.append(f"and {more:,} more: 'build.py list --format json' has all")
        facts = [("from", origin) for origin in dict.fromkeys(need.file.origin for need in missing)]
    by_hand = [need for need in missing if need.supply is Supply.BY_HAND]
    licences = dict.fromkeys(need.file.eula for need in missing if need not in by_hand)
    facts += [("licence", f"{url} (read it; NAME is who accepts it)") for url in licences if url]
    if first := sum(need.supply is Supply.FIRST_USE for need in missing):
        what = f"of {counted(first, 'file')} nobody publishes it: --trust-first-use writes"
        facts.append(("sha256", f"{what} that of the first download into cannery/data, for review"))
        if all(is_in_apt(n.file) for n in missing if n.supply is Supply.FIRST_USE):
            facts.append(("or", "--source apt: Huawei signs the hashes in its repository for apt"))
    if by_hand:
        facts.append(("by hand", f"put {counted(len(by_hand), 'file')} into {folder} yourself"))
    facts += [("disk", _DISK), ("time", _TIME), ("command", command + download_options(missing))]
    head = f"{counted(len(missing), 'file')} missing for a real build:"
    return "\n".join([head, *(f"  {line}".rstrip() for line in (*lines, "", *columns(facts)))])


def summary(needs: Sequence[Sequence[Need]]) -> list[str]:
    """How many targets need which kind of step; ``needs`` has those of each target."""
    texts = {
        Supply.HERE: "all files are in the folder of --artifacts",
        Supply.DOWNLOAD: "--accept-eula NAME downloads all files",
        Supply.FIRST_USE: "--accept-eula NAME --trust-first-use downloads all files, some of which "
        "have no published hash",
        Supply.BY_HAND: "some files must be put there by hand, from the origin that is named",
    }
    order = [*texts]
    hardest = [
        max((need.supply for need in of_target), key=order.index)
        for of_target in needs
        if of_target
    ]
    return [
        f"  {counted(hardest.count(supply), 'target')}: {text}"
        for supply, text in texts.items()
        if supply in hardest
    ]
